"""Running a module without computing: ``lazy_init``, ``module_paths``, ``tabulate``.

The call is traced into a graph that never runs. Initializers are run outside of it, so variables
get their values, while whatever depends on the inputs is only an operation in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import tf_function
from nbfn.errors import NbfnError
from nbfn.modules.errors import LazyInitError, show_path
from nbfn.modules.lifecycle.run import Run
from nbfn.modules.lifecycle.setup import prepare
from nbfn.modules.variables.filters import FilterLike
from nbfn.modules.variables.tree import map_leaves


def lazy_run(
    module: Any,
    rngs: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    method: Any,
    mutable: FilterLike,
    look: Callable[[Any], Any],
) -> Any:
    """Runs ``init`` in a graph and looks at the module before it is gone.

    Args:
      module: an unbound module.
      rngs: as in ``init``.
      args: for the method; a ``tf.TensorSpec`` stands for a tensor.
      kwargs: likewise.
      method: as in ``init``.
      mutable: as in ``init``.
      look: what to find out from the module and its store, as ``look(run)``.

    Returns:
      What ``look`` returns.
    """
    run = Run(module, {}, rngs, method, mutable, True)
    run.store.lazy = True
    specs: list[tf.TensorSpec] = []

    def note(value: Any, _: Any) -> Any:
        if isinstance(value, tf.TypeSpec):
            specs.append(value)
            return _Place(len(specs) - 1)
        return value

    places = map_leaves(note, [list(args), dict(kwargs)])
    found: list[Any] = []

    def trace(*tensors: Any) -> None:
        filled = map_leaves(lambda v, _: tensors[v.at] if isinstance(v, _Place) else v, places)
        with run:
            try:
                run.function(*filled[0], **filled[1])
            except NbfnError as error:
                found.append(error)  # on its way out AutoGraph would put a stack into its message
            else:
                found.append(look(run))

    tf_function(trace).get_concrete_function(*specs)
    if isinstance(found[0], NbfnError):
        raise found[0]
    return found[0]


class _Place:
    """Where a tensor stands among the arguments."""

    def __init__(self, at: int) -> None:
        self.at = at


def values(run: Run) -> dict[str, Any]:
    """The variables that a lazy run made.

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
    """The module and those below it that have been used, parents first."""
    yield module
    prepare(module)
    for child in module._life.children.values():
        yield from walk(child)


def paths(module: Any) -> dict[str, Any]:
    """Unbound copies of a module with variables and those below it, by path."""
    top = len(module.path)
    return {"/".join(each.path[top:]): each.clone() for each in walk(module)}
