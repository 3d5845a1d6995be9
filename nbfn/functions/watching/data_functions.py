"""What functions that data sets are given, as by ``Dataset.map``, do once and not each time."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import plain_function
from nbfn.functions.effects.remarks import remarks
from nbfn.functions.traced.early_warnings import is_known
from nbfn.site import warn


def warn_of_data_function(concrete: Any) -> None:
    """Warns of what a user's function does only while a data set's trace of it is made.

    Args:
        concrete: A new trace; nothing is said of one that is no data set's.
    """
    if tf.inside_function():  # it is told with the function around it
        return
    found = _tensorflow.data_function()
    if found is None:
        return
    function, given_to = found
    if is_known(getattr(plain_function(function), "__code__", None)):
        return
    said = remarks(function, None, _tensorflow.graph_time_functions(concrete.graph)).lines
    if said:
        name = getattr(function, "__name__", "a function")
        lines = "\n  ".join(said)
        warn(f"`{name}` does this once, and not for each element of {given_to}:\n  {lines}")
