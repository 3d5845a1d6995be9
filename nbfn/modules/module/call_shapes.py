"""What each module takes and gives in a call, found without computing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import tf_function
from nbfn.modules.lifecycle.interception import Intercepted, intercept_methods
from nbfn.modules.lifecycle.last_call import shown
from nbfn.modules.lifting.axes import flatten
from nbfn.modules.variables.tree import map_leaves

Shapes = dict[tuple[str, ...], tuple[str, str]]


def call_shapes(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Shapes:
    """The inputs and outputs of each module, as text, by path.

    Args:
      module: a bound module; the call is traced into a graph that never runs.
      args: for its call; a ``tf.TensorSpec`` stands for a tensor.
      kwargs: likewise.
    """
    found: Shapes = {}

    def note(next_fun: Any, given: Any, options: Any, told: Intercepted) -> Any:
        output = next_fun(*given, **options)
        if told.method_name == "__call__":
            found[told.module.path] = (shown([list(given), options]), shown(output))
        return output

    specs = [leaf for leaf in flatten([list(args), dict(kwargs)]) if isinstance(leaf, tf.TypeSpec)]

    def call(*tensors: Any) -> None:
        rest = iter(tensors)
        filled = map_leaves(
            lambda leaf, _: next(rest) if isinstance(leaf, tf.TypeSpec) else leaf,
            [list(args), dict(kwargs)],
        )
        with intercept_methods(note):
            module(*filled[0], **filled[1])

    tf_function(call).get_concrete_function(*specs)
    return found
