"""Records why a trace was made and what to change."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from nbfn.functions.traces.context import Context
from nbfn.functions.traces.key import Key
from nbfn.package import page_of_cause
from nbfn.site import Site
from nbfn.state.guarded import GuardedState
from nbfn.state.values.fingerprints import Kind as KindOfState
from nbfn.text import duration, listed, reasons

Kind = KindOfState | Literal["scalar", "sequence", "field"]


@dataclass(frozen=True)
class Remedy:
    """A change that avoids a retrace.

    Attributes:
        sentence: The advice.
        code: Python that works when pasted into a cell, if there is such code.
    """

    sentence: str
    code: str | None = None

    def __str__(self) -> str:
        if self.code is None:
            return self.sentence
        return f"{self.sentence}: {'; '.join(self.code.splitlines())}"


@dataclass(frozen=True)
class Cause:
    """One reason why a call found no trace.

    Attributes:
        code: The kind of cause, a `nbfn.protocol.CauseCode`.
        sentence: The cause in words, with the user's own names.
        path: Path of the argument that differs, if one does.
        old: What the nearest trace was made for.
        new: What the call passed.
        source: For Python state that has changed, where it was read: ``global``, ``attribute``, ...
        kind: What differs, where the remedy depends on it: a Python ``"number"``, a ``"scalar"``
            tensor in place of one, the length of a ``"sequence"``, the code of a ``"function"``,
            the ``"field"`` of an ExtensionType, or the identity of an ``"object"``,
            ``"variable"`` or ``"tensor"``.
        module: The module of the global that it is, or is reached from.
    """

    code: str
    sentence: str
    path: str | None = None
    old: str | None = None
    new: str | None = None
    source: str | None = None
    kind: Kind = None
    module: str | None = None

    @property
    def argument(self) -> str:
        """The name at the beginning of its path."""
        return re.split(r"[.\[]", self.path or "", maxsplit=1)[0]

    @property
    def page(self) -> str | None:
        """The address of the documentation of such causes; None if it is not known."""
        return page_of_cause(self.code)

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Retrace:
    """A call that found no trace although the function had one.

    Attributes:
        number: Its number among the function's retraces, from 1.
        causes: Every difference from the nearest trace.
        nearest: The numbers of the nearest traces.
        trace: The number of the trace that the call made.
        site: The calling cell and line.
        trace_seconds: The time that tracing took.
        find_remedy: Finds what to change; called once, when `remedy` is first read.
        time: When it happened, in seconds since 1970.
    """

    number: int
    causes: tuple[Cause, ...]
    nearest: tuple[int, ...]
    trace: int
    site: Site
    trace_seconds: float
    find_remedy: Callable[[], Remedy | None] = field(compare=False)
    time: float = field(default_factory=time.time, compare=False)

    @functools.cached_property
    def remedy(self) -> Remedy | None:
        """What to change; None if there is nothing."""
        return self.find_remedy()

    def __repr__(self) -> str:
        return self._text if self.remedy is None else f"{self._text}. {self.remedy}"

    @property
    def _text(self) -> str:
        took = duration(self.trace_seconds)
        return f"retrace {self.number} ({self.site}, {took}): {reasons(self.causes)}"


class Retraces(tuple[Retrace, ...]):
    """The retraces of a function, newest last."""

    __slots__ = ()

    def __repr__(self) -> str:
        # Successive retraces with the same remedy show it once, after the last.
        following = [*(each.remedy for each in self[1:]), None]
        pairs = zip(self, following, strict=False)
        texts = [each._text if each.remedy == then else repr(each) for each, then in pairs]
        return listed("retrace", texts)


@dataclass(frozen=True)
class Wanted:
    """What a call needs of a trace.

    Attributes:
        key: The key of its arguments.
        context: Its context; None if it is not known.
        state: The Python state of the call.
    """

    key: Key
    context: Context | None = None
    state: GuardedState = field(default_factory=GuardedState)
