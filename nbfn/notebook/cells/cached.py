"""What functions of `functools.lru_cache` keep of a trace: tensors that mean nothing after it."""

from __future__ import annotations

import functools
import gc
from typing import Any

from nbfn.notebook.cells.contents import holds_graph_tensor

CachedFunction = functools._lru_cache_wrapper


class Cached:
    """A function that keeps its results, as it was before a trace."""

    def __init__(self, function: CachedFunction[Any]) -> None:
        self._function = function
        self._misses = function.cache_info().misses

    def forget_the_trace(self) -> None:
        """Has the function keep nothing, if it has kept a graph's tensors since."""
        if self._function.cache_info().misses == self._misses:
            return
        for held in gc.get_referents(self._function):  # nothing else tells what it keeps
            kept = held.values() if type(held) is dict else (held,)
            if any(map(holds_graph_tensor, kept)):
                self._function.cache_clear()
                return
