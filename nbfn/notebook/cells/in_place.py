"""What a trace changes in place: containers, arrays, objects, classes that the cell did not make.

Python runs while a cell is traced, and never after a hit. So what it changes in place would hold
the graph's tensors after the first run, and stay as it is after the others. Here the content from
before the trace is put back, and the new content leaves through the graph, as other results do.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.reads import is_the_users
from nbfn.notebook.cells.contents import (
    Content,
    changed,
    content_of,
    is_graph_tensor,
    leaves,
    parts_of,
    put_back,
)
from nbfn.notebook.cells.frames import is_cell
from nbfn.notebook.cells.kinds import LITERALS, is_tensor, is_variable
from nbfn.notebook.cells.objects import (
    ABSENT,
    is_changeable,
    is_object,
    is_own_module,
    owner_of,
)
from nbfn.notebook.cells.paths import Path, as_text, function_of

MAX_CONTAINERS = 10_000
_PLAIN = {bool, int, float, complex, str, bytes, type(None)}


class InPlaceError(NbfnError, ValueError):
    """A traced cell changes a container in a way that the graph cannot tell of."""


def refuse_inner_tensors(path: Path, content: Any) -> None:
    """Refuses a tensor that was made in a branch or a loop of the graph.

    Raises:
        InPlaceError: Naming the container, and the line that made the tensor.
    """
    graph = tf.compat.v1.get_default_graph()
    for leaf in leaves(content):
        if is_graph_tensor(leaf) and getattr(leaf, "graph", graph) is not graph:
            raise InPlaceError(
                f"`{as_text(path)}` is given a tensor in a branch or a loop that TensorFlow "
                f"decides{_line_of(leaf)}; the graph cannot tell whether it was. "
                "Assign the tensor to a name there, and change the container after it"
            )


def _line_of(tensor: Any) -> str:
    frames = getattr(getattr(tensor, "op", None), "traceback", None) or ()
    lines = [frame.lineno for frame in frames if is_cell(frame.filename)]
    return f", at line {lines[-1]}" if lines else ""


@dataclass(frozen=True)
class _Noted:
    """Something changeable, the way that led to it, and what it held."""

    value: Any
    path: Path
    before: Content
    built: bool


class Contents:
    """The contents of everything changeable that some names lead to, as they are now.

    Attributes:
        paths: The way to each object that was met, by its ``id``.
        given: The ``id`` of those that a function was given in place of the notebook's.
    """

    def __init__(self, namespace: dict[str, Any], names: Iterable[str]) -> None:
        """Notes what some names lead to.

        Args:
            namespace: The notebook's names.
            names: Names to start from. Functions among them lead to what their code names.
        """
        self._namespace = namespace
        self._noted: list[_Noted] = []
        self._stored: dict[str, Any] = {}
        self._all: dict[str, Any] | None = None
        self.paths: dict[int, Path] = {}
        self.given: set[int] = set()
        for name in names:
            if name in namespace:
                self.add(name, namespace[name])

    def add(self, name: str, value: Any) -> None:
        """Notes what the value of a name holds."""
        self._walk(value, (("name", name),))

    def add_given(self, name: str, value: Any) -> None:
        """Notes what something holds that stands for the one of the notebook in a trace."""
        if is_object(value) and not isinstance(value, LITERALS):
            before = set(self.paths)
            self.add(name, value)
            self.given |= self.paths.keys() - before

    def add_code(self, code: CodeType) -> None:
        """Adds what code of the notebook uses of modules, and the names that it assigns."""
        named = _named(code)
        for name in named & self._namespace.keys():
            if is_own_module(module := self._namespace[name]):
                self._walk_scope(vars(module), (("name", name),), "attribute", named)
        for name in _stored_globals(code):
            self._stored.setdefault(name, self._namespace.get(name, ABSENT))
        if "globals" in named and self._all is None:
            self._all = dict(self._namespace)

    def _assigned(self) -> dict[str, Any]:
        """Values from before of the names that may have been assigned since."""
        if self._all is None:
            return self._stored
        return {**dict.fromkeys(self._namespace, ABSENT), **self._all, **self._stored}

    def names(self) -> set[str]:
        """Names that lead to something changeable, or that are assigned by ``global``."""
        return {str(each.path[0][1]) for each in self._noted} | set(self._stored)

    def stored(self) -> set[str]:
        """Names that the functions among them, and what they call, assign by ``global``."""
        return set(self._stored)

    def containers(self) -> list[int]:
        """The ``id`` of each list, dict, set, array and object."""
        return [id(each.value) for each in self._noted]

    def _walk(self, value: Any, path: Path, built: bool = False) -> None:
        """Notes what is below a value; `built` says that it belongs to a layer or a module."""
        cls = type(value)
        if cls in _PLAIN or id(value) in self.paths or len(self.paths) > MAX_CONTAINERS:
            return
        if isinstance(value, LITERALS):
            return
        self.paths[id(value)] = path
        if cls is list or cls is dict:
            self._walk_container(value, path, built)
        elif cls is _tensorflow.EagerTensor:
            return
        elif (function := function_of(value)) is not None:
            self._walk_function(function, path)
        elif isinstance(value, MethodType | BuiltinMethodType):
            self._walk(value.__self__, (*path, ("owner", "")))
        elif isinstance(value, functools.partial):
            for part in ("func", "args", "keywords"):
                self._walk(getattr(value, part), (*path, ("partial", part)))
        elif isinstance(value, tuple):
            for number, item in enumerate(value[:MAX_CONTAINERS]):
                self._walk(item, (*path, ("item", number)), built)
        elif not is_tensor(value) and is_changeable(value):
            if isinstance(value, np.ndarray):
                self.paths.setdefault(id(owner_of(value)), (*path, ("memory", "")))
            self._walk_changeable(value, path, built)

    def _walk_container(self, value: Any, path: Path, built: bool) -> None:
        if is_changeable(value):
            content = content_of(value)
            self._noted.append(_Noted(value, path, content, built))
            for step, child in parts_of(content):
                if type(child) not in _PLAIN:
                    self._walk(child, (*path, step), built)

    def _walk_changeable(self, value: Any, path: Path, built: bool) -> None:
        cls = value if isinstance(value, type) else type(value)
        built = built or hasattr(cls, "_trackable_children")
        content = content_of(value)
        self._noted.append(_Noted(value, path, content, built))
        if isinstance(value, ModuleType):
            return  # of all that it holds, the code says what it uses
        for step, child in parts_of(content):
            if not (isinstance(value, type) and isinstance(child, FunctionType)):
                self._walk(child, (*path, step), built)
        if is_the_users(cls.__module__):
            if cls is not value:
                self._walk(cls, (*path, ("class", "")))
            own = path if cls is value else (*path, ("class", ""))
            for name, member in list(vars(cls).items()):
                if inspect.isfunction(member):
                    self._walk(member, (*own, ("attribute", name)))
                for function in functions_of(member):
                    self._walk_names(function)

    def _walk_function(self, function: FunctionType, path: Path) -> None:
        if is_changeable(function):
            content = content_of(function)
            self._noted.append(_Noted(function, path, content, False))
            for step, child in parts_of(content):
                self._walk(child, (*path, step))
        self._walk_names(function)
        for number, item in enumerate(function.__defaults__ or ()):
            self._walk(item, (*path, ("default", number)))
        for name, item in (function.__kwdefaults__ or {}).items():
            self._walk(item, (*path, ("keyword", name)))
        closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
        for name, cell in closure:
            self._walk(cell, (*path, ("closure", name)))

    def _walk_names(self, function: FunctionType) -> None:
        """Notes what is below the names in a function's code, of the notebook or of a module."""
        scope, code = function.__globals__, function.__code__
        if scope is self._namespace:
            self.add_code(code)
            self._walk_scope(scope, (), "name", _named(code))
        elif is_own_module(module := sys.modules.get(function.__module__)):
            own = (("module", function.__module__),)
            self._walk(module, own)
            self._walk_scope(scope, own, "attribute", _named(code))

    def _walk_scope(self, scope: Mapping[str, Any], path: Path, kind: str, names: set[str]) -> None:
        for name in names & scope.keys():
            value, own = scope[name], (*path, (kind, name))
            is_new = id(value) not in self.paths
            self._walk(value, own)
            if is_new and is_own_module(value):
                self._walk_scope(vars(value), own, "attribute", names)

    def changes(self) -> dict[Path, Content]:
        """What has changed, by the way that leads to it.

        Of a module and what belongs to it, only what holds a graph's tensor counts: what it notes
        of itself when it is built must stay. The empty path has the names that were assigned by
        ``global``.
        """
        found = {}
        for each in self._noted:
            now = changed(each.value, each.before, each.built)
            if now is not None:
                found[each.path] = now
        names = {
            name: now
            for name, before in self._assigned().items()
            if (now := self._namespace.get(name, ABSENT)) is not before and now is not ABSENT
        }
        return {**found, (): Content(names, {})} if names else found

    def put_back(self, *, all_of_it: bool = True) -> None:
        """Gives everything that has changed the content it had.

        Args:
            all_of_it: Whether new variables go too. Else they stay where the code has put them: a
                first call traces twice, and the second trace must find them.
        """
        for each in self._noted:
            now = changed(each.value, each.before, each.built)
            if now is not None:
                put_back(each.value, each.before, now if all_of_it else self._without_new(now))
        for name, before in self._assigned().items():
            now = self._namespace.get(name, ABSENT)
            if now is before or not (all_of_it or not self._is_new(now)):
                continue
            if before is ABSENT:
                self._namespace.pop(name, None)
            else:
                self._namespace[name] = before

    def _without_new(self, now: Content) -> Content:
        """What has changed, but for what holds a new variable."""
        named = {n: item for n, item in now.attributes.items() if not self._is_new(item)}
        if self._is_new(now.items):
            return Content(None, named)
        return replace(now, attributes=named)

    def _is_new(self, value: Any) -> bool:
        """Whether a value is, or holds, a variable that was not there before, and no tensor."""
        found = leaves(value)
        return not any(is_graph_tensor(leaf) for leaf in found) and any(
            is_variable(leaf) and id(leaf) not in self.paths for leaf in found
        )


def functions_of(member: Any) -> Iterator[FunctionType]:
    """The Python functions of something that a class defines: a method, a property."""
    for name in ("", "__func__", "fget", "fset", "fdel", "func"):
        function = function_of(getattr(member, name, None) if name else member)
        if function is not None:
            yield function


def named_by(function: Any, namespace: Mapping[str, Any]) -> set[str]:
    """Names of the notebook that a function of the notebook names, itself and through others."""
    found: set[str] = set()
    pending = [function]
    while pending:
        each = function_of(pending.pop())
        if each is not None and each.__globals__ is namespace:
            new = (_named(each.__code__) & namespace.keys()) - found
            found |= new
            pending += [namespace[name] for name in new]
    return found


def _named(code: CodeType) -> set[str]:
    nested = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*(_named(each) for each in nested))


def _stored_globals(code: CodeType) -> set[str]:
    found = {
        str(each.argval) for each in dis.get_instructions(code) if each.opname == "STORE_GLOBAL"
    }
    nested = (each for each in code.co_consts if isinstance(each, CodeType))
    return found.union(*(_stored_globals(each) for each in nested))
