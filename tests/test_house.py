"""The rooms of the package and who may know whom: imports point down only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nbfn

PACKAGE = Path(nbfn.__file__).parent

ROOMS = {
    "nbfn": 5,
    "notebook": 4,
    "views": 3,
    "sessions": 2,
    "functions": 1,
    "modules": 1,
    "_tensorflow": 0,
    "protocol": 0,
    "work": 0,
    "site": -1,
    "stacks": -1,
    "errors": -1,
    "_version": -1,
}


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "nbfn" if parts == ("__init__",) else parts[0]


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == "nbfn":
                names = [f"nbfn.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("nbfn."):
                rooms.add(name.split(".")[1])
    return rooms


def python_files() -> list[Path]:
    return [path for path in PACKAGE.rglob("*.py") if "labextension" not in path.parts]


def test_every_file_belongs_to_a_room() -> None:
    assert {room_of(path) for path in python_files()} <= ROOMS.keys()


def test_imports_point_down() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {target}"
        for path in python_files()
        for target in imported_rooms(path)
        if target != room_of(path) and ROOMS[target] >= ROOMS[room_of(path)]
    ]
    assert wrong == []


def test_functions_and_modules_know_no_notebook() -> None:
    for path in [*PACKAGE.glob("functions/*.py"), *PACKAGE.glob("modules/*.py")]:
        text = path.read_text()
        for word in ("import IPython", "from IPython", "import anywidget", "import comm"):
            assert word not in text, f"{path.name} has `{word}`"


def test_only_one_room_names_tensorflows_internals() -> None:
    for path in python_files():
        if room_of(path) != "_tensorflow":
            text = path.read_text()
            for word in ("tensorflow.python", "tensorflow.core", "tf.__internal__"):
                assert word not in text, f"{path.name} names {word}"


def test_nbfns_own_code_uses_the_tf_function_that_it_found() -> None:
    """A notebook may set ``tf.function = nbfn.function``; what looks it up later gets that."""
    late = [
        f"{path.relative_to(PACKAGE)}, line {node.lineno}"
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "tf.function"
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


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_this"):
        nbfn.nothing_like_this  # noqa: B018
