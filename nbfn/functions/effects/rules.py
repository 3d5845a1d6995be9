"""Classifies calls that are Python's by the callee and the module it comes from.

A callable that is not known to use only tensors and variables counts as Python's.

The rules are heuristics: they go by names. Those for cells are tested in
``tests/functions/effects`` and the corpus of ``tests/functions/segments``, those for functions in
``tests/functions/traced/test_early_warnings.py``.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import os
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from nbfn.code import is_user_module, package_of
from nbfn.functions.effects.abstract_values import (
    LIBRARIES,
    is_library_class,
    is_tensor,
    is_variable,
)
from nbfn.text import with_article

# By the method's name, also if its owner is not known.
MUTATORS = frozenset(
    {
        *("append", "extend", "insert", "pop", "popleft", "appendleft", "remove", "clear", "sort"),
        *("reverse", "add", "discard", "update", "setdefault", "popitem", "write", "fill", "put"),
        *("symmetric_difference_update", "difference_update", "intersection_update", "subtract"),
        *("send", "close", "writelines", "flush", "acquire", "release", "set", "__setitem__"),
    }
)

MUTATORS_OF_CONTAINERS = frozenset({"append", "extend", "insert", "appendleft", "setdefault"})
"""Mutators that only Python containers have."""


class Reason(NamedTuple):
    """The reason why something is Python's.

    Attributes:
        kind: What sort of reason.

            - ``"print"``, ``"write"``, ``"draw"``, ``"read"``: an effect, or something that a
              graph would do once.
            - ``"make"``, ``"variable"``: it makes an object, or a variable.
            - ``"number"``: it needs a number, which AutoGraph may have.
            - ``"value"``: it needs a value, which no graph has while it is traced.
            - ``"function"``: it makes a function, or is a tf.function.
            - ``"data"``, ``"assert"``: it is of tf.data, or asserts.
            - ``"unknown"``: its effects are not known.
        text: Why, as in "line 3 prints".
        advice: What to write in a function that is traced.
    """

    kind: str
    text: str
    advice: str = ""

    @property
    def is_effect(self) -> bool:
        """Whether it is an effect that no graph repeats."""
        return self.kind in ("print", "write", "draw", "read")


LOOPS_OVER_DATA = Reason("read", "loops over a dataset")
_DRAW = "tf.random draws at each call"
_FILE = "do it outside the function, or with tf.io"
_CLOCK = "tf.timestamp() gives the time at each call"
_SHOW = "show it outside the function"
_PRINT = "tf.print writes at each call"
_APART = "do it outside the function"
_PASS = "make it outside the function and pass it as an argument"

_SEED = Reason("write", "sets a seed", "set the seed outside the function")
_OPTION = Reason("write", "sets an option of TensorFlow")
_LOG = Reason("print", "writes to a log", _PRINT)
_WARN = Reason("print", "warns", "warn outside the function")
_PLOT = Reason("print", "plots", _SHOW)
_TIME = Reason("read", "reads the clock", _CLOCK)
_WAIT = Reason("read", "waits", "wait outside the function")
_SYSTEM = Reason("read", "uses files or the system", _FILE)
ENVIRONMENT = Reason("read", "reads os.environ", "read it above the function")
_MODE = Reason("unknown", "asks whether it is in a graph")
_CALLBACK = Reason("unknown", "calls back into Python")

_BUILTINS = {
    "print": Reason("print", "prints", _PRINT),
    "input": Reason("read", "asks for input", _APART),
    "open": Reason("read", "opens a file", _FILE),
    "next": Reason("read", "takes from an iterator", "loop over a tf.data.Dataset"),
    **{name: Reason("write", f"calls {name}()") for name in ("exec", "eval", "setattr", "delattr")},
    **{name: Reason("unknown", f"calls {name}()") for name in ("globals", "locals", "vars", "dir")},
    **{name: Reason("read", f"calls {name}()") for name in ("breakpoint", "help", "__import__")},
    **{name: Reason("unknown", f"calls {name}()") for name in ("id", "hash", "iter")},
}
_NUMBERS = frozenset({"float", "int", "bool", "str", "complex", "bytes", "repr", "format", "len"})
_NUMBERS |= {"isinstance", "issubclass", "type", "hasattr", "callable", "ascii", "chr", "ord"}
_TEXTS = frozenset({"str", "repr", "format"})
_CONTAINERS = frozenset({"tuple", "list", "dict", "set", "frozenset", "zip", "range", "enumerate"})
_CONTAINERS |= {"reversed", "slice", "map", "filter", "object", "super"}
_MODULES: dict[str, Reason | None] = {
    **dict.fromkeys(("math", "operator", "functools", "itertools", "typing", "collections")),
    **dict.fromkeys(("contextlib", "dataclasses", "enum", "numbers", "_operator", "_functools")),
    "random": Reason("draw", "draws from Python's random numbers", _DRAW),
    "secrets": Reason("draw", "draws a secret", _PASS),
    "uuid": Reason("draw", "makes a UUID", _PASS),
    **dict.fromkeys(("time", "datetime"), _TIME),
    **dict.fromkeys(("logging", "absl"), _LOG),
    **dict.fromkeys(("warnings", "_warnings"), _WARN),
    **dict.fromkeys(("pprint", "rich"), Reason("print", "prints", _PRINT)),
    "IPython": Reason("print", "displays", _SHOW),
    **dict.fromkeys(("matplotlib", "seaborn", "plotly"), _PLOT),
    "tqdm": Reason("print", "shows progress", "nbfn.progress shows it at each call"),
    **dict.fromkeys(("os", "posix", "nt", "io", "_io", "shutil", "pathlib", "sys"), _SYSTEM),
    **dict.fromkeys(("subprocess", "json", "pickle", "_pickle", "tempfile"), _SYSTEM),
    **dict.fromkeys(("threading", "queue"), Reason("read", "depends on other threads", _APART)),
    "pdb": Reason("read", "calls the debugger", _APART),
}
# By the function's own name: TensorFlow exports a function under several names and modules.
_TF_PYTHON = {
    **dict.fromkeys(("executing_eagerly", "inside_function", "constant_value"), _MODE),
    **dict.fromkeys(("executing_eagerly_outside_functions", "is_symbolic_tensor"), _MODE),
    **dict.fromkeys(("py_function", "numpy_function", "py_func"), _CALLBACK),
    **dict.fromkeys(("set_seed", "set_random_seed", "set_global_generator"), _SEED),
    **dict.fromkeys(("experimental_enable_numpy_behavior", "run_functions_eagerly"), _OPTION),
    "Assert": Reason("unknown", "asserts"),
    **{name: Reason("make", f"calls .{name}()") for name in ("build", "adapt", "set_weights")},
}
_TF_MODULES = (
    *("data", "config", "io", "saved_model", "summary", "train", "distribute", "checkpoint"),
    *("profiler", "test", "estimator", "feature_column", "training"),
)
# The modules of Keras 3.15 whose functions only compute; others make layers, models, data.
_PURE_KERAS = tuple(
    f"keras.src.{name}" for name in ("ops", "activations", "losses", "metrics", "backend", "random")
)
_RANDOM = ("random", "random_ops", "np_random", "random_seed")
_VALUES = ("numpy", "item", "tolist", "eval", "__array__", "__len__", "__float__", "__int__")
# By the names of base classes, so that Keras need not be imported.
_PURE_METHODS = {
    **dict.fromkeys(("Layer", "Loss"), ("__call__", "call")),
    **dict.fromkeys(("Module", "LearningRateSchedule", "Initializer"), ("__call__",)),
    "Metric": ("update_state", "result", "__call__"),
    **dict.fromkeys(("BaseOptimizer", "Optimizer"), ("apply", "apply_gradients")),
    **dict.fromkeys(("StaticHashTable", "StaticVocabularyTable"), ("lookup", "size")),
    "MutableHashTable": ("lookup", "size", "insert"),
    "DType": ("is_compatible_with",),
    "TensorShape": ("as_list", "is_compatible_with", "num_elements", "with_rank"),
}
_CALLABLE = frozenset(
    {
        *("Layer", "Module", "Loss", "Metric", "Optimizer", "BaseOptimizer"),
        *("LearningRateSchedule", "Initializer", "Regularizer", "Constraint"),
    }
)
_READING_NOTHING = {
    "json": ("loads", "dumps"),
    "time": ("mktime", "strptime", "struct_time"),
    "datetime": ("date", "datetime", "time", "timedelta", "fromisoformat", "strptime", "combine"),
    "pathlib": ("Path", "PurePath"),
}
_PURE_OF_CONTAINERS = ("get", "items", "keys", "values", "index", "count", "copy")


def reason_of_class(cls: type, *, is_cell: bool) -> Reason | None:
    """Returns why creating an instance is Python's; None if the class's own code decides."""
    name = cls.__name__
    kind = "variable" if issubclass(cls, tf.Variable) else "make"
    reason = Reason(kind, f"makes {with_article(name)}")
    if issubclass(cls, BaseException):
        return None
    if cls.__module__ == "builtins":
        return (
            None if name in _CONTAINERS else _reason_of_builtin(name, is_cell=is_cell, other=reason)
        )
    if issubclass(cls, tf.GradientTape) and not is_cell:
        return None
    if cls in (tf.TensorSpec, tf.TensorShape, tf.name_scope, tf.RaggedTensor, tf.IndexedSlices):
        return None
    if not is_cell and (is_user_module(cls.__module__) or package_of(cls.__module__) == "nbfn"):
        return None
    module = package_of(cls.__module__)
    return reason if name in _READING_NOTHING.get(module, ()) else _MODULES.get(module) or reason


def _reason_of_builtin(name: str, *, is_cell: bool, other: Reason | None = None) -> Reason | None:
    if name in _NUMBERS:
        kind = "value" if name in _TEXTS else "number"
        return Reason(kind, f"{name}() of a value") if is_cell else None
    return _BUILTINS.get(name, other)


def reason_of_function(value: Any, text: str, *, is_cell: bool) -> Reason | None:
    """Returns why calling a function or method that is not user code is Python's.

    Args:
        value: The function or method.
        text: Its source expression.
        is_cell: Whether the cell itself calls it, not a function that the cell calls.
    """
    owner, name = getattr(value, "__self__", None), value.__name__
    is_class = isinstance(owner, type)
    module = value.__module__ or getattr(owner, "__module__" if is_class else "__name__", "")
    if owner is None or is_class or isinstance(owner, types.ModuleType):
        if package_of(module) in LIBRARIES:
            return _reason_of_library_function(value, text, is_cell=is_cell)
        if module == "builtins":
            return _reason_of_builtin(name, is_cell=is_cell)
        if module == "_operator" and name in _IN_PLACE:
            return Reason("write", f"calls {text}()")
        return reason_of_module(module, text)
    if is_tensor(owner):
        return reason_of_tensor_method(name)
    if package_of(module) == "nbfn" and not is_cell:  # a module's method on its own scope
        return None
    if is_built_on_library(type(owner)):
        bases = (cls.__name__ for cls in type(owner).__mro__ if is_library_class(cls))
        is_pure = any(name in _PURE_METHODS.get(base, ()) for base in bases)
        kind = type(owner).__name__
        return None if is_pure else Reason("unknown", f"calls {text}() of a {kind}")
    return _reason_of_object_method(owner, name, text)


def _reason_of_library_function(
    function: Callable[..., Any], text: str, *, is_cell: bool
) -> Reason | None:
    """Returns why calling a function of TensorFlow or Keras is Python's."""
    name = getattr(function, "__name__", "")
    if name in _TF_PYTHON:
        return _TF_PYTHON[name]
    module = str(getattr(function, "__module__", ""))
    if module.startswith("keras.") and not module.startswith(_PURE_KERAS):
        return Reason("make", f"calls {text}")
    parts = {*text.split(".")[1:-1], *module.split(".")}
    if not parts.isdisjoint(_TF_MODULES):
        return Reason("data" if "data" in parts else "unknown", f"calls {text}")
    if is_cell and not parts.isdisjoint(_RANDOM) and not name.startswith("stateless"):
        return Reason("draw", "draws random numbers")
    if name == "print" and is_cell:
        return Reason("print", "prints")
    return None


def reason_of_tensor_method(name: str) -> Reason | None:
    """Returns why a method of a tensor is Python's."""
    if name in _VALUES:
        return Reason("value", f"calls .{name}()", "use the tensor itself")
    return None


def _reason_of_object_method(owner: Any, name: str, text: str) -> Reason | None:
    """Returns why a method of another object, such as a list or a string, is Python's."""
    if owner is os.environ:
        return ENVIRONMENT
    module = type(owner).__module__
    if package_of(module) not in ("builtins", "collections"):
        return reason_of_module(module, text)
    if isinstance(owner, str | bytes | int | float | tuple | range | frozenset | slice):
        return None
    if name in _PURE_OF_CONTAINERS:
        return None
    kind = "write" if name in MUTATORS else "unknown"
    return Reason(kind, f"calls {text}()", "return the value, or use a tf.Variable")


def calls_at_graph_time(value: Any) -> bool:
    """Returns whether this is ``tf.py_function`` or similar: its argument runs at each call."""
    name = getattr(value, "__name__", "")
    # `tf.py_function` has the name `eager_py_func` (TensorFlow 2.21).
    names = ("eager_py_func", "py_function", "numpy_function", "py_func")
    return name in names and package_of(value.__module__) in LIBRARIES


def reason_of_module(module: str, text: str) -> Reason | None:
    """Returns why calling a function of a package is Python's; None if it is pure."""
    name = package_of(module)
    if name in LIBRARIES or name == "builtins":
        return None
    if name == "numpy" and "random" in module.split("."):
        return Reason("draw", "draws from NumPy's random numbers", _DRAW)
    function = text.rpartition(".")[2]
    if (name, function) == ("time", "sleep"):
        return _WAIT
    is_reading = function not in _READING_NOTHING.get(name, ())
    if name in _MODULES and is_reading:
        return _MODULES[name]
    kind = "value" if name == "numpy" else "unknown"
    return Reason(kind, f"calls {text}() of {name or 'Python'}")


def reason_of_state(owner: Any) -> Reason | None:
    """Returns why calling a Keras object is Python's: it keeps losses of the call."""
    try:
        for layer in owner._flatten_layers() if hasattr(owner, "_flatten_layers") else ():
            found = {name: each for name, each in vars(layer).items() if "regularizer" in name}
            for name in dir(type(layer)):
                if name.endswith("_regularizer"):
                    found[name] = getattr(layer, name, None)
            if any(each is not None for each in found.values()):
                return Reason("write", f"has `{layer.name}` keep a loss of its regularizer")
            # Those of `add_loss` and of activity regularizers, until the next call (Keras 3.15).
            if getattr(layer, "_losses", None):
                return Reason("write", f"has `{layer.name}` keep losses")
    except Exception:  # a property of a user class may raise anything
        return Reason("unknown", f"calls a {type(owner).__name__}")
    return None


def assigns_variable(owner: Any, name: str) -> bool:
    """Returns whether storing into a library object's attribute assigns to a variable.

    Keras's optimizers set the learning rate this way; a graph does it at each call.
    """
    setter = getattr(type(owner), name, None)
    if not (isinstance(setter, property) and is_built_on_library(type(owner))):
        return False
    try:
        return is_variable(getattr(owner, name))
    except Exception:  # a property of a user class may raise anything
        return False


def is_stored_by_property(owner: Any, name: str) -> bool:
    """Returns whether a property of a library stores into an object's attribute.

    What it does with a tensor of the trace is for the library to know.
    """
    setter = inspect.getattr_static(type(owner), name, None)
    is_property = isinstance(setter, property) and setter.fset is not None
    return is_property and not is_user_module(setter.fset.__module__)


def may_be_called(value: Any) -> bool:
    """Returns whether calling a library's object touches only tensors and variables."""
    cls = type(value)
    if any(base.__name__ in _CALLABLE for base in cls.__mro__) or hasattr(value, "python_function"):
        return True
    module = getattr(value, "__module__", "") or ""
    return package_of(module) in LIBRARIES or package_of(cls.__module__) == "nbfn"


def is_built_on_library(cls: type) -> bool:
    """Returns whether a class is a library's, or derived from one."""
    return any(map(is_library_class, cls.__mro__))


def is_traced_function(value: Any) -> bool:
    """Returns whether a value is a tf.function or a concrete function."""
    kinds = tf.types.experimental.PolymorphicFunction, tf.types.experimental.ConcreteFunction
    return isinstance(value, kinds)


_IN_PLACE = frozenset({"setitem", "delitem", "iconcat"}) | {
    name for name in dir(operator) if name[:1] == "i" and hasattr(operator, f"__{name[1:]}__")
}
"""Functions of `operator` that change their first argument."""


_ITERATING = ("__iter__", "__next__", "__getitem__", "__len__")
_OPERATORS: dict[type, tuple[str, ...]] = {
    ast.Subscript: ("__getitem__", "__missing__"),
    ast.Compare: (*("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"), "__contains__"),
    ast.UnaryOp: ("__neg__", "__pos__", "__invert__", "__bool__", "__len__"),
    **dict.fromkeys((ast.For, ast.ListComp, ast.SetComp, ast.DictComp), _ITERATING),
    ast.GeneratorExp: _ITERATING,
    **dict.fromkeys((ast.If, ast.IfExp, ast.While, ast.BoolOp), ("__bool__", "__len__")),
}
_NO_OPERATORS = frozenset(
    {
        *("__init__", "__new__", "__repr__", "__str__", "__call__", "__del__", "__post_init__"),
        *("__init_subclass__", "__set_name__", "__getattr__", "__reduce__", "__hash__"),
    }
)
_NO_ARITHMETIC = _NO_OPERATORS.union(*_OPERATORS.values())


def special_methods(cls: type, node: type) -> list[types.FunctionType]:
    """Returns the methods of a user class that a kind of expression or statement calls.

    For a call, these are the methods that a builtin function may call on its arguments.
    """
    names = _OPERATORS.get(node)
    others = _NO_OPERATORS if node is ast.Call else _NO_ARITHMETIC
    return [
        each
        for base in cls.__mro__
        if is_user_module(base.__module__)
        for name, each in vars(base).items()
        if isinstance(each, types.FunctionType)
        and name.startswith("__")
        and (name not in others if names is None else name in names)
    ]


def wrapped(value: Any) -> Any:
    """Returns the function that nested partials call; else the value itself."""
    while isinstance(value, functools.partial):
        value = value.func
    return value
