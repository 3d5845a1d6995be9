"""Runs modules without computing: ``lazy_init``, ``module_paths``, ``tabulate``.

The call is traced into a graph that never runs. Initializers run outside the graph, so variables
get values, while everything that depends on inputs is only an operation in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import Conversion, call_as_here, tf_function
from nbfn.errors import NbfnError
from nbfn.modules.errors import LazyInitError, show_path
from nbfn.modules.lifecycle.application import Application
from nbfn.modules.lifecycle.setup import prepare
from nbfn.modules.variables.filters import FilterLike
from nbfn.modules.variables.tree import map_leaves


def in_graph(call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Traces a call into a graph that never runs; a ``tf.TensorSpec`` describes a tensor."""
    arguments = [list(args), dict(kwargs)]
    user = Conversion(by_default=True)
    specs: list[tf.TypeSpec] = []
    map_leaves(lambda v, _: specs.append(v) if isinstance(v, tf.TypeSpec) else None, arguments)

    def trace(*tensors: Any) -> None:
        rest = iter(tensors)
        filled = map_leaves(lambda v, _: next(rest) if isinstance(v, tf.TypeSpec) else v, arguments)
        user.call(call, filled[0], filled[1])

    tf_function(trace, autograph=False).get_concrete_function(*specs)


def lazy_run(
    module: Any,
    rngs: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    method: Any,
    mutable: FilterLike,
    read: Callable[[Any], Any],
) -> Any:
    """Runs ``init`` in a graph; returns the result of ``read(run)`` before the run ends."""
    run = Application(module, {}, rngs, method, mutable, True)
    run.store.lazy = True
    found: list[Any] = []

    def call(*args: Any, **kwargs: Any) -> None:
        with run:
            try:
                call_as_here(run.function, args, kwargs)
            except NbfnError as error:
                found.append(error)  # if raised, AutoGraph would add a stack to its message
            else:
                found.append(read(run))

    in_graph(call, args, kwargs)
    if isinstance(found[0], NbfnError):
        raise found[0]
    return found[0]


def values(run: Application) -> dict[str, Any]:
    """Returns the variables that a lazy run made.

    Raises:
      LazyInitError: the value of one depends on the inputs.
    """

    def value(leaf: Any, path: tuple[str, ...]) -> Any:
        if not tf.is_symbolic_tensor(leaf):
            return leaf
        static = tf.get_static_value(leaf)
        if static is None:
            raise LazyInitError(
                f"{show_path(path[1:])} of the collection {path[0]!r} has an initial value that "
                "depends on an input or is computed outside an initializer, but lazy_init knows "
                "only the inputs' shapes. Use init, or compute the value in the init_fn."
            )
        with tf.init_scope():
            return tf.constant(static, leaf.dtype)

    return {  # type: ignore[return-value]
        collection: map_leaves(value, tree, (collection,))
        for collection, tree in run.store.result().items()
    }


def walk(module: Any) -> Iterator[Any]:
    """Yields the module and those below it that have been used, parents first."""
    yield module
    prepare(module)
    for child in module._internal.children.values():
        yield from walk(child)


def paths(module: Any) -> dict[str, Any]:
    """Returns unbound copies of a module and of those below it, by path."""
    top = len(module.path)
    return {"/".join(each.path[top:]): each.clone() for each in walk(module)}
