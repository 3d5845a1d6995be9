"""A model as a tree of parts and variables, with their changes by training.

Modules of nbfn describe themselves; the tree of a Keras model or another ``tf.Module`` is built
here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.functions.traces.variable_names import children, is_leaf, named_leaves
from nbfn.modules.lifecycle.fields import is_module
from nbfn.modules.module.rows import Row, total_bytes, variable_row
from nbfn.sessions.contents import kinds
from nbfn.sessions.contents.statistics import difference
from nbfn.text import count, data_size, tensor_type

Path = tuple[str, ...]

TEXT_ROWS = 100


@dataclass(frozen=True)
class Norms:
    """Sums of squares that show how a variable, or all variables of a part, have changed.

    Attributes:
        value: Of the values at the last reading.
        change: Of the differences from them; None at the first reading.
        gradient: Of the gradient; None if none was given.
    """

    value: float = 0.0
    change: float | None = None
    gradient: float | None = None

    def __add__(self, other: Norms) -> Norms:
        return Norms(
            self.value + other.value,
            _sum(self.change, other.change),
            _sum(self.gradient, other.gradient),
        )

    @property
    def relative_change(self) -> float | None:
        """Norm of the change relative to the norm of the values; None if that was zero."""
        if self.change is None or (self.change and not self.value):
            return None
        return math.sqrt(self.change / self.value) if self.value else 0.0

    @property
    def gradient_norm(self) -> float | None:
        """Norm of the gradient."""
        return None if self.gradient is None else math.sqrt(self.gradient)


@dataclass(frozen=True, repr=False)
class Model:
    """A model as a tree.

    Attributes:
        name: The notebook's name for it; empty if it has none.
        label: Name of its class.
        rows: The model, its own variables, then its parts, parents first.
        problem: Why there are no rows, as text; empty if there are.
        norms: Changes by training, by the path of each row, if requested.
        unused: The paths of variables that no trace captures; None if not requested.
    """

    name: str
    label: str
    rows: tuple[Row, ...] = ()
    problem: str = ""
    norms: Mapping[Path, Norms] = field(default_factory=dict)
    unused: frozenset[Path] | None = None

    @property
    def title(self) -> str:
        """The name and the class."""
        return f"{self.name}: {self.label}" if self.name else self.label

    @property
    def sizes(self) -> str:
        """Number and size of the variables, as text."""
        variables = self.variables
        if self.problem:
            return self.problem
        if not variables:
            return "without variables yet"
        are_sized = all(row.nbytes is not None for row in variables)
        size = f", {data_size(sum(row.nbytes or 0 for row in variables))}" if are_sized else ""
        trained = sum(row.trainable for row in variables)
        return f"{count(len(variables), 'variable')}, {trained:,} trainable{size}"

    def training(self, row: Row) -> list[str]:
        """Describes the changes of a part or variable by training."""
        norms = self.norms.get(row.path, Norms())
        changed, gradient = norms.relative_change, norms.gradient_norm
        words = []
        if changed is None and norms.change:
            words.append("changed from zero")
        elif changed is not None:
            words.append(f"changed by {changed:.2%}" if changed else "unchanged")
        if gradient is not None:
            words.append(f"gradient {gradient:.3g}")
        if row.path in (self.unused or ()):
            words.append("in no trace")
        return words

    def __repr__(self) -> str:
        shown, left = self.rows[:TEXT_ROWS], len(self.rows) - TEXT_ROWS
        lines = [
            "  ".join(filter(None, (_line(row), ", ".join(self.training(row))))) for row in shown
        ]
        if left > 0:
            lines.append(f"... and {left:,} more; module['path'] shows a part of the tree")
        return "\n".join([f"{self.title}: {self.sizes}", *lines])

    @property
    def variables(self) -> list[Row]:
        """The rows of variables, each variable once."""
        return [row for row in self.rows if row.kind == "variable" and row.same_as is None]

    @property
    def parameters(self) -> dict[Path, int | None]:
        """Number of elements per row, without repeated variables; None where one is unknown."""
        found: dict[Path, int | None] = {row.path: 0 for row in self.rows}
        for row in self.variables:
            size = tf.TensorShape(row.shape).num_elements()
            for n in range(len(row.path) + 1):
                if row.path[:n] in found:
                    total = found[row.path[:n]]
                    found[row.path[:n]] = None if size is None or total is None else total + size
        return found


def _line(row: Row) -> str:
    """Formats a row as indented plain text."""
    what = row.label if row.kind == "module" else tensor_type(row.dtype, row.shape)
    parts = ["  " * row.depth + ": ".join(filter(None, (row.name, what)))]
    if row.kind == "variable":
        if row.label != "params":
            parts.append(f"({row.label})")
        elif not row.trainable:
            parts.append("(frozen)")
    elif row.gives:
        parts.append(f"({row.takes} -> {row.gives})")
    if row.same_as is not None:
        parts.append(f"same as {'/'.join(row.same_as) or '/'}")
    elif row.nbytes:
        parts.append(data_size(row.nbytes))
    return "  ".join(parts)


def model_of(value: Any, name: str = "") -> Model:
    """Builds the tree of a module, Keras model or layer without computing anything."""
    label = type(value).__name__
    try:
        return Model(name, label, _rows(value))
    except Exception as error:  # `setup` is user code, and a display must not fail
        return Model(name, label, problem=f"setup cannot run now: {type(error).__name__}: {error}")


def trained(
    model: Model,
    value: Any,
    gradients: Iterable[tuple[Any, Any]],
    is_used: Callable[[tf.Variable], bool],
) -> Model:
    """Adds changes by training since the last reading to a model.

    `gradients` are pairs of a gradient and its variable, as optimizers take them. `is_used` returns
    whether a trace captures a variable.
    """
    by_variable = {id(_plain(variable)): gradient for gradient, variable in gradients}
    norms: dict[Path, Norms] = {}
    variables = variables_of(value)
    for path, variable in variables.items():
        if variable.dtype.is_floating:
            own = _norms(variable, by_variable.get(id(variable)))
            for n in range(len(path) + 1):
                norms[path[:n]] = norms.get(path[:n], Norms()) + own
    unused = frozenset(path for path, variable in variables.items() if not is_used(variable))
    return replace(model, norms=norms, unused=unused)


def _plain(variable: Any) -> Any:
    return getattr(variable, "value", variable) if not is_leaf(variable) else variable


def _norms(variable: tf.Variable, gradient: Any) -> Norms:
    values = np.asarray(variable.numpy(), np.float64).ravel()
    change = difference(variable, values)
    squared = None
    if gradient is not None:
        squared = float(np.square(np.asarray(tf.convert_to_tensor(gradient), np.float64)).sum())
    if change is None:
        return Norms(float(np.square(values).sum()), None, squared)
    return Norms(change[1] ** 2, change[0] ** 2, squared)


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other


def _rows(value: Any) -> tuple[Row, ...]:
    if is_module(value):
        return tuple(value.describe())
    return tuple(row for row, _ in _Tree().rows(value, ()))


def variables_of(value: Any) -> dict[Path, tf.Variable]:
    """Returns the variables of a model by their paths in its tree."""
    if is_module(value):
        leaves = named_leaves(children(value))
        return {tuple(name.split("/")): leaf for name, leaf in leaves.items()}
    return {
        row.path: variable
        for row, variable in _Tree().rows(value, ())
        if variable is not None and row.same_as is None
    }


class _Tree:
    """Builds the tree of a layer or plain module; a shared part is expanded once."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[Path, dict[int, tf.Variable]]] = {}
        self._variables: dict[int, Path] = {}

    def rows(self, value: Any, path: Path) -> list[tuple[Row, tf.Variable | None]]:
        """Returns the rows of a part and everything in it; rows of variables with the variable."""
        label, depth = type(value).__name__, len(path)
        if id(value) in self._parts:
            return [
                (Row(path, "module", label, same_as=self._parts[id(value)][0], depth=depth), None)
            ]
        variables_below: dict[int, tf.Variable] = {}
        self._parts[id(value)] = path, variables_below
        parts, others = _split(value)
        below: list[tuple[Row, tf.Variable | None]] = []
        for name, part in parts:
            below += self.rows(part, (*path, name))
            variables_below |= self._parts[id(part)][1]
        own: list[tuple[Row, tf.Variable | None]] = []
        # Keras freezes its variables, not TensorFlow's in them.
        weights = value.weights if kinds.is_layer(value) else ()
        frozen = {id(each.value) for each in weights if not each.trainable}
        for name, leaf in named_leaves(others).items():
            if isinstance(leaf, tf.Variable) and id(leaf) not in variables_below:
                variables_below[id(leaf)] = leaf
                collection = "params" if leaf.trainable else "state"
                row = variable_row((*path, *name.split("/")), collection, leaf, self._variables)
                trainable = row.trainable and id(leaf) not in frozen
                own.append((replace(row, depth=depth + 1, trainable=trainable), leaf))
        takes, gives = _shapes(value)
        nbytes = total_bytes(variables_below.values())
        row = Row(path, "module", label, nbytes=nbytes, takes=takes, gives=gives, depth=depth)
        return [(row, None), *own, *below]


def _split(value: Any) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Splits the children of a model into modules or layers, also in containers, and others.

    Optimizers and metrics are omitted: they are not part of a model's tree.
    """
    parts: list[tuple[str, Any]] = []
    others: list[tuple[str, Any]] = []
    waiting = list(children(value))
    seen: set[int] = set()
    while waiting:
        name, each = waiting.pop(0)
        if kinds.is_module_or_layer(each):
            # The children of a Keras model contain its layers first, and again under attributes.
            if id(each) not in seen or not kinds.is_layer(value):
                parts.append((name, each))
            seen.add(id(each))
        elif isinstance(each, list | tuple | Mapping):
            waiting[:0] = [(f"{name}/{part}", item) for part, item in children(each)]
        elif not kinds.is_optimizer(each) and not kinds.is_metric(each):
            others.append((name, each))
    return parts, others


def _shapes(value: Any) -> tuple[str, str]:
    """Returns the input and output types of a Keras layer, where Keras knows them."""
    if not kinds.is_layer(value):
        return "", ""
    try:
        return _tensors(value.input), _tensors(value.output)
    except (AttributeError, ValueError):  # not called yet, or only with eager tensors
        return "", ""


def _tensors(tensors: Any) -> str:
    specs = [tensor_type(each.dtype, each.shape) for each in tf.nest.flatten(tensors)]
    return ", ".join(specs)
