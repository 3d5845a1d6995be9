"""The values of variables and the entries of tables at one moment, and how they come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.calls.interruption import uninterrupted
from nbfn.sessions.contents.kinds import is_mutable_table


class RestoreError(NbfnError, ValueError):
    """What was saved does not fit the session; nothing was restored."""


@dataclass(frozen=True)
class Entries:
    """What a table held: its keys, and their values in the same order."""

    keys: tf.Tensor
    values: tf.Tensor


Snapshot = dict[str, tf.Tensor | Entries]


def snapshot_of(variables: Mapping[str, tf.Variable], tables: Mapping[str, Any]) -> Snapshot:
    """A copy of what variables and mutable tables hold, by name."""
    found: Snapshot = {name: tf.identity(each.read_value()) for name, each in variables.items()}
    for name, table in tables.items():
        if is_mutable_table(table):
            found[name] = Entries(*_tensorflow.entries(table))
    return found


def put_back(
    snapshot: Mapping[str, Any], variables: Mapping[str, tf.Variable], tables: Mapping[str, Any]
) -> None:
    """Gives variables and tables back what a snapshot has of them.

    Raises:
        RestoreError: If one is gone, or has another shape or dtype; nothing is changed then.
    """
    for name, value in snapshot.items():
        held = (tables if isinstance(value, Entries) else variables).get(name)
        if held is None:
            kind = "table" if isinstance(value, Entries) else "variable"
            raise RestoreError(f"the session has no {kind} `{name}` any more")
        if isinstance(value, Entries):
            is_now, was = (
                f"{keys.name} to {values.name}"
                for keys, values in (
                    (held.key_dtype, held.value_dtype),
                    (value.keys.dtype, value.values.dtype),
                )
            )
        else:
            is_now, was = f"{held.dtype.name}{held.shape}", f"{value.dtype.name}{value.shape}"
            if held.dtype == value.dtype and held.shape.is_compatible_with(value.shape):
                continue
        if is_now != was:
            raise RestoreError(f"`{name}` is {is_now}, its snapshot is {was}")
    with uninterrupted():
        for name, value in snapshot.items():
            if isinstance(value, Entries):
                fill(tables[name], value)
            else:
                variables[name].assign(value)


def fill(table: Any, entries: Entries) -> None:
    """Makes a mutable table hold just these entries."""
    table.remove(_tensorflow.entries(table)[0])
    table.insert(entries.keys, entries.values)
