"""The stance ``"check_numerics"``: calls stop where a number stops being finite."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from nbfn.functions.inside.instrument import Instrument, instrument_here
from nbfn.functions.inside.numerics_checker import Finding, NumericsChecker, NumericsError
from nbfn.functions.recording import stance


class _Stopper:
    """The instrument of the stance, for a with-block or for functions that have the stance."""

    def __init__(self) -> None:
        self.checker = NumericsChecker(checked_call.__code__, self._stop)
        self.instrument = Instrument(self.checker)
        self.finding: Finding | None = None

    def _stop(self, finding: Finding) -> None:
        self.finding = finding
        raise NumericsError(finding)

    @contextlib.contextmanager
    def stops(self) -> Iterator[None]:
        """Raises the finding instead of the error that TensorFlow makes of it."""
        self.finding = None
        self.checker.forget()
        try:
            yield
        except (tf.errors.OpError, NumericsError):
            if self.finding is None:
                raise
            raise NumericsError(self.finding) from None


class _Here(threading.local):
    stopper: _Stopper | None = None
    """For the functions that have the stance."""


_here = _Here()
_blocks: dict[Instrument, _Stopper] = {}


@contextlib.contextmanager
def watching_everything() -> Iterator[None]:
    """Checks all operations on this thread in the with-block, eager ones included.

    Raises:
        NumericsError: If an operation gives NaN or infinity from finite numbers.
    """
    stopper = _Stopper()
    _blocks[stopper.instrument] = stopper
    try:
        with stopper.stops(), stopper.instrument.attached(eagerly=True):
            yield
    finally:
        del _blocks[stopper.instrument]


def checked_call(function: Any, args: Any, kwargs: Any) -> Any:
    """Calls a function with a check of every operation; stops at the first that goes wrong.

    Raises:
        NumericsError: If an operation gives NaN or infinity from finite numbers.
    """
    __tracebackhide__ = True
    instrument = instrument_here()
    if instrument is not None and (tf.inside_function() or instrument not in _blocks):
        return instrument.call(function, args, kwargs)
    if instrument is not None:
        stopper = _blocks[instrument]
    else:
        stopper = _here.stopper = _here.stopper or _Stopper()
    with stopper.stops():
        return stopper.instrument.call(function, args, kwargs)


stance.blocks["check_numerics"] = watching_everything
