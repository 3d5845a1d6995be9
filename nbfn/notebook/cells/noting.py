"""What everything changeable holds that some names lead to."""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from nbfn import _tensorflow
from nbfn.functions.reads import is_the_users
from nbfn.notebook.cells.cached import Cached, CachedFunction
from nbfn.notebook.cells.code_names import (
    attributes_in,
    functions_of,
    names_in,
    stored_globals,
)
from nbfn.notebook.cells.contents import Content, content_of, parts_of
from nbfn.notebook.cells.kinds import LITERALS, is_of_keras, is_tensor
from nbfn.notebook.cells.objects import (
    ABSENT,
    is_changeable,
    is_object,
    is_own_module,
    owner_of,
)
from nbfn.notebook.cells.paths import Path, function_of

MAX_CONTAINERS = 10_000
MODULE, KERAS = 1, 2
"""Whose notes of itself something may be: a module's, or an object's of Keras."""
_PLAIN = {bool, int, float, complex, str, bytes, type(None)}


@dataclass(frozen=True)
class Noted:
    """Something changeable, the way that led to it, and what it held.

    Attributes:
        value: It.
        path: The way.
        before: What it held.
        built: What it belongs to that notes things of itself: `MODULE`, `KERAS`, or nothing.
    """

    value: Any
    path: Path
    before: Content
    built: int


class Noting:
    """Notes what everything changeable holds that some names lead to, as it is now.

    Attributes:
        paths: The way to each object that was met, by its ``id``.
        given: The ``id`` of those that a function was given in place of the notebook's.
    """

    _enters_keras = False
    """Whether to look into objects of Keras's own classes, of which a model has thousands."""

    def __init__(self, namespace: dict[str, Any], names: Iterable[str]) -> None:
        """Notes what some names lead to.

        Args:
            namespace: The notebook's names.
            names: Names to start from. Functions among them lead to what their code names.
        """
        self._namespace = namespace
        self._noted: list[Noted] = []
        self._cached: list[Cached] = []
        self._stored: dict[str, Any] = {}
        self._all: dict[str, Any] | None = None
        self._used: set[str] = set()
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
        named = names_in(code)
        self._used |= attributes_in(code)
        for name in named & self._namespace.keys():
            if is_own_module(module := self._namespace[name]):
                self._walk_scope(vars(module), (("name", name),), "attribute", named)
        for name in stored_globals(code):
            self._stored.setdefault(name, self._namespace.get(name, ABSENT))
        if "globals" in named and self._all is None:
            self._all = dict(self._namespace)

    def names(self) -> set[str]:
        """Names that lead to something changeable, or that are assigned by ``global``."""
        return {str(each.path[0][1]) for each in self._noted} | set(self._stored)

    def stored(self) -> set[str]:
        """Names that the functions among them, and what they call, assign by ``global``."""
        return set(self._stored)

    def containers(self) -> list[int]:
        """The ``id`` of each list, dict, set, array and object."""
        return [id(each.value) for each in self._noted]

    def _walk(self, value: Any, path: Path, built: int = 0) -> None:
        """Notes what is below a value; `built` says what it belongs to."""
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
        elif isinstance(value, CachedFunction):
            self._cached.append(Cached(value))
            self._walk(value.__wrapped__, (*path, ("attribute", "__wrapped__")))
        elif isinstance(value, weakref.ReferenceType):
            self._walk(value(), (*path, ("referent", "")), built)
        elif isinstance(value, tuple):
            for number, item in enumerate(value[:MAX_CONTAINERS]):
                self._walk(item, (*path, ("item", number)), built)
        elif not is_tensor(value) and is_changeable(value):
            if is_of_keras(value) and not (self._enters_keras or is_the_users(cls.__module__)):
                return
            if isinstance(value, np.ndarray):
                self.paths.setdefault(id(owner_of(value)), (*path, ("memory", "")))
            self._walk_changeable(value, path, built)

    def _walk_container(self, value: Any, path: Path, built: int) -> None:
        if is_changeable(value):
            content = content_of(value)
            self._noted.append(Noted(value, path, content, built))
            for step, child in parts_of(content):
                if type(child) not in _PLAIN:
                    self._walk(child, (*path, step), built)

    def _walk_changeable(self, value: Any, path: Path, built: int) -> None:
        cls = value if isinstance(value, type) else type(value)
        if is_of_keras(value):
            built = KERAS
        elif hasattr(cls, "_trackable_children"):
            built = built or MODULE
        content = content_of(value)
        self._noted.append(Noted(value, path, content, built))
        if isinstance(value, ModuleType):
            return  # of all that it holds, the code says what it uses
        parts = parts_of(content)
        for step, child in sorted(parts, key=_is_private) if built else parts:
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
            self._noted.append(Noted(function, path, content, 0))
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
            self._walk_scope(scope, (), "name", names_in(code))
        elif is_own_module(module := sys.modules.get(function.__module__)):
            self._used |= attributes_in(code)
            own = (("module", function.__module__),)
            self._walk(module, own)
            self._walk_scope(scope, own, "attribute", names_in(code))

    def _walk_scope(self, scope: Mapping[str, Any], path: Path, kind: str, names: set[str]) -> None:
        for name in names & scope.keys():
            value, own = scope[name], (*path, (kind, name))
            is_new = id(value) not in self.paths
            self._walk(value, own)
            if is_new and is_own_module(value):
                self._walk_scope(vars(value), own, "attribute", names)


def _is_private(part: tuple[tuple[str, Any], Any]) -> bool:
    """Whether an attribute is a layer's own list of what the user sees under another name."""
    (kind, key), _ = part
    return kind == "attribute" and key.startswith("_")
