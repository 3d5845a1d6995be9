"""The rooms of the package and who may know whom: imports point down only.

``labextension/test/house.test.ts`` holds the same for the front end.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import nbfn

PACKAGE = Path(nbfn.__file__).parent
ROOT = PACKAGE.parent
MAX_FILES = 12

ORDER = {
    "nbfn": (
        *("errors", "text", "code", "serial", "site", "underway"),
        *(
            "package",
            "protocol",
            "outlines",
            "standalone",
            "_tensorflow",
            "state",
            "functions",
            "modules",
            "nn",
            "sessions",
        ),
        *("views", "notebook", "command", "__main__"),
    ),
    "nbfn._tensorflow": (
        *("base", "operation_types", "autograph", "tracing", "graphs", "trackables", "running"),
    ),
    "nbfn.functions": (
        *("guards", "traces", "calls", "retraces", "recording", "signatures"),
        *(
            "effects",
            "checking",
            "inside",
            "traced",
            "graphs",
            "watching",
            "segments",
            "postmortem",
            "progress",
        ),
    ),
    "nbfn.state": (
        *("bytecode", "values", "columns", "container_checks", "state", "guarded", "walk"),
        *("helpers", "saved"),
    ),
    "nbfn.modules": (
        *("errors", "initializers", "activations", "variables", "specs", "lifecycle", "lifting"),
        *("transforms", "module", "layers", "containers"),
    ),
    "nbfn.sessions": (
        *("contents", "cluster", "snapshot", "dependencies", "session_placement", "messages"),
        *("session", "checkpoint", "export", "load"),
    ),
    "nbfn.sessions.messages": (
        *("runs", "activity_monitor", "sent_rows", "records", "variable_table"),
        *("feed", "environment"),
    ),
    "nbfn.sessions.contents": (
        "cell_code",
        "cells",
        "kinds",
        "savable_state",
        "obsolete",
        "statistics",
        "model",
        "model_tree",
        "transformed",
    ),
    "nbfn.outlines": (
        *("outline", "lists", "function_outline", "cell_outline", "variables_outline"),
        "session_outline",
    ),
    "nbfn.views": (
        *("work_text", "export_outline", "loaded", "shown"),
        *("report", "pages", "graphs", "widget", "bundle"),
    ),
    "nbfn.notebook": (
        *("frames", "channel", "progress_display", "cells", "errors", "magics", "reloading"),
        *("ticker", "formatters", "displays", "not_finite", "hooks", "extension"),
    ),
    "nbfn.command": (
        *("outcome", "agent", "collected", "notebook_run", "execution", "run_report"),
        *("progress_printer", "run", "lab", "main"),
    ),
}
"""The rooms of a folder from the bottom up: each may import those before it."""

BESIDE = {
    "nbfn.functions": "nbfn.modules",
    "nbfn.modules": "nbfn.functions",
}
"""Rooms that do not know each other."""

UPWARD = {
    "nbfn.functions.traces.trace": (
        "nbfn.functions.graphs.carve",
        "nbfn.functions.retraces.diff",
        "nbfn.functions.traced.traced_function",
    ),
}
"""The exception: `Trace.carve` and `Trace.diff`."""


def python_files() -> list[Path]:
    return [path for path in PACKAGE.rglob("*.py") if "labextension" not in path.parts]


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def trees() -> Mapping[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in python_files()}


@functools.cache
def imports() -> Mapping[str, frozenset[str]]:
    """The files that each file imports, late imports and those for types too."""
    files = {module_of(path): tree for path, tree in trees().items()}
    found = {}
    for module, tree in files.items():
        targets = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= names & files.keys() or {node.module}
        targets -= {module, *UPWARD.get(module, ())}
        found[module] = frozenset(targets & files.keys())
    return found


def circle() -> list[str]:
    """The files of a circle of imports; empty if there is none."""
    done: set[str] = set()

    def walk(module: str, path: tuple[str, ...]) -> Iterator[str]:
        if module in path:
            yield from path[path.index(module) :]
        elif module not in done:
            for each in imports()[module]:
                yield from walk(each, (*path, module))
            done.add(module)

    for module in imports():
        found = list(walk(module, ()))
        if found:
            return found
    return []


def test_there_is_no_circle_of_imports() -> None:
    assert circle() == []


@pytest.mark.parametrize("folder", ORDER)
def test_imports_point_down(folder: str) -> None:
    order = ORDER[folder]
    files = Path(PACKAGE.parent, *folder.split(".")).iterdir()
    there = {each.stem for each in files if each.suffix in ("", ".py")}
    rooms = there - {"__init__", "__pycache__", "py", "labextension", "static"}
    assert rooms == set(order)
    depth = len(folder.split("."))
    wrong = []
    for module, targets in imports().items():
        for target in targets:
            one, other = (each.split(".")[: depth + 1] for each in (module, target))
            if one == other or ".".join(one[:-1]) != folder or ".".join(other[:-1]) != folder:
                continue
            is_beside = BESIDE.get(".".join(one)) == ".".join(other)
            if is_beside or order.index(other[-1]) > order.index(one[-1]):
                wrong.append(f"{module} imports {target}")
    assert wrong == []


def test_no_folder_is_crowded() -> None:
    tests = [path for path in ROOT.glob("tests/**/*.py") if ".ipynb" not in path.name]
    counts = Counter(
        str(path.parent.relative_to(ROOT))
        for path in (*python_files(), *tests)
        if path.stem not in ("__init__", "conftest")
    )
    assert {folder: n for folder, n in counts.items() if n > MAX_FILES} == {}


def test_functions_and_modules_know_no_notebook() -> None:
    for path in [*PACKAGE.glob("functions/**/*.py"), *PACKAGE.glob("modules/**/*.py")]:
        text = path.read_text()
        for word in ("import IPython", "from IPython", "import anywidget", "import comm"):
            assert word not in text, f"{path.name} has `{word}`"


def test_only_one_room_names_tensorflows_internals() -> None:
    for path in python_files():
        if "_tensorflow" not in path.parts:
            text = path.read_text()
            for word in ("tensorflow.python", "tensorflow.core", "tf.__internal__"):
                assert word not in text, f"{path.name} names {word}"


def test_nbfns_own_code_uses_the_tf_function_that_it_found() -> None:
    """A notebook may set ``tf.function = nbfn.function``; what looks it up later gets that."""
    late = [
        f"{path.relative_to(PACKAGE)}, line {node.lineno}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "function"
        and ast.unparse(node) == "tf.function"
    ]
    assert len(late) == 1, late
    assert late[0].startswith("_tensorflow/base.py")


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_importing_nbfn_imports_no_tensorflow() -> None:
    heavy = ("tensorflow", "pydantic", "IPython")
    code = f"import nbfn, sys; dir(nbfn); print([m for m in {heavy} if m in sys.modules])"
    assert run(code) == "[]"


def test_loading_the_extension_imports_no_tensorflow() -> None:
    code = (
        "from IPython.core.interactiveshell import InteractiveShell as S; import sys\n"
        "s = S.instance(); s.run_cell('%load_ext nbfn').raise_error(); s.run_cell('1 + 1')\n"
        "print([m for m in ('tensorflow', 'pydantic', 'anywidget') if m in sys.modules])"
    )
    assert run(code).endswith("[]")


def test_every_public_name_loads() -> None:
    for name in nbfn.__all__:
        assert getattr(nbfn, name) is not None


def test_every_public_name_is_used_in_a_test() -> None:
    tests = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    words = {word for path in tests for word in re.findall(r"\w+", path.read_text())}
    assert [name for name in (*nbfn.__all__, *nbfn.nn.__all__) if name not in words] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_this"):
        nbfn.nothing_like_this  # noqa: B018


def test_a_class_name_means_one_thing() -> None:
    names = Counter(
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, number in names.items() if number > 1} == set()


def test_architecture_names_what_exists() -> None:
    folders = ("nbfn", "labextension/src", "labextension/test", "tests", "docs", "notebooks")
    files = [*ROOT.glob("*.*"), *(each for name in folders for each in (ROOT / name).rglob("*.*"))]
    paths = [each.as_posix() for each in files]
    code = "\n".join(each.read_text() for each in files if each.suffix in (".py", ".ts", ".tsx"))
    names = set(re.findall(r"`([\w./]+)(?:\(\))?`", (ROOT / "ARCHITECTURE.md").read_text()))
    of_files = {each for each in names if each.endswith((".py", ".ts", ".tsx", ".md", ".ipynb"))}
    assert not [each for each in of_files if not any(path.endswith(f"/{each}") for path in paths)]
    parts = {part for each in names - of_files if "/" not in each for part in each.split(".")}
    assert not [part for part in parts if not re.search(rf"\b{re.escape(part)}\b", code)]
