"""Splits messages of TensorFlow's errors into what happened and where."""

from __future__ import annotations

import itertools
import re
import textwrap

from nbfn.notebook.frames import CodeLine, is_frame, lines_in, without_machinery

# Texts of TensorFlow 2.21: by AutoGraph (`autograph/pyct/error_utils.py`), by the runtime
# (`framework/error_interpolation.py`, `framework/errors_impl.py`) and by XLA. Without them, a
# message is shown as it is.
_IN_USER_CODE = "in user code:"
_OF_RUNTIME = "Graph execution error:"
_DETECTED = "Detected at node"
_STACK_OF_GRAPH = "\nOriginal stack trace for"  # follows the message in TensorFlow 1 graphs
_CREATED = "The op is created at:"
_UNSUPPORTED = re.compile(r"Detected unsupported operations .*")
_ATTRIBUTES = re.compile(r"\[_XlaMustCompile=[^\]]*\]|\[\](?= on )|(?<=\))\{\{node [^}]*\}\}")


def parse_message(error: BaseException) -> tuple[str, str, list[CodeLine]]:
    """Splits an error of TensorFlow into class name, message, and lines of user code."""
    text = str(error)
    name = type(error).__name__
    if text.startswith(_IN_USER_CODE):
        return _parse_autograph(name, text)
    if _CREATED in text:
        return name, *_parse_xla(text)
    if _DETECTED in text:
        return name, *_run(text)
    return name, without_machinery(text), []


def _parse_autograph(name: str, text: str) -> tuple[str, str, list[CodeLine]]:
    """Parses a message of AutoGraph: lines of code, an empty line, ``Class: message``.

    The message contains the class where AutoGraph cannot re-create the error with its own class. If
    a graph ran while another was traced, it may be an error of the runtime, which quotes lines
    itself.
    """
    outer, is_of_runtime, inner = text.partition(_OF_RUNTIME)
    if is_of_runtime and _DETECTED in inner:
        kind = outer.rstrip().rpartition("\n")[2].strip().removesuffix(":")
        inner = inner.split(_STACK_OF_GRAPH.strip())[0]  # its last lines are not indented
        message, _ = _run(textwrap.dedent(inner))
        return kind if kind.isidentifier() else name, message, lines_in(outer)
    body = text.removeprefix(_IN_USER_CODE).split("\n")
    last = max((i for i, line in enumerate(body) if is_frame(line)), default=-1)
    rest = textwrap.dedent("\n".join(body[last + 2 :])).strip("\n")
    kind, found, message = rest.partition(":")
    if not (found and kind.isidentifier()):
        return name, rest, lines_in(text)
    return kind, message.lstrip(" "), lines_in(text)


def _run(text: str) -> tuple[str, list[CodeLine]]:
    """Parses a message of the runtime: where failing nodes were defined, then what happened."""
    text = text.split(_STACK_OF_GRAPH)[0]
    lines = text.split("\n")
    last = max((i for i, line in enumerate(lines) if is_frame(line)), default=-1)
    rest = [line for line in lines[last + 1 :] if line.strip()]
    quoted = lines_in(text[text.index(_DETECTED) :].split("\n\n" + _DETECTED)[0])
    return "\n".join(rest) or lines[0], _within_functions(quoted)


def _parse_xla(text: str) -> tuple[str, list[CodeLine]]:
    """Parses a message of XLA: what it cannot compile, and where the operation was made."""
    what, where = text.split(_CREATED, 1)
    unsupported = _UNSUPPORTED.search(what)
    frames = itertools.takewhile(is_frame, where.strip().split("\n"))
    message = _ATTRIBUTES.sub("", unsupported[0] if unsupported else what.strip())
    return message, _within_functions(lines_in("\n".join(frames)))


def _within_functions(quoted: list[CodeLine]) -> list[CodeLine]:
    """Removes lines outside functions: frames exist for these."""
    inner = [line for line in quoted if line.function != "<module>"]
    return inner or quoted[-1:]
