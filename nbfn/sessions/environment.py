"""What only the kernel's main thread may find out: TensorFlow's devices, and the models' trees.

The feed runs on another thread, where TensorFlow and the user's objects are left alone.
"""

from __future__ import annotations

import time

import tensorflow as tf

from nbfn import protocol
from nbfn.functions import live_functions
from nbfn.modules.module.rows import Row, show_tensor
from nbfn.sessions.contents.model import Model, Norms, model_of
from nbfn.sessions.contents.reach import past_captures
from nbfn.sessions.feed import feed
from nbfn.sessions.session import Session
from nbfn.sessions.timeline.records import record_of

MODEL_ROWS = 400
"""So many rows all trees of a session have together; about 100 kB."""

PATIENCE = 50
"""A tree that has taken a second to read is read again when so many have passed."""

_PAST = 0
"""Stands for no model, but for what is past."""

_read_at: dict[int, float] = {}


def tell_environment(session: Session) -> None:
    """Tells the feed of the devices, if a trace exists, of the models, and of what is past.

    Listing devices initialises TensorFlow's context, after which devices cannot be configured; a
    trace has done so already.
    """
    environment = feed().environment
    if any(function.recorder.traces for function in live_functions()):
        environment.devices = {
            device.name: protocol.DeviceRecord(id=device.name, kind=device.device_type)
            for device in tf.config.list_logical_devices()
        }
    environment.models = _models(session, environment.models)
    environment.past = _past(session, environment.past)


def _past(session: Session, known: frozenset[str]) -> frozenset[str]:
    """The captures that are no part of the session any more; those known if it takes long to see.

    What only traces know is looked at as seldom as a tree that takes as long to read.
    """
    began = time.monotonic()
    if began < _read_at.get(_PAST, 0):
        return known
    past = past_captures(session.named(), live_functions())
    ended = time.monotonic()
    _read_at[_PAST] = ended + PATIENCE * (ended - began)
    return past


def _models(
    session: Session, known: dict[str, protocol.ModelRecord]
) -> dict[str, protocol.ModelRecord]:
    named = session.modules | session.models
    left = MODEL_ROWS
    rows: dict[str, protocol.ModelRecord] = {}
    for name, value in named.items():
        began = time.monotonic()
        if name in known and began < _read_at.get(id(value), 0):
            rows[name] = known[name]
        else:
            rows[name] = model_record(model_of(value, name), max(left, 1))
            ended = time.monotonic()
            _read_at[id(value)] = ended + PATIENCE * (ended - began)
        left -= len(rows[name].rows)
    alive = {id(value) for value in named.values()}
    for key in _read_at.keys() - alive - {_PAST}:
        del _read_at[key]
    return rows


def model_record(model: Model, most: int = 1000) -> protocol.ModelRecord:
    """The record of a model's tree, with so many rows at most."""
    parameters = model.parameters
    return record_of(
        protocol.ModelRecord,
        model,
        id=model.name,
        rows=[_row(row, parameters[row.path], model) for row in model.rows[:most]],
        total=len(model.rows),
    )


def _row(row: Row, parameters: int | None, model: Model) -> protocol.ModelRow:
    norms = model.norms.get(row.path, Norms())
    return record_of(
        protocol.ModelRow,
        row,
        path="/".join(row.path),
        name=row.name if row.path else model.name,
        tensor=show_tensor(row.dtype, row.shape) if row.kind == "variable" else "",
        parameters=parameters,
        trainable=row.kind == "module" or row.trainable,
        same_as=None if row.same_as is None else "/".join(row.same_as),
        unused=row.path in (model.unused or ()),
        change=norms.relative_change,
        gradient=norms.gradient_norm,
    )
