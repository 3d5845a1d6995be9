"""Copies the values of variables and tables, and restores them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.calls.interruption import uninterrupted
from nbfn.sessions.contents.kinds import is_mutable_table
from nbfn.sessions.contents.savable_state import (
    Form,
    RestoreError,
    SavableState,
    form_of,
    match,
    refuse_missing,
    warn_kept,
)
from nbfn.text import shorten


@dataclass(frozen=True)
class Entries:
    """The keys of a table and their values, in the same order."""

    keys: tf.Tensor
    values: tf.Tensor


Snapshot = dict[str, tf.Tensor | Entries]


def snapshot_of(current: SavableState) -> Snapshot:
    """Returns a copy of the values of variables and mutable tables, by name."""
    return {name: _copy(each) for name, each in current.values.items()}


def restore_snapshot(snapshot: Mapping[str, Any], current: SavableState, partial: bool) -> None:
    """Assigns the values of a snapshot to variables and tables.

    Raises:
        RestoreError: If one has another shape or dtype, or is missing and `partial` is False. In
            this case nothing is changed.
        TypeError: If it is no snapshot.
    """
    if not isinstance(snapshot, Mapping) or not all(isinstance(name, str) for name in snapshot):
        raise TypeError(
            f"expected what snapshot() returned: values by name; found {shorten(repr(snapshot))}"
        )
    saved = {name: _form(name, value) for name, value in snapshot.items()}
    found = match(saved, current, "its snapshot is")
    if not partial:
        refuse_missing(found)
    with uninterrupted():
        for name, now in found.names.items():
            value, to = snapshot[name], current.values[now]
            if isinstance(value, Entries):
                fill(to, value)
            else:
                to.assign(value)
        current.compute_derived_values()
    roots = {name.partition("/")[0] for name in snapshot}
    warn_kept("the snapshot", [n for n in found.kept if n.partition("/")[0] in roots])


def _copy(value: Any) -> tf.Tensor | Entries:
    if is_mutable_table(value):
        return Entries(*_tensorflow.entries(value))
    return tf.identity(value.read_value())


def _form(name: str, value: Any) -> Form:
    if isinstance(value, Entries):
        return Form((value.keys.dtype, value.values.dtype))
    try:
        return form_of(tf.convert_to_tensor(value))
    except (TypeError, ValueError):
        raise RestoreError(f"`{name}` has no value: {shorten(repr(value))}") from None


def fill(table: Any, entries: Entries) -> None:
    """Replaces all entries of a mutable table."""
    table.remove(_tensorflow.entries(table)[0])
    table.insert(entries.keys, entries.values)
