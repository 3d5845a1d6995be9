"""Infers the value of an expression in Python code without running it."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from nbfn.code import PLAIN, closure, is_user_module, package_of

MAX_OBJECTS = 64
"""Maximum number of objects that an expression may be; with more it is unknown."""

_TENSORS = (
    *(tf.Tensor, tf.Variable, tf.IndexedSlices, tf.RaggedTensor, tf.SparseTensor),
    tf.experimental.ExtensionType,
)
LIBRARIES = (
    *("tensorflow", "keras", "nbfn", "tensorflow_probability", "tf_keras", "sonnet"),
    *("keras_hub", "keras_nlp", "keras_cv", "tensorflow_addons", "official"),
)


@dataclass(frozen=True, eq=False)
class AbstractValue:
    """The possible values of an expression.

    Attributes:
        kind: ``"objects"``: one of `objects`. ``"tensor"``: a tensor, a variable, or computed from
            one. ``"fresh"``: an object that the code itself creates. ``"function"``: a function
            that the code itself defines. ``"unknown"``: anything.
        objects: The possible objects.
    """

    kind: str
    objects: tuple[Any, ...] = ()

    def joined(self, other: AbstractValue) -> AbstractValue:
        """Returns a value that may be this one or the other."""
        if self.kind == other.kind != "objects":
            return self
        if self.kind == other.kind and len(self.objects) + len(other.objects) <= MAX_OBJECTS:
            return AbstractValue("objects", (*self.objects, *other.objects))
        constants = all(each.is_constant for each in (self, other) if each.kind != "tensor")
        if "tensor" in (self.kind, other.kind) and constants:
            return TENSOR
        return UNKNOWN

    def is_one_of(self, *objects: Any) -> bool:
        """Returns whether this is certainly one of some objects."""
        return len(self.objects) == 1 and any(self.objects[0] is each for each in objects)

    @property
    def is_constant(self) -> bool:
        """Whether every possible object is a plain Python value."""
        return self.kind == "objects" and all(type(o) in PLAIN for o in self.objects)


TENSOR, FRESH, FUNCTION, UNKNOWN = map(AbstractValue, ("tensor", "fresh", "function", "unknown"))
_ABSENT = object()


def value_of(value: Any) -> AbstractValue:
    """Returns the abstract value of an object."""
    return TENSOR if is_tensor(value) else AbstractValue("objects", (value,))


def is_tensor(value: Any) -> bool:
    """Returns whether a value is a tensor, also composite, or a variable of TensorFlow or Keras."""
    return issubclass(type(value), _TENSORS) or is_variable(value)


def is_variable(value: Any) -> bool:
    """Returns whether a value is a variable of TensorFlow or Keras."""
    kind = type(value)
    # By name: Keras may not be imported. Its variable is no `tf.Variable` (Keras 3.15).
    is_keras = kind.__name__ == "Variable" and package_of(kind.__module__) == "keras"
    return is_keras or issubclass(kind, tf.Variable)


def is_library_class(cls: type) -> bool:
    """Returns whether a class belongs to TensorFlow, Keras or a package built on them."""
    return package_of(cls.__module__) in LIBRARIES


@dataclass
class CodeScope:
    """The names that code can see.

    Attributes:
        outer: Returns the value of a name that is not local.
        own: The values of local names.
    """

    outer: Callable[[str], AbstractValue]
    own: dict[str, AbstractValue] = field(default_factory=dict)

    def name(self, name: str) -> AbstractValue:
        """Returns the value of a name."""
        return self.own[name] if name in self.own else self.outer(name)

    def assign(self, name: str, value: AbstractValue) -> None:
        """Adds a possible value of a local name."""
        self.own[name] = self.own[name].joined(value) if name in self.own else value

    def value(self, node: ast.expr) -> AbstractValue:
        """Returns the value of an expression."""
        match node:
            case ast.Constant():
                return value_of(node.value)
            case ast.Name():
                return self.name(node.id)
            case ast.Attribute():
                return self._attribute(self.value(node.value), node.attr)
            case ast.Subscript():
                return self._item(self.value(node.value), node.slice)
            case ast.NamedExpr() | ast.Starred() | ast.Await():
                return self.value(node.value)
            case ast.IfExp():
                return self.value(node.body).joined(self.value(node.orelse))
            case ast.BoolOp():
                return _join_all(map(self.value, node.values))
            case ast.Lambda():
                return FUNCTION
            case ast.Call():
                called = self.value(node.func)
                if called is TENSOR:
                    return TENSOR
                if called.is_one_of(super):
                    return self._super(node.args)
                default = [self.value(each) for each in node.args[1:2]]
                return _join_all(_result_of(each, default) for each in called.objects)
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.JoinedStr():
                return value_of(0) if self.is_number(node) else TENSOR
        return FRESH  # lists, dicts, sets, comprehensions

    def is_number(self, node: ast.expr) -> bool:
        """Returns whether an expression computes with plain Python values only."""
        match node:
            case ast.BinOp():
                parts = [node.left, node.right]
            case ast.UnaryOp():
                parts = [node.operand]
            case ast.Compare():
                parts = [node.left, *node.comparators]
            case _:
                return False
        return all(self.value(each).is_constant for each in parts)

    def elements(self, node: ast.expr) -> AbstractValue:
        """Returns the value that a loop over an expression assigns to its target."""
        if isinstance(node, ast.List | ast.Tuple | ast.Set) and node.elts:
            return _join_all([self.value(each) for each in node.elts])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            function = self.name(node.func.id)
            if function.is_one_of(reversed, list, tuple, sorted) and node.args:
                return self.elements(node.args[0])
            if function.is_one_of(range):
                return value_of(0)
        value = self.value(node)
        if value.kind == "objects":
            return elements_of(value)
        # A new container may hold what was there before.
        return value if value is TENSOR else UNKNOWN

    def targets(
        self, target: ast.expr, iterated: ast.expr
    ) -> Iterator[tuple[ast.expr, AbstractValue]]:
        """Yields the targets of a loop with their values."""
        called = iterated.func if isinstance(iterated, ast.Call) else None
        if isinstance(target, ast.Tuple) and isinstance(called, ast.Name):
            arguments = iterated.args  # type: ignore[attr-defined]
            function = self.name(called.id)
            if function.is_one_of(zip) and len(arguments) == len(target.elts):
                for each, argument in zip(target.elts, arguments, strict=True):
                    yield from self.targets(each, argument)
                return
            if function.is_one_of(enumerate) and len(target.elts) == 2 and arguments:
                yield target.elts[0], value_of(0)
                yield from self.targets(target.elts[1], arguments[0])
                return
        yield target, self.elements(iterated)

    def _super(self, arguments: list[ast.expr]) -> AbstractValue:
        """Returns the value of ``super()`` in a method, or of ``super(cls, self)``."""
        cls, owner = self.name("__class__"), next(iter(self.own.values()), UNKNOWN)
        if arguments:
            cls, owner = self.value(arguments[0]), self.value(arguments[-1])
        return _join_all(
            value_of(super(base, value))
            for base, value in itertools.product(cls.objects, owner.objects)
            if isinstance(base, type) and base in type(value).__mro__
        )

    def _attribute(self, base: AbstractValue, name: str) -> AbstractValue:
        if base is TENSOR:
            return TENSOR
        return _join_all(_attribute(each, name) for each in base.objects)

    def _item(self, base: AbstractValue, index: ast.expr) -> AbstractValue:
        if base.kind != "objects":
            return base if base is TENSOR else UNKNOWN
        if isinstance(index, ast.Slice):
            return base  # has some of its elements
        found = []
        for each in base.objects:
            if type(each) in (list, tuple, dict) and isinstance(index, ast.Constant):
                try:
                    found.append(value_of(each[index.value]))
                except (LookupError, TypeError):
                    return UNKNOWN
            else:
                found.append(_elements_of(each))
        return _join_all(found)


def _join_all(values: Iterable[AbstractValue]) -> AbstractValue:
    found: AbstractValue | None = None
    for value in values:
        found = value if found is None else found.joined(value)
    return UNKNOWN if found is None else found


def _result_of(function: Any, default: Iterable[AbstractValue]) -> AbstractValue:
    """Returns the value of a call.

    Args:
        function: What is called.
        default: The second argument, if there is one.
    """
    if any(function is each for each in (type, getattr, max, min)):
        return UNKNOWN  # an object that was there
    if isinstance(function, type):
        if issubclass(function, (int, float, bool, str, bytes)):
            return value_of(0)
        return TENSOR if issubclass(function, _TENSORS) else FRESH
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    if isinstance(owner, dict) and name in ("keys", "values", "items"):
        return value_of(list(getattr(dict, name)(owner)))
    if isinstance(owner, dict) and name == "get":
        return _join_all((_elements_of(owner), *default))
    if isinstance(owner, list | dict | set) and name == "copy":
        return value_of(owner)
    cls = function if isinstance(function, types.FunctionType) else type(function)
    module = getattr(function, "__module__", None) or cls.__module__
    if package_of(module) in LIBRARIES or is_library_class(type(owner)):
        return TENSOR
    if isinstance(function, types.BuiltinFunctionType) or package_of(module) in ("math", "numpy"):
        return TENSOR
    return UNKNOWN


def elements_of(value: AbstractValue) -> AbstractValue:
    """Returns the joined value of the elements of some containers."""
    return _join_all([_elements_of(each) for each in value.objects])


def _elements_of(value: Any) -> AbstractValue:
    if is_tensor(value):
        return TENSOR
    items = list(value.values()) if isinstance(value, dict) else value
    if isinstance(items, list | tuple | set | frozenset) and len(items) <= MAX_OBJECTS:
        return _join_all(map(value_of, items)) if items else FRESH
    return value_of(0) if isinstance(value, range) else UNKNOWN


def class_attribute(value: Any, name: str) -> Any:
    """Returns what an object's class has under a name, or ``super()`` finds; None if nothing."""
    classes = type(bound_to(value)).__mro__
    if isinstance(value, super):
        own = value.__thisclass__  # type: ignore[attr-defined]
        classes = classes[classes.index(own) + 1 :]
    return next((vars(each)[name] for each in classes if name in vars(each)), None)


def bound_to(value: Any) -> Any:
    """Returns the object whose attributes ``super()`` looks up; any other value itself."""
    return value.__self__ if isinstance(value, super) else value  # type: ignore[attr-defined]


def _attribute(value: Any, name: str) -> AbstractValue:
    """Returns the value of an object's attribute; no user code runs."""
    cls = type(value)
    if isinstance(value, super):
        found = class_attribute(value, name)
        is_method = isinstance(found, types.FunctionType)
        return value_of(types.MethodType(found, bound_to(value))) if is_method else UNKNOWN
    if not isinstance(value, types.ModuleType) and not is_library_class(cls):
        # Statically first, to see whether `getattr` below would run user code.
        found = inspect.getattr_static(value, name, _ABSENT)
        if isinstance(found, property | functools.cached_property):
            getter: Any = found.fget if isinstance(found, property) else found.func
        else:
            getter = getattr(type(found), "__get__", None)
        if found is _ABSENT:  # resolved by a library's `__getattr__`, such as a module's submodules
            # Only a library's `__getattr__` may run: TensorFlow and Keras load submodules by it.
            own = next((c for c in cls.__mro__ if "__getattr__" in vars(c)), object)
            if not is_library_class(own):
                return UNKNOWN
        for code in (getter, cls.__getattribute__):
            if is_user_module(getattr(code, "__module__", None)):
                return UNKNOWN
    try:
        return value_of(getattr(value, name))
    except Exception:  # a library's attribute may raise anything
        return UNKNOWN


def names_of_function(function: types.FunctionType) -> Callable[[str], AbstractValue]:
    """Returns the lookup of a function's free names: closure, globals, builtins."""
    bound = {name: value_of(value) for name, value in closure(function).items()}
    closed = dict.fromkeys(function.__code__.co_freevars, UNKNOWN) | bound
    return names_in(function.__globals__, closed)


def names_in(
    namespace: Mapping[str, Any], own: Mapping[str, AbstractValue]
) -> Callable[[str], AbstractValue]:
    """Returns a lookup of names: given ones, then a namespace, then the builtins."""

    def name_of(name: str) -> AbstractValue:
        if name in own:
            return own[name]
        if name in namespace:
            return value_of(namespace[name])
        return value_of(getattr(builtins, name)) if hasattr(builtins, name) else UNKNOWN

    return name_of
