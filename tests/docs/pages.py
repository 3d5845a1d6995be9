"""The pages of the documentation as their code blocks, and a shell that runs them.

A block ``python`` is a cell. A block ``text`` that follows it at once is what the cell shows, where
an ellipsis stands for anything; a cell that fails is one whose text says so.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.utils.capture import capture_output

from nbfn.errors import NbfnWarning

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A code block.

    Attributes:
        language: Such as ``python``.
        text: What is in it.
        line: The line of the page where it begins.
        shown: What it shows, if the page says so.
    """

    language: str
    text: str
    line: int
    shown: str | None = None


def blocks(text: str) -> list[Block]:
    """The blocks of a page or a part of one."""
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        language, inner = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        follows = bool(found) and not text[end : match.start()].strip()
        if language == "text" and follows and found[-1].language == "python":
            before = found.pop()
            found.append(Block(before.language, before.text, before.line, inner))
        else:
            found.append(Block(language, inner, line))
        end = match.end()
    return found


def shown_by(shell: Any, code: str) -> str:
    """What a cell prints, displays, warns of and raises, as text."""
    shell._showtraceback = lambda *_: None
    with warnings.catch_warnings(record=True) as reported, capture_output(display=True) as captured:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", NbfnWarning)
        result = shell.run_cell(code, store_history=True)
    parts = [re.sub(r"^Out\[\d+\]:[ \n]", "", captured.stdout, flags=re.MULTILINE)]
    parts += [each.data.get("text/plain", "") for each in captured.outputs]
    parts += [f"NbfnWarning: {each.message}" for each in reported]
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        parts.append(f"{type(error).__name__}: {error}")
    lines = "\n".join(part.rstrip("\n") for part in parts if part.strip()).splitlines()
    return "\n".join(re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in lines)


def failed(shown: str) -> bool:
    """Whether a cell's text ends in an error."""
    return re.search(r"^\w*Error: ", shown, re.MULTILINE) is not None


def fits(shown: str, expected: str) -> bool:
    """Whether a cell has shown what the page says."""
    pattern = re.escape(expected.strip()).replace("…", ".*?")
    return re.fullmatch(pattern, shown.strip(), re.DOTALL) is not None


def run(shell: Any, page: list[Block]) -> None:
    """Runs the cells of a page, and compares what they show with what it says.

    Where a page does not load nbfn itself, that has been done.
    """
    if not any("%load_ext" in block.text for block in page[:1]):
        shell.run_cell("%load_ext nbfn\nimport nbfn\nimport tensorflow as tf").raise_error()
    for block in page:
        if block.language != "python":
            continue
        shown = shown_by(shell, block.text)
        at = f"line {block.line}:\n{block.text}\nshows:\n{shown}\n"
        assert not failed(shown) or failed(block.shown or ""), at
        if block.shown is not None:
            assert fits(shown, block.shown), f"{at}\nthe page says:\n{block.shown}"
