"""Stances: whether calls may trace, for a block of code or for a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Literal, get_args

from nbfn.functions.recording.refusal import RetraceError, RunEagerly
from nbfn.functions.retraces.explain import explain
from nbfn.functions.traces.cause import Cause, Remedy, Wanted
from nbfn.functions.traces.trace import Trace
from nbfn.text import reasons

Stance = Literal["default", "fail_on_retrace", "eager", "eager_on_retrace", "check_numerics"]

# A context variable, not a thread's: the tasks of an asyncio loop share a thread.
_blocks: ContextVar[tuple[tuple[Stance, frozenset[str]], ...]] = ContextVar("stances", default=())


class _GlobalStance:
    """The stance outside every with-block, and the context manager that it has entered."""

    stance: Stance = "default"
    block: AbstractContextManager[None] | None = None


blocks: dict[str, Callable[[], AbstractContextManager[None]]] = {}
"""Context managers to enter while a stance applies to all functions, by the stance's name."""


def checked(name: str) -> Stance:
    """Returns the stance of this name.

    Raises:
        ValueError: If there is none.
    """
    if name not in get_args(Stance):
        expected = ", ".join(map(repr, get_args(Stance)))
        raise ValueError(f"there is no stance {name!r}, expected one of {expected}")
    return name  # type: ignore[return-value]


def stance(name: str, *functions: Any) -> AbstractContextManager[None]:
    """Returns a with-block that applies a stance to calls of traced functions.

    Args:
        name: ``"default"``: trace when needed. ``"fail_on_retrace"``: a call that would retrace
            raises; first traces are made. ``"eager"``: functions run eagerly, so that a debugger
            can step into them. ``"eager_on_retrace"``: a call that would retrace runs eagerly.
            ``"check_numerics"``: a call stops at the first operation that gives NaN or infinity
            from finite numbers, and raises a `NumericsError` with its line and its inputs.
        *functions: The functions that it applies to; all if none is given.

    Raises:
        ValueError: If there is no such stance.
        TypeError: If one of the functions is no traced function.
    """
    wanted = checked(name)
    for function in functions:
        if not hasattr(function, "stance"):
            raise TypeError(f"expected a traced function, found {type(function).__name__}")
    return _apply(wanted, frozenset(function.id for function in functions))


@contextmanager
def _apply(wanted: Stance, functions: frozenset[str]) -> Iterator[None]:
    everywhere = blocks.get(wanted, nullcontext) if not functions else nullcontext
    with within(wanted, functions), everywhere():
        yield


@contextmanager
def within(wanted: Stance, functions: frozenset[str] = frozenset()) -> Iterator[None]:
    """Takes a stance in a with-block, for all functions or for those with these ids."""
    token = _blocks.set((*_blocks.get(), (wanted, functions)))
    try:
        yield
    finally:
        _blocks.reset(token)


def set_stance(name: str) -> None:
    """Sets the stance that holds outside every with-block. Raises ValueError as `stance`."""
    wanted = checked(name)
    block, _GlobalStance.block = _GlobalStance.block, None
    if block is not None:
        block.__exit__(None, None, None)
    if wanted in blocks:
        block = blocks[wanted]()
        block.__enter__()
        _GlobalStance.block = block
    _GlobalStance.stance = wanted


def stance_of(function_id: str, own: Stance | None) -> Stance:
    """Returns the stance of calls: the function's own, the innermost block's, or the global one."""
    if own is not None:
        return own
    for name, functions in reversed(_blocks.get()):
        if not functions or function_id in functions:
            return name
    return _GlobalStance.stance


def enforce(
    current: Stance,
    name: str,
    wanted: Wanted,
    traces: Sequence[Trace],
    remedy: Callable[[tuple[Cause, ...]], Remedy | None],
) -> None:
    """Enforces a stance before a retrace is made.

    Raises:
        RetraceError: If it may not be made.
        RunEagerly: If the call is to run eagerly instead.
    """
    if current == "eager_on_retrace":
        raise RunEagerly
    if current == "fail_on_retrace":
        causes, _ = explain(wanted, traces)
        why = reasons(causes)
        text = f'`{name}` would retrace, and the stance is "fail_on_retrace": {why}'
        advice = remedy(tuple(causes))
        refused = RetraceError(f"{text}. {advice}" if advice else text)
        refused.page = causes[0].page
        raise refused
