"""Which functions of the user's a call runs, and with what."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nbfn import _tensorflow
from nbfn.functions.reading import undressed
from nbfn.functions.reads import is_the_users
from nbfn.notebook.remarks.standing import Known, Method, Of, Scope, Standing, module_of

MAX_LAYERS = 200
_TELLING = (bool, str, type(None))


@dataclass(frozen=True)
class Callee:
    """A function of the user's that a call runs.

    Attributes:
        function: The function.
        owner: What its first parameter stands for, if it is a method.
        skipped: Parameters that a partial has bound.
    """

    function: types.FunctionType
    owner: Standing = None
    skipped: int = 0

    @property
    def own(self) -> dict[str, Standing]:
        """What its first parameter stands for, by name."""
        names = self.function.__code__.co_varnames[: self.function.__code__.co_argcount]
        return {names[0]: self.owner} if self.owner is not None and names else {}

    def given(self, node: ast.Call, scope: Scope) -> dict[str, Standing]:
        """What the parameters stand for in one call, as far as it matters."""
        code = self.function.__code__
        positional = code.co_varnames[: code.co_argcount]
        keywords = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = self.own
        if any(isinstance(a, ast.Starred) for a in node.args) or any(
            each.arg is None for each in node.keywords
        ):
            return given
        free = positional[len(given) + self.skipped :]
        called = {name: scope.of(each) for name, each in zip(free, node.args, strict=False)}
        called |= {k.arg: scope.of(k.value) for k in node.keywords if k.arg in keywords}
        defaults = dict(
            zip(reversed(positional), reversed(self.function.__defaults__ or ()), strict=False)
        )
        for name, value in {**defaults, **(self.function.__kwdefaults__ or {})}.items():
            if name not in given and name not in positional[len(given) :][: self.skipped]:
                called.setdefault(name, Known(value))
        return given | {n: each for n, each in called.items() if n and _matters(each)}


def _matters(standing: Standing) -> bool:
    """Whether it makes a difference what a parameter stands for."""
    if not isinstance(standing, Known):
        return isinstance(standing, Of)
    return isinstance(standing.value, _TELLING) or not isinstance(
        standing.value, (int, float, complex, bytes)
    )


def callees(called: Standing, name: str = "__call__") -> Iterator[Callee]:
    """The functions of the user's that a call runs; none for a traced function.

    Args:
        called: What is called.
        name: The special method that is run of an object.
    """
    if isinstance(called, Method):
        yield from _of_method(called)
    elif isinstance(called, Of):
        yield from _of_class(called.cls, name, called)
    elif isinstance(called, Known):
        yield from _of_value(called, name)


def users_function(value: Any) -> types.FunctionType | None:
    """A function of the user's own, without what a library has put around it."""
    value = undressed(value)
    for _ in range(10):
        if not isinstance(value, types.FunctionType):
            return None
        if is_the_users(value.__globals__.get("__name__")):
            return value
        value = vars(value).get("__wrapped__")
    return None


def _of_method(method: Method) -> Iterator[Callee]:
    is_class = isinstance(method.owner, Known) and isinstance(method.owner.value, type)
    found = users_function(method.function)
    if isinstance(method.function, _tensorflow.Function) or found is None:
        return
    if isinstance(method.function, staticmethod) or (
        is_class and not isinstance(method.function, classmethod)
    ):
        yield Callee(found)
    else:
        yield Callee(found, method.owner)


def _of_value(called: Known, name: str) -> Iterator[Callee]:
    value: Any = called.value
    skipped = 0
    while isinstance(value, functools.partial):
        value, skipped = value.func, skipped + len(value.args)
    if isinstance(value, _tensorflow.Function):
        return
    if isinstance(value, types.MethodType):
        found, owner = users_function(value.__func__), Known(value.__self__)
    else:
        found, owner = users_function(value), None
    if found is not None:
        if name == "__call__":
            yield Callee(found, owner, skipped)
    elif isinstance(value, type):
        if name == "__call__" and is_the_users(module_of(value)):
            for each in ("__init__", "__post_init__"):
                yield from _of_class(value, each, Of(value))
    elif not isinstance(value, (types.FunctionType, types.ModuleType, types.MethodType)):
        yield from _of_class(type(value), name, Known(value))


def _of_class(cls: type, name: str, owner: Known | Of) -> Iterator[Callee]:
    for each in cls.__mro__:
        if name in vars(each):
            found = users_function(vars(each)[name])
            if found is not None:
                yield Callee(found, owner)
            elif name == "__call__":
                yield from _of_layer(cls, owner)
            return


def _of_layer(cls: type, owner: Known | Of) -> Iterator[Callee]:
    """What a call of Keras's runs of a layer and of those in it."""
    if not any(module_of(each).split(".")[0] == "keras" for each in cls.__mro__):
        return
    for each in cls.__mro__:
        if "call" in vars(each):
            found = users_function(vars(each)["call"])
            if found is not None:
                yield Callee(found, owner)
                return
            break
    if isinstance(owner, Known):
        layers: Any = getattr(owner.value, "__dict__", {}).get("_layers")
        for layer in list(layers)[:MAX_LAYERS] if isinstance(layers, list) else ():
            yield from _of_class(type(layer), "__call__", Known(layer))
