"""Collects state for the feed on the main thread: devices, models' trees, named variables.

The feed runs on another thread, where TensorFlow and user objects must not be touched.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import tensorflow as tf

from nbfn import protocol
from nbfn.functions import live_functions
from nbfn.functions.calls.record import Observed
from nbfn.functions.segments.cell import TracedCell
from nbfn.functions.traces.capture import capture_id, capture_of, nbytes_of, short_device
from nbfn.functions.traces.variable_names import named_leaves
from nbfn.functions.watching.watched_object import is_keras_model
from nbfn.outlines.lists import model_note
from nbfn.outlines.session_outline import VARIABLES
from nbfn.sessions.contents.kinds import is_module_or_layer, is_object, values_below
from nbfn.sessions.contents.model import model_of
from nbfn.sessions.contents.model_tree import model_outline
from nbfn.sessions.contents.obsolete import obsolete_captures
from nbfn.sessions.contents.statistics import quick_statistics, statistics_outline
from nbfn.sessions.messages.feed import LIMITS, VALUES, Environment, Tree, everything, feed
from nbfn.sessions.messages.records import functions_of, name_of
from nbfn.text import count

PATIENCE = 50
"""Minimum pause after reading a tree, as a multiple of the time that the read took."""

FREE = 0.002
"""Seconds that reading all variables may take after each cell without causing a pause."""

VALUES_TIME = 0.1
"""Maximum seconds for reading the variables' values after each cell, while they are shown."""

_VARIABLES = 0
"""Key of the variables in `_read_at`, whose other keys are ids of models."""

_read_at: dict[int, float] = {}


Names = list[tuple[str, Any]]
"""The notebook's public names and their values, as `Session.named` returns them."""


def update_environment(named: Names, *, now: bool = False) -> None:
    """Updates the feed's devices, models, variables and obsolete captures.

    Devices are listed only once a trace exists: listing initialises TensorFlow's context, after
    which devices cannot be configured; a trace has already initialised it.

    Args:
        named: The notebook's names.
        now: Whether to read all variables even if a pause after a slow read is not over.
    """
    environment = feed().environment
    if any(function.recorder.traces for function in live_functions()):
        environment.devices = {
            device.name: protocol.DeviceRecord(
                id=device.name, kind=device.device_type, name=short_device(device.name)
            )
            for device in tf.config.list_logical_devices()
        }
    began = time.monotonic()
    if now or began >= _read_at.get(_VARIABLES, 0):
        update_names(environment, named, *everything())
        environment.obsolete = obsolete_captures(named, live_functions()) - environment.named.keys()
        ended = time.monotonic()
        _read_at[_VARIABLES] = ended + PATIENCE * max(ended - began - FREE, 0.0)
    else:
        environment.models = _models(named, environment.models)
    update_shown(named, now=now)


def update_names(
    environment: Environment,
    named: Names,
    functions: Iterable[Observed],
    cells: Iterable[TracedCell],
) -> None:
    """Updates the models and variables that names lead to, and the names of namesakes."""
    environment.models = _models(named, environment.models)
    update_variables(environment, named)
    environment.names = names_of(named, functions, cells)


def update_shown(named: Names, *, now: bool = False) -> None:
    """Updates what is read only while a page shows it: values of variables, and other objects.

    It reads as many values as `VALUES_TIME` allows, and does not affect `Session.statistics`, which
    reports changes since its own last read.

    Args:
        named: The notebook's names.
        now: Whether to read the objects even if no page shows them.
    """
    environment = feed().environment
    if now or feed().is_target_shown(VARIABLES):
        environment.objects = object_rows(named)
    if not feed().is_target_shown(VALUES):
        environment.values = None
        return
    leaves = named_leaves(named).items()
    variables = [(name, each) for name, each in leaves if isinstance(each, tf.Variable)]
    read = quick_statistics(variables, VALUES_TIME)
    left = len(variables) - len(read)
    outline = statistics_outline(read)
    lines = [f"{count(left, 'other variable')} not read"] if left else []
    environment.values = replace(outline, lines=lines).record()


def object_rows(named: Names) -> dict[str, protocol.ObjectRecord]:
    """Returns the rows of the lookup tables, datasets, iterators and optimizers, by name."""
    return {
        name: protocol.ObjectRecord(id=name, label=type(value).__name__)
        for name, value in values_below(named, is_object).items()
    }


def update_variables(environment: Environment, named: Names) -> None:
    """Updates the variables that the names lead to, and the rows of the first of them."""
    leaves = named_leaves(named).items()
    variables = {capture_id(v): (name, v) for name, v in leaves if isinstance(v, tf.Variable)}
    sizes_before = environment.named
    sizes = {
        id: sizes_before[id] if id in sizes_before else nbytes_of(each.shape, each.dtype)
        for id, (_, each) in variables.items()
    }
    rows = {
        id: _variable_row(name, each, environment.variables.get(id))
        for id, (name, each) in islice(variables.items(), LIMITS["variables"])
    }
    if (sizes, rows) != (sizes_before, environment.variables):
        environment.named, environment.variables = sizes, rows


def _variable_row(
    name: str, variable: Any, previous: protocol.VariableRecord | None
) -> protocol.VariableRecord:
    """Returns the row of a variable; reuses the known row if the name is the same."""
    if previous is not None and previous.name == name:
        return previous
    return protocol.VariableRecord.of(capture_of(variable, name))


def names_of(
    named: Names, functions: Iterable[Observed], cells: Iterable[TracedCell]
) -> dict[str, str]:
    """Returns display names by id, for functions and cells whose own name is not unique.

    The name is the notebook's name for it, or its own name with the cell that made it. Functions
    that Keras makes for a model are named by the notebook's name of the model, if it has one.
    """
    inside = {each.id for cell in cells for each in functions_of(cell)}
    listed = [each for each in functions if each.id not in inside]
    called = {id(value): name for name, value in reversed(named)}
    return _unique_names(listed, called) | _unique_names(list(cells), called)


def _unique_names(some: Sequence[Any], called: Mapping[int, str]) -> dict[str, str]:
    labels = Counter(label_of(each) for each in some)
    used = {label for label, number in labels.items() if number == 1}
    names: dict[str, str] = {}
    # The notebook's names come first, so that no other function takes one.
    for each in sorted(some, key=lambda one: _notebooks_name(one, called) is None):
        label, own = label_of(each), _notebooks_name(each, called)
        of_keras = own is not None and is_keras_model(getattr(each, "owner", None))
        if labels[label] > 1 or (of_keras and own != label):
            name = unique = own or f"{label} ({_cell_of(each)})"
            number = 1
            while unique in used:
                number += 1
                unique = f"{name} {number}"
            used.add(unique)
            names[each.id] = unique
    return names


def label_of(each: Any) -> str:
    """Returns the own name of a function or cell in segments, unique or not."""
    return name_of(each) if hasattr(each, "recorder") else str(each.label)


def _notebooks_name(each: Any, called: Mapping[int, str]) -> str | None:
    owner = getattr(each, "owner", None)
    if owner is not None and id(owner) in called:
        return f"{called[id(owner)]}.{each.recorder.name.rpartition('.')[2]}"
    return called.get(id(each)) or called.get(id(getattr(each, "function", None)))


def _cell_of(each: Any) -> str:
    cell = each.place if isinstance(each, TracedCell) else each.site.cell
    if cell is None:
        return "no cell" if isinstance(each, TracedCell) else str(each.site)
    return f"In [{cell.execution_count or ' '}]"


def _models(named: Names, previous: dict[str, Tree]) -> dict[str, Tree]:
    models = {name: value for name, value in named if is_module_or_layer(value)}
    trees: dict[str, Tree] = {}
    for name, value in models.items():
        began = time.monotonic()
        if name in previous and began < _read_at.get(id(value), 0):
            trees[name] = previous[name]
        else:
            model = model_of(value, name)
            parameters = model.parameters.get(())
            row = protocol.ModelRecord.of(
                model,
                id=name,
                note=model_note(model.label, parameters),
                parameters=parameters,
            )
            trees[name] = row, model_outline(model).record()
            ended = time.monotonic()
            _read_at[id(value)] = ended + PATIENCE * (ended - began)
    alive = {id(value) for value in models.values()}
    for key in _read_at.keys() - alive - {_VARIABLES}:
        del _read_at[key]
    return trees
