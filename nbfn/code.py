"""Classifies Python code as user or library code, unwraps functions, and guards imports."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar

_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
"""Names of folders with installed packages, including those of other environments."""

PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(...), range, slice})
"""The types of plain values, which are compared by value."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Tree = TypeVar("_Tree", bound=ast.AST)

_OTHERS = ("nbfn", "tensorflow", "keras", "numpy", "IPython", "ipykernel", "builtins")


def is_user_module(module: Any) -> bool:
    """Returns whether the module with this name holds user code rather than a library's."""
    if module == "__main__":
        return True
    if not isinstance(module, str) or package_of(module) in _OTHERS:
        return False
    # Libraries stay in `sys.modules`; users load files and make modules beside it.
    return module not in sys.modules or _is_outside_libraries(module)


def package_of(module: Any) -> str:
    """Returns the top-level package of a module's name; an empty text if it is no name."""
    return module.partition(".")[0] if isinstance(module, str) else ""


@functools.lru_cache(1024)
def _is_outside_libraries(module: str) -> bool:
    found = sys.modules.get(module)
    file = getattr(found, "__file__", None)
    if file is None:  # user-made if created by hand; library modules have a spec
        return type(found) is ModuleType and found.__spec__ is None
    return isinstance(file, str) and not is_library(file)


def is_library(file: str) -> bool:
    """Returns whether a file belongs to Python, an installed package or nbfn."""
    if file.startswith("<ipython-input-"):  # a cell, in a terminal
        return False
    return file.startswith(_libraries()) or is_installed(file)


@functools.lru_cache(4096)
def is_installed(file: str) -> bool:
    """Returns whether a file belongs to an installed package, of any environment or folder."""
    if any(each in file for each in _INSTALLED):
        return True
    return any(
        file.startswith(folder + os.sep)
        and file[len(folder) + 1 :].partition(os.sep)[0] in _installed_in(folder)
        for folder in sys.path
        if folder
    )


@functools.lru_cache(256)
def _installed_in(folder: str) -> frozenset[str]:
    """Returns the packages and modules that `pip install --target` has put into a folder."""
    try:
        if not any(name.endswith(".dist-info") for name in os.listdir(folder)):
            return frozenset()
    except OSError:
        return frozenset()
    import importlib.metadata  # imported late, because it is slow to import

    # Only what is installed has a RECORD; the user's own project may be in the same folder.
    distributions = importlib.metadata.distributions(path=[folder])
    records = (each.files or () for each in distributions if each.read_text("RECORD") is not None)
    return frozenset(file.parts[0] for record in records for file in record)


@functools.cache
def _libraries() -> tuple[str, ...]:
    import site
    import sysconfig  # imported late, because it is slow to import

    # They may differ: 64-bit Fedora, for example, has a folder of its own for compiled packages.
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {sysconfig.get_paths()[name] for name in names}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    folders.add(os.path.dirname(os.path.abspath(__file__)))
    return ("<", *(folder + os.sep for folder in folders))


_SHARED = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)


def copy_of_tree(node: _Tree) -> _Tree:
    """Returns a copy of a syntax tree that shares the nodes which all trees share.

    CPython has one ``ast.Load()`` for all trees. The library `executing`, with which IPython shows
    errors, gives it a `parent`: a plain deep copy of a name would copy the whole tree of a file.
    """
    shared = {id(each): each for each in ast.walk(node) if isinstance(each, _SHARED)}
    return copy.deepcopy(node, shared)


def wraps(function: Callable[_P, _R]) -> functools._Wrapper[_P, _R]:
    """Like `functools.wraps`, but keeps ``__module__`` of the wrapper.

    AutoGraph decides by the module whether to convert a function, and must not convert the wrapper.
    """
    assigned = [name for name in functools.WRAPPER_ASSIGNMENTS if name != "__module__"]
    return functools.wraps(function, assigned)


def plain_function(function: Any) -> Any:
    """Returns a function without decorators, and unbound."""
    inner = inspect.unwrap(function)
    return getattr(inner, "__func__", inner)


def closure(function: Any) -> dict[str, Any]:
    """Returns the variables that a function closes over, by name, without unbound ones."""
    found = {}
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    # A variable that is not assigned yet, such as one below a definition, has an empty cell.
    for name, cell in zip(getattr(code, "co_freevars", ()), cells or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def is_generated(function: FunctionType) -> bool:
    """Returns whether ``dataclasses`` has made a function."""
    # `dataclasses` compiles its methods with `exec` of a text (CPython 3.11).
    return function.__code__.co_filename.startswith("<string>")


def with_inner(code: CodeType) -> Iterator[CodeType]:
    """Yields code and that of the functions, classes and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_inner(constant)


def names_in_code(code: CodeType) -> set[str]:
    """Returns the names of globals and attributes in code and in nested functions."""
    return {name for each in with_inner(code) for name in each.co_names}


@contextmanager
def keeping_random_state() -> Iterator[None]:
    """Keeps the state of Python's random numbers during imports.

    Some packages draw while they are imported: rich does, and so Keras, which imports it. A seed
    that was set before must give the numbers that it gives without nbfn.
    """
    import random  # imported late, because it is slow to import

    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)
