"""What an expression stands for, as far as that can be told without running the user's code."""

from __future__ import annotations

import ast
import builtins
import io
import pathlib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn.functions.reading import own_attributes
from nbfn.functions.reads import is_the_users
from nbfn.notebook.cells.foresight import OPERATORS
from nbfn.notebook.cells.kinds import is_tensor, is_variable
from nbfn.notebook.remarks.results import class_made_by, is_operation, wraps

_ABSENT = object()
_LAZY = ("tensorflow", "keras")
_GOES_THROUGH = (iter, enumerate, map, filter, reversed)
_PLAIN = (bool, int, float, str, bytes, type(None))
_NUMBERS = (bool, int, float)
_NO_DATASETS = {
    *("reduce", "cardinality", "as_numpy_iterator", "get_single_element", "save", "options"),
    *("element_spec", "apply"),
}


@dataclass(frozen=True, eq=False)
class Known:
    """A value that is there already."""

    value: Any


@dataclass(frozen=True, eq=False)
class Of:
    """Some instance of a class, made while the code runs."""

    cls: type


@dataclass(frozen=True, eq=False)
class Method:
    """What a class has under a name, looked up on the class or on an instance."""

    owner: Known | Of
    name: str
    function: Any


@dataclass(frozen=True, eq=False)
class Local:
    """A function that the code itself defines."""

    node: ast.Lambda | ast.FunctionDef


Standing = Known | Of | Method | Local | None
"""What an expression stands for; None if that cannot be told."""

TENSOR = Of(tf.Tensor)
DATASET = Of(tf.data.Dataset)


class GoneThrough:
    """What goes through a data set in Python, even in a loop that AutoGraph converts."""


GONE_THROUGH = Of(GoneThrough)


class Scope:
    """The names of one piece of code.

    Args:
        outer: Tells what a name stands for that the code does not bind.
        own: Names that the code binds, which are nothing else before.
        known: What some of them stand for.
    """

    def __init__(
        self,
        outer: Callable[[str], Standing],
        own: frozenset[str] = frozenset(),
        known: Mapping[str, Standing] = types.MappingProxyType({}),
    ) -> None:
        self._outer = outer
        self._own = own
        self.names: dict[str, Standing] = dict(known)

    def __getitem__(self, name: str) -> Standing:
        if name in self.names:
            return self.names[name]
        return None if name in self._own else self._outer(name)

    def join(self, *ways: Mapping[str, Standing]) -> None:
        """Keeps of each name what it stands for on every one of several ways."""
        names = {name for way in ways for name in way}
        self.names = {
            name: found[0] if all(_same(found[0], other) for other in found) else None
            for name in names
            for found in [[way[name] if name in way else self[name] for way in ways]]
        }

    def of(self, node: ast.expr) -> Standing:
        """What an expression stands for."""
        found = self._of(node)
        return None if isinstance(found, Known) and _is_veiled(type(found.value)) else found

    def _of(self, node: ast.expr) -> Standing:
        if isinstance(node, ast.Constant):
            return Known(node.value)
        if isinstance(node, ast.Name):
            return self[node.id]
        if isinstance(node, ast.Lambda):
            return Local(node)
        if isinstance(node, ast.NamedExpr):
            return self.of(node.value)
        if isinstance(node, ast.Attribute):
            return attribute(self.of(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            return self._item(node)
        if isinstance(node, ast.GeneratorExp):
            return GONE_THROUGH if is_dataset(self.of(node.generators[0].iter)) else None
        if isinstance(node, ast.Call):
            return self._result(node)
        return self._computed(node)

    def truth(self, node: ast.expr) -> bool | None:
        """Which way a condition goes; None if that is not known."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.truth(node.operand)
            return None if inner is None else not inner
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = self.of(node.left), self.of(node.comparators[0])
            values = [s.value for s in sides if isinstance(s, Known)]
            is_same = isinstance(node.ops[0], ast.Is | ast.IsNot)
            is_plain = is_same or all(type(value) in _PLAIN for value in values)
            return _computed(node.ops[0], *values) if len(values) == 2 and is_plain else None
        if isinstance(node, ast.BoolOp):
            stops = isinstance(node.op, ast.Or)
            found = [self.truth(each) for each in node.values]
            return stops if stops in found else None if None in found else not stops
        found_of = self.of(node)
        if isinstance(found_of, Known) and isinstance(found_of.value, _PLAIN):
            return bool(found_of.value)
        return None

    def _item(self, node: ast.Subscript) -> Standing:
        base = self.of(node.value)
        if stands_for_tensor(base):
            return TENSOR
        if isinstance(base, Known) and type(base.value) in (dict, list, tuple):
            key = self.of(node.slice)
            if isinstance(key, Known) and isinstance(key.value, (int, str)):
                try:
                    return Known(base.value[key.value])
                except (LookupError, TypeError):
                    return None
        return None

    def _computed(self, node: ast.expr) -> Standing:
        if isinstance(node, ast.BinOp):
            sides = [self.of(node.left), self.of(node.right)]
        elif isinstance(node, ast.UnaryOp):
            sides = [self.of(node.operand)] if not isinstance(node.op, ast.Not) else []
        elif isinstance(node, ast.Compare) and not isinstance(
            node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn
        ):
            sides = [self.of(each) for each in (node.left, *node.comparators)]
        else:
            return None
        numbers = [s.value for s in sides if isinstance(s, Known) and type(s.value) in _NUMBERS]
        if isinstance(node, ast.BinOp) and len(numbers) == 2:
            return Known(value) if (value := _computed(node.op, *numbers)) is not None else None
        if isinstance(node, ast.BinOp) and issubclass(class_of(sides[0]), str):
            return Of(str)
        if isinstance(node, ast.BinOp) and issubclass(class_of(sides[0]), pathlib.PurePath):
            return Of(class_of(sides[0]))
        return TENSOR if any(map(stands_for_tensor, sides)) else None

    def _result(self, node: ast.Call) -> Standing:
        """What a call gives."""
        called = self.of(node.func)
        if isinstance(called, Method):
            return DATASET if is_dataset_method(called) else None
        if not isinstance(called, Known):
            return None
        function = called.value
        arguments = [self.of(each) for each in node.args if not isinstance(each, ast.Starred)]
        if function is int or function is float:
            return TENSOR if any(map(stands_for_tensor, arguments)) else Of(function)
        if function is zip and arguments and all(map(is_dataset, arguments)):
            return DATASET
        if any(function is each for each in _GOES_THROUGH) and any(map(is_dataset, arguments)):
            return DATASET
        if wraps(function) and any(map(is_dataset, arguments)):
            return GONE_THROUGH
        if isinstance(function, type):
            return Of(function)
        made = class_made_by(function)
        if made is not None:
            return Of(made)
        return TENSOR if is_operation(function) else None


def attribute(base: Standing, name: str) -> Standing:
    """What an attribute of something stands for."""
    if not isinstance(base, Known | Of) or stands_for_tensor(base):
        return None
    if isinstance(base, Known) and isinstance(base.value, types.ModuleType):
        return _of_module(base.value, name)
    is_stream = issubclass(class_of(base), io.IOBase)  # its methods may be replaced
    if isinstance(base, Known) and not isinstance(base.value, type) and not is_stream:
        own = own_attributes(base.value).get(name, _ABSENT)
        if own is not _ABSENT:
            return Known(own)
    is_class = isinstance(base, Known) and isinstance(base.value, type)
    cls = base.value if is_class else class_of(base)  # type: ignore[union-attr]
    for each in cls.__mro__:
        if name in vars(each):
            found = vars(each)[name]
            if isinstance(found, (*_PLAIN, type)):
                return Known(found)
            if isinstance(found, property) and issubclass(cls, pathlib.PurePath):
                return Of(cls) if name == "parent" else None
            is_plain = isinstance(found, types.FunctionType) and is_class
            return Known(found) if is_plain else Method(base, name, found)
    return None


def _of_module(module: types.ModuleType, name: str) -> Standing:
    found = vars(module).get(name, _ABSENT)
    if found is _ABSENT and module.__name__.split(".")[0] in _LAZY:
        try:
            found = getattr(module, name)
        except Exception:  # a module that is loaded when it is used may fail to load
            return None
    return None if found is _ABSENT else Known(found)


def class_of(standing: Standing) -> type:
    """The class of what something stands for; `object` if it is not known."""
    if isinstance(standing, Known):
        return type(standing.value)
    return standing.cls if isinstance(standing, Of) else object


def module_of(cls: Any) -> str:
    """The name of a class's module; empty if it has none."""
    module = getattr(cls, "__module__", None)
    return module if isinstance(module, str) else ""


def _is_veiled(cls: Any) -> bool:
    """Whether looking at an instance of a class would run code of its own."""
    for each in cls.__mro__[:-1]:
        own = vars(each)
        if "__class__" in own or isinstance(own.get("__dict__"), property):
            return True
        if "__getattribute__" in own and is_the_users(module_of(each)):
            return True
    own = vars(type(cls))
    return is_the_users(module_of(type(cls))) and ("__hash__" in own or "__getattribute__" in own)


def stands_for_tensor(standing: Standing) -> bool:
    """Whether something is a tensor or a variable."""
    if isinstance(standing, Known):
        return is_tensor(standing.value) or is_variable(standing.value)
    return isinstance(standing, Of) and issubclass(standing.cls, tf.Tensor | tf.Variable)


def is_dataset(standing: Standing) -> bool:
    """Whether something is a data set, or goes through one to its end."""
    return issubclass(class_of(standing), tf.data.Dataset | GoneThrough)


def is_dataset_method(method: Method) -> bool:
    """Whether a method makes a data set."""
    owner = method.owner
    is_class = isinstance(owner, Known) and isinstance(owner.value, type)
    cls = owner.value if is_class else class_of(owner)  # type: ignore[union-attr]
    return issubclass(cls, tf.data.Dataset) and not (
        method.name in _NO_DATASETS or method.name.startswith("_")
    )


def builtin(name: str) -> Standing:
    """What a name stands for that no module has."""
    found = getattr(builtins, name, _ABSENT)
    return None if found is _ABSENT else Known(found)


def scope_of_function(
    function: types.FunctionType, own: frozenset[str], known: Mapping[str, Standing]
) -> Scope:
    """The names of a function's code, with what its parameters stand for."""
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))

    def outer(name: str) -> Standing:
        if name in closed:
            try:
                return Known(closed[name].cell_contents)
            except ValueError:  # not bound yet
                return None
        found = function.__globals__.get(name, _ABSENT)
        return builtin(name) if found is _ABSENT else Known(found)

    return Scope(outer, own, known)


def _same(left: Standing, right: Standing) -> bool:
    if isinstance(left, Known) and isinstance(right, Known):
        return left.value is right.value
    if isinstance(left, Of) and isinstance(right, Of):
        return left.cls is right.cls
    return left is right


def _computed(sign: ast.AST, left: Any, right: Any) -> Any:
    """What Python computes of two plain values; None if it cannot."""
    try:
        return OPERATORS[type(sign)](left, right)
    except (KeyError, TypeError, ArithmeticError):
        return None
