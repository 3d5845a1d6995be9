"""`values`: intermediate results of one call, by the user's names or by lines."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import plain_function
from nbfn.errors import NbfnError
from nbfn.functions.inside.extent import Extent, extent_of
from nbfn.functions.inside.failure import reason_of
from nbfn.functions.inside.instrument import Instrument
from nbfn.functions.inside.origin import Origins
from nbfn.functions.inside.words import frames, is_user_frame, spot_of
from nbfn.functions.recording.recorded import Recorded
from nbfn.site import Site, site_of
from nbfn.text import count, data_size, join, with_notes

MAX_TURNS = 100
"""Maximum number of values kept of what is computed repeatedly: the newest."""
MAX_BYTES = 1 << 28
"""Maximum number of bytes kept in total; of later values only the extent is kept."""
# The names that AutoGraph's converters make, numbered where the user has the same one (TensorFlow
# 2.21). ".0" is the argument of a comprehension.
_AUTOGRAPHS = re.compile(
    r"(ag__|[fl]scope|itr|do_return|retval_|break_|continue_|[gs]et_state|vars_|extra_test"
    r"|(loop|if|else)_body|loop_test)(_\d+)?$|\."
)


class UnknownValueError(NbfnError, KeyError):
    """No value of that name was recorded."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass
class Value:
    """A value that a line computed.

    Attributes:
        name: The user's name for it; else the expression.
        site: The line that computed it.
        extent: Its dtype, shape and range when it was last computed.
        arrays: The kept values, the newest last.
        executions: Number of times that it was computed.
    """

    name: str
    site: Site
    extent: Extent | None = None
    arrays: list[Any] = field(default_factory=list, repr=False)
    executions: int = 0

    @property
    def times(self) -> str:
        """How often it was computed, if more than once."""
        return f", computed {self.executions:,} times" if self.executions > 1 else ""

    def __str__(self) -> str:
        return f"{self.site}: {self.extent}{self.times}"


class Values(Mapping[str, Any]):
    """Intermediate values of one call, by the user's names.

    Attributes:
        function: The function's name.
        all: All values, by line.
        notes: Remarks.
    """

    def __init__(self, function: str, found: Sequence[Value], notes: Sequence[str]) -> None:
        self.function = function
        self.all = tuple(found)
        self.notes = tuple(notes)

    def __getitem__(self, name: str) -> Any:
        for each in reversed(self.all):
            if each.name == name and each.arrays:
                return each.arrays[-1]
        names = ", ".join(f"`{each}`" for each in self) or "none"
        raise UnknownValueError(f"no value of the name `{name}` was kept; there are {names}")

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(each.name for each in self.all if each.arrays))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def texts(self) -> tuple[tuple[Site, str], ...]:
        """Each value as text with its name, and the line that computed it."""
        return tuple((each.site, f"{each.extent}{each.times}") for each in self.all)

    @property
    def title(self) -> str:
        """The number of values, as a sentence."""
        return f"{count(len(self.all), 'value')} of a call of `{self.function}`"

    def __repr__(self) -> str:
        return with_notes(self.title, self.all, self.notes)


class _Collector:
    """Records each value that has a user's name, or that is made on a line."""

    def __init__(self, names: Sequence[str], lines: Sequence[int], until: CodeType) -> None:
        self._names, self._lines = frozenset(names), frozenset(lines)
        self._origins = Origins(until)
        self._named: dict[tuple[str, int], weakref.ReferenceType[Any]] = {}
        # TensorFlow runs operations, and so the recorders, on several threads.
        self._lock = threading.Lock()
        self._kept_bytes = 0
        self.found: dict[tuple[str, Site], Value] = {}

    def __call__(self, new: _tensorflow.NewOperation) -> None:
        origin = self._origins.of(new)
        frame = next(filter(is_user_frame, frames(new.frame)), None)
        # While AutoGraph builds a loop or branch, names have the values of its last part.
        if frame is not None and not spot_of(frame).is_statement:
            self.look_into(frame)
        site = origin.spot.site
        is_wanted = new.operation is not None and site.line in self._lines
        if is_wanted and not origin.is_gradient and new.type not in ("Const", "Placeholder"):
            for each in new.outputs[:1]:
                self._attach(each, origin.spot.text, site)

    def look_into(self, frame: FrameType) -> None:
        """Attaches recorders to the named values of a user frame."""
        if self._lines and not self._names:
            return
        graph = tf.compat.v1.get_default_graph()
        for name, value in list(frame.f_locals.items()):
            if not tf.is_symbolic_tensor(value) or _AUTOGRAPHS.match(name):
                continue
            latest = self._named.get((name, id(value)))
            if value.graph is not graph or (latest is not None and latest() is value):
                continue
            self._named[name, id(value)] = weakref.ref(value)
            origin = self._origins.known(value)
            if origin is not None and origin.spot.is_statement:
                continue  # of a whole loop or branch, whose lines have the values
            site = _site_of(value) if origin is None else origin.spot.site
            is_wanted = not self._names or name in self._names
            is_argument = value.op.type == "Placeholder"
            if is_argument and _tensorflow.is_loop_or_branch(value.graph):
                continue  # the value before the iteration
            if is_wanted and (not is_argument or name in self._names):
                self._attach(value, name, site)

    def _attach(self, tensor: Any, name: str, site: Site) -> None:
        if tensor.dtype not in (tf.resource, tf.variant):
            value = self.found.setdefault((name, site), Value(name, site))
            _tensorflow.add_callback(functools.partial(self._keep, value), [tensor])

    def _keep(self, value: Value, array: Any) -> Any:
        # A copy: the array may share memory with a tensor of the run.
        array = np.array(array)
        with self._lock:
            value.executions += 1
            value.extent = extent_of(value.name, array)
            if len(value.arrays) == MAX_TURNS:
                self._kept_bytes -= value.arrays.pop(0).nbytes
            if self._kept_bytes + array.nbytes <= MAX_BYTES:
                self._kept_bytes += array.nbytes
                value.arrays.append(array)
            key = value.name, value.site
            self.found[key] = self.found.pop(key)
        return False


def _site_of(tensor: Any) -> Site:
    """Returns the user line that made a tensor."""
    place = _tensorflow.place_of_operation(tensor.op)
    return Site(None, None) if place is None else site_of(*place)


@contextlib.contextmanager
def _looking_at_returns(collector: _Collector) -> Iterator[None]:
    """Inspects each user function when it returns: by then all names are assigned."""
    before = sys.getprofile()

    def returned(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and is_user_frame(frame) and tf.inside_function():
            try:
                collector.look_into(frame)
            except Exception:  # inspection must not break the trace
                return

    # A profile function sees each return; `sys.settrace` belongs to debuggers.
    sys.setprofile(returned)
    try:
        yield
    finally:
        # A profiler in C, such as that of `%prun`, is no function to call (Python 3.11).
        if before is None or callable(before):
            sys.setprofile(before)
        else:
            before.enable()


def values(
    function: Recorded,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    names: Sequence[str] = (),
    line: int | Sequence[int] = (),
) -> Values:
    """Makes a call and records intermediate values; what `check` restores is restored afterwards.

    Args:
        function: A traced function.
        args: The positional arguments of the call, optionally followed by names.
        kwargs: The keyword arguments.
        names: The names whose values are recorded; all if neither names nor lines are given.
        line: The line, or lines, whose values are recorded, including subexpressions.

    Raises:
        CheckError: If the arguments do not fit the function.
    """
    args, more = _split_arguments(function, args, kwargs)
    lines = (line,) if isinstance(line, int) else tuple(line)
    names = (*names, *more)
    collector = _Collector(names, lines, values.__code__)
    instrument = Instrument(collector)
    with instrument.trial(function, args, kwargs) as trial:
        with _looking_at_returns(collector):
            concrete = trial.traced(instrument.function(function))
        error = trial.serve(concrete)
    found = [each for each in collector.found.values() if each.executions]
    found.sort(key=lambda each: (str(each.site.file), each.site.line or 0))
    notes = [] if error is None else [f"the call raised {type(error).__name__}: {reason_of(error)}"]
    missing = [f"`{name}`" for name in names if all(each.name != name for each in found)]
    missing += [f"line {line}" for line in lines if all(each.site.line != line for each in found)]
    if missing:
        notes.append(f"no tensor was computed for {join(missing)}")
    elif not found:
        notes.append("no tensor that it computes has a name")
    lost = sum(1 for each in found if not each.arrays)
    if lost:
        notes.append(f"{count(lost, 'value')} beyond {data_size(MAX_BYTES)} not kept")
    return Values(function.label, found, notes)


def _split_arguments(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], Sequence[str]]:
    """Splits a function's arguments from the names of its variables that follow them."""
    signature, taken = inspect.signature(function.python_function), list(args)
    code = getattr(plain_function(function.python_function), "__code__", None)
    local = {*getattr(code, "co_varnames", ()), *getattr(code, "co_cellvars", ())}
    while taken and isinstance(taken[-1], str):
        try:
            signature.bind(*taken, **kwargs)
            if taken[-1] not in local:
                break
        except TypeError:
            pass
        taken.pop()
    return taken, [str(each) for each in args[len(taken) :]]
