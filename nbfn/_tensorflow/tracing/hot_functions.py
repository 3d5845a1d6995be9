"""Executes small functions that are called often as an operation, which takes half the time.

TensorFlow executes a function by its name: 32 µs, against 16 µs for a ``StatefulPartitionedCall``
of the same function (TensorFlow 2.21, one processor). But the kernel of the operation stays in the
runtime's cache until the process ends, where that of a name is deleted with the function: 3.5 kB
for each operation of the graph. So the graph must be small, and their number is limited.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import internal
from nbfn._tensorflow.operation_types import definition_writes

CALLS = 50
"""Calls of a function after which it is executed as an operation: making its kernel takes 1 ms."""

OPERATION = "StatefulPartitionedCall"
# With 3.5 kB for each operation, their kernels take 105 MB at most.
_MAX_FUNCTIONS = 300
_MAX_OPERATIONS = 100
_MAX_BYTES = 100_000
"""Largest size of a graph, with its constants."""

_execute = internal("eager.execute")
_quick_execute: Any = getattr(_execute, "quick_execute", None)
"""The function that operation callbacks replace as `execute`."""
_numbers = itertools.count()


class HotFunction:
    """An atomic function, executed as an operation once it is called often."""

    def __init__(self, inference: Any) -> None:
        self._inference = inference
        self._calls = 0
        self._attributes: tuple[Any, ...] | None = None

    def execute(self, inputs: list[Any], options: tuple[Any, ...]) -> list[Any] | None:
        """Returns the outputs; None if the function must be executed by its name.

        Args:
            inputs: The arguments and captures.
            options: Attributes of the call.
        """
        if self._attributes is None:
            self._calls += 1
            if self._calls <= CALLS:
                return None
            self._attributes = _attributes_of_call(self._inference, inputs)
        # Operation callbacks, which replace `execute`, expect the name.
        if not self._attributes or _execute.execute is not _quick_execute:
            return None
        try:
            outputs: list[Any] = _execute.execute(
                OPERATION,
                num_outputs=len(self._inference.function_type.flat_outputs),
                inputs=inputs,
                attrs=self._attributes + options,
                ctx=self._inference._bound_context,
            )
        except Exception:  # its error would not name the operation that failed
            return None
        return outputs


def _attributes_of_call(inference: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the attributes of an operation that does what an atomic function does.

    Returns:
        Nothing if there is none. A graph that fails is executed again, so it must not write, and a
        new kernel would draw the first random number again. With several devices, inputs would be
        copied to the device of the operation. XLA compiles only what is executed by its name.
    """
    try:
        graph = inference.graph
        if len(graph.get_operations()) > _MAX_OPERATIONS:
            return ()
        definition = graph.as_graph_def()
        if definition.ByteSize() > _MAX_BYTES or definition_writes(definition):
            return ()
        functions = [inference.cached_definition, *definition.library.function]
        if any("Xla" in name for each in functions for name in each.attr):
            return ()
        if len(tf.config.list_logical_devices()) > 1 or next(_numbers) >= _MAX_FUNCTIONS:
            return ()
        outputs = inference.function_type.flat_outputs
        return (
            *("Tin", [each.dtype.as_datatype_enum for each in inputs]),
            *("Tout", [each.dtype.as_datatype_enum for each in outputs]),
            *("f", inference.name.decode()),
        )
    except Exception:  # an internal is missing
        return ()
