"""Warns of what functions passed to datasets, as by ``Dataset.map``, do only once."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import plain_function
from nbfn.functions.effects.remarks import remarks
from nbfn.functions.traced.early_warnings import mark_examined
from nbfn.site import warn


def warn_of_data_function(concrete: Any) -> None:
    """Warns of what a function does only while its dataset's trace is made.

    Args:
        concrete: A new trace; ignored unless it belongs to a dataset.
    """
    if tf.inside_function():  # the outer function's warning includes it
        return
    found = _tensorflow.data_function()
    if found is None:
        return
    function, given_to = found
    if mark_examined(getattr(plain_function(function), "__code__", None)):
        return
    found_lines = remarks(function, None, _tensorflow.graph_time_functions(concrete.graph)).lines
    if found_lines:
        name = getattr(function, "__name__", "a function")
        lines = "\n  ".join(found_lines)
        warn(f"`{name}` does this once, and not for each element of {given_to}:\n  {lines}")
