"""Which calls are Python's, and why: by what is called, and where it comes from.

Whatever is not known to touch nothing but tensors and variables counts as Python's.
"""

from __future__ import annotations

import ast
import functools
import operator
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from nbfn.code import is_user_module
from nbfn.functions.effects.values import (
    LIBRARIES,
    Value,
    is_of_a_library,
    is_tensor,
    package,
)

MUTATORS = frozenset(
    {
        *("append", "extend", "insert", "pop", "popleft", "appendleft", "remove", "clear", "sort"),
        *("reverse", "add", "discard", "update", "setdefault", "popitem", "write", "fill", "put"),
        *("symmetric_difference_update", "difference_update", "intersection_update", "subtract"),
        *("send", "close", "writelines", "flush", "acquire", "release", "set", "__setitem__"),
    }
)

MUTATORS_OF_CONTAINERS = frozenset({"append", "extend", "insert", "appendleft", "setdefault"})
"""Those that nothing but a container of Python has."""


class Reason(NamedTuple):
    """Why something is Python's.

    Attributes:
        kind: ``"print"``, ``"write"``, ``"draw"``, ``"read"``: an effect, or something that a
            graph would do once. ``"make"``: it makes an object. ``"number"``: it needs a value.
            ``"function"``: it is a tf.function. ``"unknown"``: nbfn cannot tell what it does.
        text: Why, as in "line 3 prints".
        advice: What to write in a function that is traced.
    """

    kind: str
    text: str
    advice: str = ""

    @property
    def is_effect(self) -> bool:
        """Whether something happens that no graph repeats."""
        return self.kind in ("print", "write", "draw", "read")


GOES_THROUGH_DATA = Reason("read", "loops over a dataset")
_DRAW = "tf.random draws at each call"
_FILE = "do it outside the function, or with tf.io"
_CLOCK = "tf.timestamp() tells the time at each call"
_SHOW = "show it outside the function"
_PRINT = "tf.print writes at each call"
_APART = "do it outside the function"
_PASS = "make it outside the function and pass it as an argument"

_BUILTINS = {
    "print": Reason("print", "prints", _PRINT),
    "input": Reason("read", "asks for input", _APART),
    "open": Reason("read", "opens a file", _FILE),
    "next": Reason("read", "takes from an iterator", "loop over a tf.data.Dataset"),
    **{name: Reason("write", f"calls {name}()") for name in ("exec", "eval", "setattr", "delattr")},
    **{name: Reason("read", f"calls {name}()") for name in ("globals", "locals", "vars", "dir")},
    **{name: Reason("read", f"calls {name}()") for name in ("breakpoint", "help", "__import__")},
    **{name: Reason("read", f"calls {name}()") for name in ("id", "hash", "iter")},
}
_NUMBERS = frozenset({"float", "int", "bool", "str", "complex", "bytes", "repr", "format", "len"})
_NUMBERS |= {"isinstance", "issubclass", "type", "hasattr", "callable", "ascii", "chr", "ord"}
_CONTAINERS: frozenset[Any] = frozenset(
    {tuple, list, dict, set, frozenset, zip, range, enumerate, reversed, slice, map, filter, object}
)
_MODULES: dict[str, Reason | None] = {
    **dict.fromkeys(("math", "operator", "functools", "itertools", "typing", "collections")),
    **dict.fromkeys(("contextlib", "dataclasses", "enum", "numbers", "_operator", "_functools")),
    "random": Reason("draw", "draws from Python's random numbers", _DRAW),
    "secrets": Reason("draw", "draws a secret", _PASS),
    "uuid": Reason("draw", "makes a UUID", _PASS),
    "time": Reason("read", "reads the clock", _CLOCK),
    "datetime": Reason("read", "reads the clock", _CLOCK),
    "logging": Reason("print", "writes to a log", _PRINT),
    "absl": Reason("print", "writes to a log", _PRINT),
    "warnings": Reason("print", "warns", "warn outside the function"),
    "_warnings": Reason("print", "warns", "warn outside the function"),
    "pprint": Reason("print", "prints", _PRINT),
    "rich": Reason("print", "prints", _PRINT),
    "IPython": Reason("print", "displays", _SHOW),
    "matplotlib": Reason("print", "plots", _SHOW),
    "seaborn": Reason("print", "plots", _SHOW),
    "plotly": Reason("print", "plots", _SHOW),
    "tqdm": Reason("print", "shows progress", "nbfn.progress shows it at each call"),
    **{
        name: Reason("read", "uses files or the system", _FILE)
        for name in ("os", "posix", "nt", "io", "_io", "shutil", "pathlib", "subprocess", "json")
    },
    **{
        name: Reason("read", "uses files or the system", _FILE)
        for name in ("pickle", "_pickle", "tempfile", "threading", "queue", "sys", "pdb")
    },
}
_TF_PYTHON: tuple[tuple[str, Reason], ...] = (
    ("py_function", Reason("unknown", "calls back into Python")),
    ("numpy_function", Reason("unknown", "calls back into Python")),
    ("py_func", Reason("unknown", "calls back into Python")),
    ("set_seed", Reason("write", "sets a seed", "set the seed outside the function")),
    ("set_random_seed", Reason("write", "sets a seed", "set the seed outside the function")),
    ("experimental_enable_numpy_behavior", Reason("write", "sets an option of TensorFlow")),
    ("run_functions_eagerly", Reason("write", "sets an option of TensorFlow")),
    ("Assert", Reason("unknown", "asserts")),
    *((name, Reason("make", f"calls .{name}()")) for name in ("build", "adapt", "set_weights")),
)
_TF_MODULES = (
    *("data", "config", "io", "saved_model", "summary", "train", "distribute", "checkpoint"),
    *("profiler", "test", "estimator", "feature_column", "training"),
)
_PURE_KERAS = tuple(
    f"keras.src.{name}" for name in ("ops", "activations", "losses", "metrics", "backend", "random")
)
_RANDOM = ("random", "random_ops", "np_random", "random_seed")
_PURE_METHODS: tuple[tuple[str, frozenset[str]], ...] = (
    ("Layer", frozenset({"__call__", "call"})),
    ("Module", frozenset({"__call__"})),
    ("Loss", frozenset({"__call__", "call"})),
    ("Metric", frozenset({"update_state", "result", "__call__"})),
    ("BaseOptimizer", frozenset({"apply", "apply_gradients"})),
    ("Optimizer", frozenset({"apply", "apply_gradients"})),
    ("LearningRateSchedule", frozenset({"__call__"})),
    ("Initializer", frozenset({"__call__"})),
    ("StaticHashTable", frozenset({"lookup", "size"})),
    ("MutableHashTable", frozenset({"lookup", "size", "insert"})),
    ("StaticVocabularyTable", frozenset({"lookup", "size"})),
    ("DType", frozenset({"is_compatible_with"})),
    ("TensorShape", frozenset({"as_list", "is_compatible_with", "num_elements", "with_rank"})),
)


def reason_of_builtin(name: str, *, is_own: bool) -> Reason | None:
    """Why a call of a builtin function is Python's.

    Args:
        name: Its name.
        is_own: Whether the cell itself calls it, and not a function that the cell calls.
    """
    if name in _NUMBERS:
        return Reason("number", f"{name}() of a value") if is_own else None
    return _BUILTINS.get(name)


def reason_of_class(cls: type, *, is_own: bool) -> Reason | None:
    """Why making an instance is Python's; None also where the user's own code says more."""
    name = cls.__name__
    if cls.__module__ == "builtins" and name in _NUMBERS:
        return Reason("number", f"{name}() of a value") if is_own else None
    if any(cls is each for each in _CONTAINERS) or issubclass(cls, BaseException):
        return None
    if cls.__module__ == "builtins":
        return _BUILTINS.get(name) or Reason("make", f"makes {_with_article(name)}")
    if issubclass(cls, tf.GradientTape) and not is_own:
        return None
    if cls in (tf.TensorSpec, tf.TensorShape, tf.name_scope, tf.RaggedTensor, tf.IndexedSlices):
        return None
    if not is_own and (is_user_module(cls.__module__) or package(cls.__module__) == "nbfn"):
        return None
    known = _MODULES.get(package(cls.__module__))
    if known is not None:
        return known
    return Reason("make", f"makes {_with_article(name)}")


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def reason_of_library(function: Callable[..., Any], shown: str, *, is_own: bool) -> Reason | None:
    """Why a call of TensorFlow's or Keras's is Python's."""
    name = getattr(function, "__name__", "")
    for each, reason in _TF_PYTHON:
        if name == each:
            return reason
    module = str(getattr(function, "__module__", ""))
    if module.startswith("keras.") and not module.startswith(_PURE_KERAS):
        return Reason("make", f"calls {shown}")
    parts = {*shown.split(".")[1:-1], *module.split(".")}
    if not parts.isdisjoint(_TF_MODULES):
        return Reason("unknown", f"calls {shown}")
    if is_own and not parts.isdisjoint(_RANDOM) and not name.startswith("stateless"):
        return Reason("draw", "draws random numbers")
    if name == "print" and is_own:
        return Reason("print", "prints")
    return None


def reason_of_method(owner: Any, name: str, shown: str) -> Reason | None:
    """Why a method of an object of TensorFlow's or Keras's is Python's."""
    if is_tensor(owner):
        return reason_of_tensor_method(name)
    for cls in type(owner).__mro__:
        if not is_of_a_library(cls):
            continue
        for base, names in _PURE_METHODS:
            if cls.__name__ == base and name in names:
                return None
    return Reason("unknown", f"calls {shown}() of a {type(owner).__name__}")


def reason_of_tensor_method(name: str) -> Reason | None:
    """Why a method of a tensor is Python's."""
    if name in ("numpy", "item", "tolist", "eval", "__array__", "__len__", "__float__", "__int__"):
        return Reason("number", f".{name}()", "use the tensor itself")
    return None


def reason_of_object_method(owner: Any, name: str, shown: str) -> Reason | None:
    """Why a method of any other object is Python's: of a list, a dict, a text, a generator."""
    module = type(owner).__module__
    if package(module) not in ("builtins", "collections"):
        return reason_of_module(module, shown)
    if isinstance(owner, str | bytes | int | float | tuple | range | frozenset | slice):
        return None
    if name in ("get", "items", "keys", "values", "index", "count", "copy"):
        return None
    kind = "write" if name in MUTATORS else "unknown"
    return Reason(kind, f"calls {shown}()", "return the value, or use a tf.Variable")


def calls_at_graph_time(value: Any) -> bool:
    """Whether this is ``tf.py_function`` or its like, whose argument runs at each call."""
    name = getattr(value, "__name__", "")
    known = ("eager_py_func", "py_function", "numpy_function", "py_func")
    return name in known and package(value.__module__) in LIBRARIES


def reason_of_module(module: str, shown: str) -> Reason | None:
    """Why a call of a function of a package is Python's; None if it is pure."""
    name = package(module)
    if name in LIBRARIES or name == "builtins":
        return None
    if name == "numpy" and "random" in module.split("."):
        return Reason("draw", "draws from NumPy's random numbers", _DRAW)
    if name in _MODULES:
        return _MODULES[name]
    return Reason("unknown", f"calls {shown}() of {name or 'Python'}")


def reason_of_state(owner: Any) -> Reason | None:
    """Why calling an object of Keras's is Python's: what it keeps of a call besides variables."""
    layers = getattr(owner, "_flatten_layers", None)
    if layers is None:
        return None
    try:
        for layer in layers():
            if any(
                getattr(layer, name, None) is not None
                for name in dir(type(layer))
                if name.endswith("_regularizer")
            ) or any(
                value is not None for name, value in vars(layer).items() if "regularizer" in name
            ):
                return Reason("write", f"`{layer.name}` keeps a loss of its regularizer")
            if getattr(layer, "_losses", None):
                return Reason("write", f"`{layer.name}` keeps losses")
    except Exception:
        return Reason("unknown", f"calls a {type(owner).__name__}")
    return None


def is_traced_function(value: Any) -> bool:
    """Whether a value is a tf.function, which has its graphs already."""
    kinds = tf.types.experimental.PolymorphicFunction, tf.types.experimental.ConcreteFunction
    return isinstance(value, kinds)


_NO_OPERATORS = frozenset(
    {
        *("__init__", "__new__", "__repr__", "__str__", "__call__", "__del__", "__post_init__"),
        *("__init_subclass__", "__set_name__", "__getattr__", "__reduce__", "__hash__"),
    }
)


_OPERATORS: dict[type, frozenset[str]] = {
    ast.Subscript: frozenset({"__getitem__"}),
    ast.Compare: frozenset(
        {*("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__")}
    ),
    ast.UnaryOp: frozenset({"__neg__", "__pos__", "__invert__", "__bool__", "__len__"}),
    ast.For: frozenset({"__iter__", "__next__", "__getitem__", "__len__"}),
}
_LOOPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OTHERS: frozenset[str] = frozenset().union(*_OPERATORS.values())


def special_methods(cls: type, node: type) -> list[types.FunctionType]:
    """The methods of a class of the user's that a kind of expression or statement calls."""
    names = _OPERATORS.get(ast.For if node in _LOOPS else node)
    return [
        each
        for base in cls.__mro__
        if is_user_module(base.__module__)
        for name, each in vars(base).items()
        if isinstance(each, types.FunctionType)
        and name.startswith("__")
        and name.endswith("__")
        and name not in _NO_OPERATORS
        and (name in names if names is not None else name not in _OTHERS)
    ]


def wrapped(value: Any) -> Any:
    """What a partial calls; else the value itself."""
    while isinstance(value, functools.partial | operator.methodcaller):
        if isinstance(value, operator.methodcaller):
            return value
        value = value.func
    return value


def stands_for_tensor(value: Value) -> bool:
    """Whether a value is a tensor, or holds some."""
    if value.kind == "tensor":
        return True
    return value.kind == "objects" and any(holds_tensor(each) for each in value.objects)


def holds_tensor(value: Any, depth: int = 3) -> bool:
    """Whether a value is a tensor, or a nest that holds one."""
    if is_tensor(value):
        return True
    if depth and isinstance(value, list | tuple | dict):
        items = value.values() if isinstance(value, dict) else value
        return any(holds_tensor(each, depth - 1) for each in list(items)[:16])
    return False
