"""`StateFunctions`: the tf.functions with which one function traces, one for each Python state."""

from __future__ import annotations

from typing import Any

from nbfn import _tensorflow


class StateFunctions:
    """The tf.functions that trace and serve the calls of a function, by the number of the state.

    TensorFlow allows a function to create variables on its first call only. A model that the
    notebook has made again, or its optimizer, creates variables on the next call: so each state
    has its own tf.function, and all share the trace cache and the record. The first state uses
    the function itself.
    """

    def __init__(self) -> None:
        # None for the function itself: it would keep itself and its graphs alive.
        self._functions: dict[int, Any | None] = {}

    def __len__(self) -> int:
        return len(self._functions)

    def find(self, function: Any, state: int) -> Any:
        """Returns the tf.function for a state; a new one in a new state."""
        with function.recorder.lock:
            if state not in self._functions:
                is_first = _tensorflow.initialization(function) is not None
                self._functions[state] = None if is_first else function.copy_for_state()
            return self._functions[state] or function

    def keep(self, function: Any, state: int, host: Any) -> None:
        """Notes that a tf.function has made a trace for a state."""
        self._functions[state] = None if host is function else host

    def copies(self) -> list[Any]:
        """Returns the tf.functions besides the function itself."""
        return [each for each in list(self._functions.values()) if each is not None]

    def drop_unused(self, function: Any) -> None:
        """Removes the tf.functions of states without traces, which cannot occur again."""
        with function.recorder.lock:
            left = {trace.context.state for trace in function.traces if trace.context is not None}
            self._functions = {n: each for n, each in self._functions.items() if n in left}
            function.recorder.guards.drop(left)
            if None not in self._functions.values():
                newest = next(reversed(self._functions.values()), None)
                _tensorflow.adopt_initialization(function, newest)
