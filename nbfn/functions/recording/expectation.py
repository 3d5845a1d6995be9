"""`expect_traces`: a with-block that fails if more traces are made in it than expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbfn.errors import NbfnError
from nbfn.functions.recording.with_block import WithBlock
from nbfn.text import count

if TYPE_CHECKING:
    from nbfn.functions.traces.trace import Trace


class TooManyTracesError(NbfnError, AssertionError):
    """More was traced than `expect_traces` allows."""


def expect_traces(*functions: Any, at_most: int = 1) -> WithBlock:
    """Returns a with-block in which each function may make at most `at_most` new traces.

    Args:
        *functions: Traced functions; traces that are made in order to create variables count.
        at_most: Maximum number of new traces of each function.

    Raises:
        TooManyTracesError: At the end of the block, with the causes of the traces.
        TypeError: If there is no function, or one is no traced function.
        ValueError: If `at_most` is negative.
    """
    if not functions:
        raise TypeError("expect_traces needs at least one traced function")
    functions = tuple({id(each): each for each in functions}.values())
    for function in functions:
        if not hasattr(function, "recorder"):
            raise TypeError(_misuse(function))
    if at_most < 0:
        raise ValueError(f"at_most is {at_most}, expected at least 0")
    names = ", ".join(function.label for function in functions)
    call = f"nbfn.expect_traces({names}, at_most={at_most})"
    return WithBlock(call, lambda: _expecting(functions, at_most))


def _misuse(found: Any) -> str:
    if isinstance(found, int):
        return f"expected a traced function, found the number {found}; write at_most={found}"
    if hasattr(found, "get_concrete_function"):
        return "expected a traced function, found a tf.function; pass nbfn.watch(f)"
    return f"expected a traced function, found {type(found).__name__}"


@contextmanager
def _expecting(functions: tuple[Any, ...], at_most: int) -> Iterator[None]:
    traces_by_id: dict[str, list[Trace]] = {function.id: [] for function in functions}
    for function in functions:
        function.recorder.listeners.append(traces_by_id[function.id].append)
    try:
        yield
    finally:
        for function in functions:
            function.recorder.listeners.remove(traces_by_id[function.id].append)
    for function in functions:
        new = traces_by_id[function.id]
        if len(new) > at_most:
            why = "".join(
                f"\n  trace {t.number} ({t.site}): {t.cause.sentence} [{t.signature}]" for t in new
            )
            raise TooManyTracesError(
                f"`{function.label}` made {count(len(new), 'new trace')}, expected at most "
                f"{at_most}:{why}"
            )
