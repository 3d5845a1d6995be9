"""Function-local state: variables that are created and destroyed with each call.

RFC "Functions, not Sessions", section "Function-local state".
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError


class LocalStateError(NbfnError, ValueError):
    """A variable of a function with ``local_state=True`` would outlive its call."""


def with_local_variables(name: str, call: Callable[[], Any]) -> Any:
    """Makes a call whose variables live for one execution of the graph.

    Returns:
        The result of the call, with values in place of such variables.

    Raises:
        LocalStateError: If a variable is kept beyond the trace.
    """
    references: list[weakref.ReferenceType[Any]] = []

    def create(_: Any, **options: Any) -> Any:
        variable = _tensorflow.local_variable(**options)
        references.append(weakref.ref(variable))
        return variable

    with tf.variable_creator_scope(create):
        result = tf.nest.map_structure(_value, call())
    gc.collect()  # a variable in a reference cycle of the trace is not kept
    alive = [each().name for each in references if _is_kept(each)]  # type: ignore[union-attr]
    if alive:
        raise LocalStateError(
            f"`{name}` keeps {', '.join(f'`{each}`' for each in alive)} beyond the call, but with "
            "local_state=True a variable lives for one call; return its value, or create it outside"
        )
    for reference in references:
        if reference() is not None:  # a tape keeps it
            _tensorflow.unwatch(_tensorflow.enclosing_graphs(), reference())
    return result


def _is_kept(reference: weakref.ReferenceType[Any]) -> bool:
    """Returns whether a Python object refers to a variable.

    A tape around the call is none: it keeps the variables that it watches until it ends.
    """
    variable = reference()
    # A tape refers to it from C++, which the garbage collector does not see.
    return variable is not None and bool(gc.get_referrers(variable))


def _value(part: Any) -> Any:
    return part.read_value() if _tensorflow.is_local_variable(part) else part
