"""The captures of a trace: outside variables and tensors, by reference, under the user's names.

RFC "Functions, not Sessions", section "Captured state".
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.traces.variable_names import names_for
from nbfn.serial import serial
from nbfn.text import count, sizes

_MAX_LISTED = 50
"""Maximum number of captures in a ``repr``."""


@dataclass(frozen=True)
class Capture:
    """One captured variable, tensor or other resource.

    Attributes:
        name: The user's name for it, such as ``model/hidden/kernel``; else TensorFlow's name.
        kind: ``"variable"``, ``"tensor"`` (its value is baked into the graph's inputs), or
            ``"resource"`` (a table, an iterator, ...).
        shape: Static shape; None if the rank is unknown.
        dtype: Name of the dtype.
        device: Device that holds it, in short form such as ``CPU:0``.
        nbytes: Size in bytes; None if it is not known.
        trainable: Whether gradient tapes watch it by default.
        id: Identifies the captured object in all traces; it is never reused.
        is_current: Whether calls can still find a trace that captures it.
    """

    name: str
    kind: str
    shape: tuple[int | None, ...] | None
    dtype: str
    device: str
    nbytes: int | None
    trainable: bool
    id: str
    is_current: bool = True
    _target: weakref.ReferenceType[Any] | None = field(default=None, repr=False)

    @property
    def value(self) -> Any:
        """The captured variable or tensor itself.

        Raises:
            ReferenceError: If it was garbage-collected.
        """
        target = self.target
        if target is None:
            raise ReferenceError(f"`{self.name}` no longer exists; only its trace refers to it")
        return target

    @property
    def target(self) -> Any | None:
        """The captured variable or tensor; None if it was garbage-collected."""
        return self._target() if self._target is not None else None

    @property
    def is_alive(self) -> bool:
        """Whether the captured variable or tensor still exists."""
        return self.target is not None

    def __str__(self) -> str:
        shape = sizes(self.shape)
        kind = "" if self.kind == "variable" else f" ({self.kind})"
        past = "" if self.is_alive else ", no longer exists"
        if not past and not self.is_current:
            past = ", in traces only that are stale"
        return f"{self.name}: {self.dtype}{shape} on {self.device}{kind}{past}"


class Captures(tuple[Capture, ...]):
    """The captures of traces, each thing once."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = [f"<{count(len(self), 'capture')}>", *(f"  {each}" for each in self[:_MAX_LISTED])]
        left = len(self) - _MAX_LISTED
        return "\n".join([*lines, f"  ... and {left:,} more"] if left > 0 else lines)


def captures_in(traces: Iterable[Any], stale: Collection[int] = ()) -> Captures:
    """Returns the captures of some traces, each thing once, under its current name.

    What the notebook no longer names keeps the name under which it was traced. Captures of stale
    traces only, given by their numbers, come last and are marked.
    """
    found: dict[str, Capture] = {}
    past: dict[str, Capture] = {}
    for trace in traces:
        for capture in trace.captures:
            if trace.number in stale:
                past.setdefault(capture.id, replace(capture, is_current=False))
            else:
                found.setdefault(capture.id, capture)
    return Captures(_named_now({**found, **past, **found}.values()))


def _named_now(captures: Collection[Capture]) -> Iterator[Capture]:
    """Replaces the names of captures by those that the notebook has for them now."""
    alive = [(each.id, target) for each in captures if (target := each.target) is not None]
    names = names_for({id(target): target for _, target in alive}, ()) if alive else {}
    now = {key: names[id(target)] for key, target in alive if id(target) in names}
    return (replace(each, name=now.get(each.id, each.name)) for each in captures)


def captures_of(concrete: Any, roots: Iterator[tuple[str, Any]]) -> Captures:
    """Returns the captures of a trace in order of first use, named from `roots`."""
    found = _tensorflow.captured(concrete)
    targets = [each.handle if each.variable is None else each.variable for each in found]
    wanted = {id(target): target for target in targets}
    names = names_for(wanted, roots) if wanted else {}
    return Captures(capture_of(target, names.get(id(target))) for target in targets)


def short_device(device: str | None) -> str:
    """Returns ``CPU:0`` for ``/job:localhost/.../device:CPU:0``; with the task if it is not 0."""
    if not device:
        return "unplaced"
    spec = tf.DeviceSpec.from_string(device)
    short = f"{spec.device_type}:{spec.device_index}" if spec.device_type else device
    if spec.job not in (None, "localhost") or spec.task not in (None, 0):
        return f"{spec.job}/{spec.task}/{short}"
    return short


def capture_of(target: Any, name: str | None) -> Capture:
    """Builds the capture of a variable, tensor or resource, under the given or its own name."""
    variable = isinstance(target, tf.Variable)
    dtype = target.dtype
    kind = "variable" if variable else "resource" if dtype == tf.resource else "tensor"
    shape = target.shape
    sizes = None if shape.rank is None else tuple(shape.as_list())
    return Capture(
        name=name or _own_name(target, kind),
        kind=kind,
        shape=sizes,
        dtype=dtype.name,
        device=short_device(getattr(target, "device", None)),
        nbytes=nbytes_of(shape, dtype),
        trainable=bool(getattr(target, "trainable", False)),
        id=capture_id(target, kind),
        _target=weakref.ref(target),
    )


def capture_id(target: Any, kind: str = "variable") -> str:
    """Returns the id of a variable, tensor or resource, the same in all captures."""
    # Not `id`: a capture's id is kept in the front end after its target was freed.
    return f"{kind}-{serial(target)}"


def _own_name(target: Any, kind: str) -> str:
    if kind == "variable":
        return str(target.name).removesuffix(":0")
    return f"unnamed {kind}"


def nbytes_of(shape: tf.TensorShape, dtype: tf.DType) -> int | None:
    """Returns the size in bytes; None if the shape is not static, or the dtype has no size."""
    if not shape.is_fully_defined() or dtype in (tf.string, tf.resource, tf.variant):
        return None
    return int(math.prod(shape) * dtype.size)
