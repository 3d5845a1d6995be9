"""The content of arrays and buffers, for comparison: equal as long as no element has changed.

Short arrays are compared as a whole. For longer ones, sums of rows and of columns are taken, as
integers that wrap around: an element that changes, moves or is swapped changes one of them. Both
read memory at full speed, without copies.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

# Up to this many bytes, the bytes themselves are compared; of more, sums.
SHORT = 1 << 16
WHOLE = 1 << 24
"""Up to this many bytes, every element counts; of more, evenly spread elements."""
_ROW = 256


def content_of_array(values: np.ndarray[Any, Any]) -> Any:
    """Returns what is compared of an array that holds no objects."""
    if values.nbytes <= SHORT:
        return values.tobytes()
    if values.nbytes > WHOLE:
        wanted = max(SHORT // values.itemsize, 1)
        return values.flat[:: max(values.size // wanted, 1)].tobytes(), values.flat[-1].tobytes()
    order: Any = "F" if values.flags.fnc else "C"  # memory order, to avoid a copy
    return order, *_sums(values.ravel(order).view(np.uint8))


def content_of_buffer(buffer: bytearray | memoryview | array[Any]) -> Any:
    """Returns what is compared of the bytes of a buffer; None if it was released."""
    try:
        view = memoryview(buffer)
    except ValueError:
        return None
    with view as items:
        if items.nbytes <= SHORT or not items.c_contiguous:
            return items.tobytes()
        return content_of_array(np.frombuffer(items, np.uint8))


def _sums(items: np.ndarray[Any, Any]) -> tuple[bytes, ...]:
    """Returns the sums of the rows and of the columns of some bytes, and the remaining bytes."""
    whole = items.size - items.size % (8 * _ROW)
    # Both rows and columns: one sum of all would be the same if two elements change places.
    rows = items[:whole].view(np.uint64).reshape(-1, _ROW)
    sums = (np.add.reduce(rows, axis=axis, dtype=np.uint64) for axis in (0, 1))
    return (*(each.tobytes() for each in sums), items[whole:].tobytes())
