"""`expect_traces`: a with-block that fails if more traces are made in it than expected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from nbfn.errors import NbfnError
from nbfn.text import count


class TooManyTracesError(NbfnError, AssertionError):
    """More was traced than `expect_traces` allows."""


def expect_traces(*functions: Any, at_most: int = 1) -> AbstractContextManager[None]:
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
    return _expecting(functions, at_most)


def _misuse(found: Any) -> str:
    if isinstance(found, int):
        return f"expected a traced function, found the number {found}; write at_most={found}"
    if hasattr(found, "get_concrete_function"):
        return "expected a traced function, found a tf.function; pass nbfn.watch(f)"
    return f"expected a traced function, found {type(found).__name__}"


@contextmanager
def _expecting(functions: tuple[Any, ...], at_most: int) -> Iterator[None]:
    before = [function.recorder.made for function in functions]
    yield
    for function, made in zip(functions, before, strict=True):
        new = function.recorder.made - made
        if new > at_most:
            traces = [each for each in function.traces if each.number > made]
            why = "".join(
                f"\n  trace {t.number} ({t.site}): {t.cause.sentence} [{t.signature}]"
                for t in traces
            )
            raise TooManyTracesError(
                f"`{function.label}` made {count(new, 'new trace')}, expected at most "
                f"{at_most}:{why}"
            )
