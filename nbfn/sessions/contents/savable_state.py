"""Lists the variables and tables that can be saved, and matches saved values with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn.errors import NbfnError
from nbfn.functions.traces.keras_parts import is_keras_variable
from nbfn.functions.traces.variable_names import named_once, walk
from nbfn.sessions.contents import kinds
from nbfn.site import warn
from nbfn.text import count

_NUMBER = re.compile(r"_\d+(?=_|/|$)")
"""Number by which Keras makes automatic names unique, as in ``dense_1/kernel``."""

_MAX_ITEMS = 3


class RestoreError(NbfnError, ValueError):
    """Raised if saved values do not fit the session; nothing was restored."""


@dataclass(frozen=True)
class Form:
    """The dtype and shape of a variable, or the dtypes of a table's keys and values."""

    dtypes: tuple[tf.DType, ...]
    shape: tf.TensorShape | None = None

    @property
    def kind(self) -> str:
        """``variable`` or ``table``."""
        return "table" if self.shape is None else "variable"

    def fits(self, other: Form) -> bool:
        """Returns whether a value of the other form can be assigned to this one."""
        if self.dtypes != other.dtypes or self.kind != other.kind:
            return False
        return self.shape is None or self.shape.is_compatible_with(other.shape)

    def __str__(self) -> str:
        names = " to ".join(each.name for each in self.dtypes)
        return names if self.shape is None else f"{names}{self.shape}"


def form_of(value: Any) -> Form:
    """Returns the form of a variable, tensor or table."""
    if kinds.is_table(value):
        return Form((value.key_dtype, value.value_dtype))
    return Form((value.dtype,), value.shape)


@dataclass(frozen=True)
class SavableState:
    """The variables and tables that can be saved.

    Attributes:
        values: The variables and mutable tables by name.
        owners: What TensorFlow saves for each: itself, or the Keras variable that holds it.
        by_keras: The names with a part that Keras chose, of a layer or weight.
        metrics: The names of Keras metrics.
        unbuilt: The names of those metrics that have not made their variables yet.
        layers: The Keras layers.
    """

    values: Mapping[str, Any]
    owners: Mapping[str, Any]
    by_keras: frozenset[str]
    metrics: tuple[str, ...]
    unbuilt: tuple[str, ...]
    layers: tuple[Any, ...]

    def compute_derived_values(self) -> None:
        """Makes layers recompute what they derive from their variables.

        `Normalization` computes with tensors that it makes of its mean and variance when it is
        adapted or loaded (Keras 3.15, ``finalize_state``).
        """
        for layer in self.layers:
            if hasattr(type(layer), "finalize_state"):
                layer.finalize_state()


def savable_state(named: Iterable[tuple[str, Any]], tables: Mapping[str, Any]) -> SavableState:
    """Returns the variables below some names, and the mutable ones of these tables."""
    named = list(named)
    values = {name: each for name, each in tables.items() if kinds.is_mutable_table(each)}
    owners = dict(values)
    for name, leaf, owner in named_once(named):
        if isinstance(leaf, tf.Variable):
            values[name], owners[name] = leaf, owner if is_keras_variable(owner) else leaf
    walked = [(name, each) for name, each, _ in walk(named)]
    layers = {name: each for name, each in walked if kinds.is_layer(each)}
    metrics = {name: each for name, each in walked if kinds.is_metric(each)}
    below = tuple(f"{name}/" for name in layers)
    return SavableState(
        values,
        owners,
        frozenset(n for n in values if is_keras_variable(owners[n]) or n.startswith(below)),
        tuple(metrics),
        # The metrics of `compile` are built in the first step of `fit` (Keras 3.15,
        # `CompileMetrics`); other metrics have no attribute `built`.
        tuple(name for name, each in metrics.items() if getattr(each, "built", True) is False),
        tuple(layers.values()),
    )


@dataclass(frozen=True)
class Match:
    """The current variable or table that each saved value belongs to.

    Attributes:
        names: The current name for each saved name.
        missing: Saved names without a current value.
        later: Saved names of metrics of ``compile`` that have no variables yet; ``fit`` creates
            these, starting at zero.
        kept: Current names without a saved value, except those of metrics.
    """

    names: Mapping[str, str]
    missing: tuple[str, ...]
    later: tuple[str, ...]
    kept: tuple[str, ...]


def match(saved: Mapping[str, Form], current: SavableState, whose: str) -> Match:
    """Finds the current value that each saved value belongs to.

    In general it is the one with the same name. But Keras numbers automatic names of layers through
    the whole process, so a model that was made again has other numbers. If some names below a root
    are missing, Keras's names that differ only in numbers are matched in order, provided that there
    are equally many.

    Args:
        saved: The form of each saved value by name.
        current: The current values.
        whose: Describes the saved value in messages, such as ``its snapshot is``.

    Raises:
        RestoreError: If a current value has another dtype or shape than the saved one.
    """
    names: dict[str, str] = {}
    for root, group in _group_by(_first_part, saved).items():
        if all(name in current.values for name in group):
            names |= {name: name for name in group}
            continue
        alike = _group_by(
            _without_numbers, (name for name in current.values if _first_part(name) == root)
        )
        for form, some in _group_by(_without_numbers, group).items():
            others = alike.get(form, [])
            is_part = set(some) <= set(others) or set(some) >= set(others)
            if is_part or not current.by_keras.issuperset(others):
                names |= {name: name for name in some if name in current.values}
            elif len(some) == len(others):
                names |= dict(zip(some, others, strict=True))
    check_forms(((now, current.values[now], saved[name]) for name, now in names.items()), whose)
    missing = [name for name in saved if name not in names]
    return Match(
        names,
        tuple(name for name in missing if not _is_below(name, current.unbuilt)),
        tuple(name for name in missing if _is_below(name, current.unbuilt)),
        unsaved(current, (current.values[now] for now in names.values())),
    )


def unsaved(current: SavableState, restored: Iterable[Any]) -> tuple[str, ...]:
    """Returns the current names that were not restored, except of metrics, which ``fit`` resets."""
    found = {id(each) for each in restored}
    rest = (name for name, each in current.values.items() if id(each) not in found)
    return tuple(name for name in rest if not _is_below(name, current.metrics))


def check_forms(pairs: Iterable[tuple[str, Any, Form]], whose: str) -> None:
    """Refuses current values whose form differs from the saved one.

    Raises:
        RestoreError: If a variable or table, given with its name, does not fit.
    """
    wrong = [
        f"`{name}` is {form_of(value)}, {whose} {saved}"
        for name, value, saved in pairs
        if not form_of(value).fits(saved)
    ]
    if wrong:
        raise RestoreError(shortened(wrong, "; "))


def refuse_missing(match: Match) -> None:
    """Refuses to restore only a part of what was saved.

    Raises:
        RestoreError: If a saved value has no current variable or table.
    """
    if match.missing:
        listed = shortened([f"`{name}`" for name in match.missing])
        raise RestoreError(
            f"the session no longer has {listed}; nothing was restored (partial=True restores the "
            "rest)"
        )


def warn_kept(what: str, names: Sequence[str]) -> None:
    """Warns that some variables keep their values because none were saved for them."""
    if names:
        warn(
            f"{what} has no value for {shortened(names)} ({count(len(names), 'variable')}), which "
            "keep what they have"
        )


def shortened(items: Sequence[str], between: str = ", ") -> str:
    """Returns the first few items and the number of the others, as text."""
    more = len(items) - _MAX_ITEMS
    return between.join([*items[:_MAX_ITEMS], *([f"and {more:,} more"] if more > 0 else [])])


def _group_by(part: Callable[[str], str], names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(part(name), []).append(name)
    return found


def _first_part(name: str) -> str:
    return name.partition("/")[0]


def _without_numbers(name: str) -> str:
    return _NUMBER.sub("", name)


def _is_below(name: str, parts: Iterable[str]) -> bool:
    return any(name.startswith(f"{part}/") for part in parts)
