"""The code of the other pages, of the README and of CONTRIBUTING works as it stands."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import tomllib

import click
import pytest
import yaml

from nbfn.command.main import main
from tests.docs.pages import DOCS, ROOT, blocks, run

_TESTED_ELSEWHERE = ("guide", "causes.md")
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md"))
    if path.relative_to(DOCS if DOCS in path.parents else ROOT).parts[0] not in _TESTED_ELSEWHERE
)
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("name", PAGES)
def test_it_runs(name: str, shell) -> None:
    run(shell, blocks((ROOT / name).read_text()))


def test_every_error_is_in_the_reference() -> None:
    text = (DOCS / "reference" / "errors.md").read_text()
    missing = set()
    for path in sorted((ROOT / "nbfn").rglob("*.py")):
        for each in ast.walk(ast.parse(path.read_text())):
            if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
                bases = {ast.unparse(base) for base in each.bases}
                if bases & {"NbfnError", "RefusedError"} and f"{each.name}\n" not in text:
                    missing.add(each.name)
    # The base of refusals; the command's, which it prints; and the shell's, shown as a SyntaxError.
    assert missing <= {"RefusedError", "CommandError", "CellSyntaxError", *NN}


NN = {"LifecycleError", "UnboundAttributeError", "SetupFieldError", "SpecError"}
"""Errors of `nbfn.nn`, which stand in the reference with their module."""


def test_the_example_in_the_readme_says_what_it_shows(shell, tmp_path) -> None:
    (block,) = (each for each in blocks((ROOT / "README.md").read_text()) if "relax" in each.text)
    run(shell, [block])
    assert (tmp_path / "model" / "saved_model.pb").exists()
    predict = shell.user_ns["predict"]
    assert len(predict.traces) == 1
    (comment,) = re.findall(r"^# (`images`.*)$", block.text, re.MULTILINE)
    assert comment in str(predict.retraces[-1])


def commands() -> list[tuple[str, str]]:
    """Each line of a console, and each step of a workflow, with its page."""
    found = []
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))):
        for block in blocks(path.read_text()):
            if block.language == "console":
                lines = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
            elif block.language == "yaml":
                jobs = yaml.safe_load(block.text)["jobs"].values()
                lines = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
            else:
                continue
            found += [(str(path.relative_to(ROOT)), line) for line in lines]
    return found


@pytest.mark.parametrize(("page", "line"), commands())
def test_a_command_is_one(page: str, line: str) -> None:
    name, *words = shlex.split(line, comments=True)
    if name == "make":
        subprocess.run(["make", "--dry-run", *words], cwd=ROOT, check=True, capture_output=True)
    elif name == "nbfn" and words[0] in main.commands:
        command = main.commands[words[0]]
        command.parse_args(click.Context(command), words[1:])
    elif name == "nbfn":
        assert words == ["--version"]
    elif name == "pip" and words[0] == "install":
        for extra in re.findall(r"\[(.*)\]", line):
            assert extra in EXTRAS
    elif name == "jupyter":
        assert words[:2] == ["labextension", "list"]
    else:
        pytest.fail(f"nobody knows {line!r}")
