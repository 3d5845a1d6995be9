"""Resolves what is to be exported to functions: functions, cells, Keras models, modules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn.functions import TracedFunction, function, unregister
from nbfn.functions.segments.cell import TracedCell
from nbfn.functions.watching.watch import observe
from nbfn.functions.watching.watched_function import WatchedFunction
from nbfn.functions.watching.watched_object import WatchedObject, keras_functions, tf_functions
from nbfn.sessions.contents import kinds
from nbfn.sessions.export.resources import ExportError
from nbfn.sessions.session import Function as Subject
from nbfn.sessions.session import Session
from nbfn.text import count, shorten


def subjects(targets: Any, here: Session, specs: Mapping[str, Any]) -> dict[str, Subject]:
    """Returns the functions to export by their names in the model.

    Args:
        targets: One item or a list of items; None for all functions of the session that have a
            trace or an input signature.
        here: The session.
        specs: Inputs by signature, where specifications were given.

    Raises:
        ExportError: If there is nothing to export, or an item cannot be exported.
    """
    if targets is None:
        chosen = dict(_of_session(here))
        if not chosen:
            model = next((f"; or name a model: nbfn.export(path, {n})" for n in _models(here)), "")
            raise ExportError(
                "there is nothing to export: no traced function has been called; mark a cell with "
                f"%%tf_function or a function with @nbfn.function, and call it once{model}"
            )
        return chosen
    things = list(targets) if isinstance(targets, (list, tuple, set)) else [targets]
    if not things:
        raise ExportError("there is nothing to export: `functions` is empty")
    # In reverse, so that the first of several names stays.
    named = {id(value): name for name, value in reversed(here.named())}
    named |= {id(each): name for name, each in here.functions.items()}
    chosen = {}
    for thing in things:
        for name, each in _functions_of(thing, named, specs):
            if name in chosen and chosen[name] is not each:
                raise ExportError(f"two functions to export are both named `{name}`")
            chosen[name] = each
    return chosen


def _of_session(session: Session) -> Iterator[tuple[str, Subject]]:
    """Yields each function with one name, preferably its own.

    What Keras has made for ``fit`` and ``predict`` takes iterators and is left out. If there is
    nothing else, these are the models that say what their inputs are.
    """
    models = _models(session)
    of_keras = {id(each) for model in models.values() for _, each in keras_functions(model)}
    found: dict[int, tuple[str, Subject]] = {}
    for name, each in session.functions.items():
        is_own = name.rpartition(".")[2] == each.label.rpartition(".")[2]
        if id(each) not in found or (is_own and "." not in name):
            found[id(each)] = name, each
    of_users = [
        (name, each)
        for name, each in found.values()
        if (each.traces or input_signature(each)) and id(saved_form(each)) not in of_keras
    ]
    yield from of_users
    if not of_users:
        for name, model in models.items():
            if _inputs_of(model):
                yield _word(name), _of_model(model, name, has_specs=False)


def _models(session: Session) -> dict[str, Any]:
    """Returns the Keras models of a session, without layers and modules."""
    return {name: each for name, each in session.models.items() if kinds.is_model(each)}


def _inputs_of(model: Any) -> Any:
    """Returns the inputs of a Keras model; empty if it does not say what they are."""
    return (getattr(model, "inputs", None) if model.built else None) or ()


def input_signature(subject: Subject) -> Any:
    """Returns the input signature that a function was defined with, or None."""
    return getattr(saved_form(subject), "input_signature", None)


def saved_form(subject: Subject) -> Any:
    """Returns the function object that a SavedModel tracks.

    Raises:
        ExportError: If the function was garbage-collected and only its observer exists.
    """
    if not isinstance(subject, WatchedFunction):
        return subject
    if subject.function is None:
        raise ExportError(f"`{subject.label}` no longer exists; nothing but nbfn referred to it")
    return subject.function


def _functions_of(
    thing: Any, named: Mapping[int, str], specs: Mapping[str, Any]
) -> Iterator[tuple[str, Subject]]:
    """Yields the functions of an item to export, with their names in the model."""
    name = named.get(id(thing))
    if isinstance(thing, TracedCell):
        yield from _functions_of(_function_of_cell(thing), named, specs)
    elif isinstance(thing, Session):
        yield from _of_session(thing)
    elif isinstance(thing, WatchedObject):
        yield from _functions_of(thing.object, named, specs)
    elif kinds.is_tf_function(thing):
        observer = observe(thing, name, hits=False)
        yield name or _word(observer.label), observer
    elif isinstance(thing, Subject):
        yield name or _word(thing.label), thing
    elif kinds.is_model(thing):
        yield name or _word(thing.name), _of_model(thing, name or thing.name, bool(specs))
    elif callable(thing) and specs and not isinstance(thing, type):
        label = name or _word(getattr(thing, "__name__", type(thing).__name__))
        yield label, _export_function(thing, label)
    elif isinstance(thing, tf.Module):
        label = name or _word(type(thing).__name__)
        traced = {}
        for method, each in tf_functions(thing).items():
            one = observe(each, method, thing, hits=False) if kinds.is_tf_function(each) else each
            if one.traces or input_signature(one):
                traced[named.get(id(one), f"{label}.{method}")] = one
        yield from traced.items()
        if not traced:
            raise ExportError(
                f"`{label}` is a {type(thing).__name__} none of whose methods has a trace, so nbfn "
                "does not know its inputs. Call a traced method; or export a function that calls "
                f"it: serve = nbfn.function({label}), called once; or give the inputs: "
                f"signatures={{'{label}': [tf.TensorSpec([None, 3], tf.float32)]}}"
            )
    elif isinstance(thing, tf.types.experimental.ConcreteFunction):
        raise ExportError(
            f"{shorten(repr(thing))} is a single trace; pass it in signatures=, with its "
            "function: nbfn.export(path, f, signatures={'f': trace})"
        )
    else:
        make = "make it one with nbfn.function" if callable(thing) else "pass the function itself"
        raise ExportError(
            f"expected traced functions to export, found {type(thing).__name__} "
            f"{shorten(repr(thing))}; {make}"
        )


def _function_of_cell(cell: TracedCell) -> TracedFunction:
    whole: TracedFunction | None = cell.whole
    if whole is not None:
        return whole
    parts = ", ".join(f"`{cell.name}.functions[{i}]`" for i in range(len(cell.functions)))
    one = f", or export one of its graphs, {parts}" if parts else ""
    raise ExportError(
        f"`{cell.name}` is a cell that runs as {count(len(cell.functions), 'graph')} "
        f"and Python between them; make it one graph with %%tf_function --whole{one}"
    )


def _of_model(model: Any, label: str, has_specs: bool) -> TracedFunction:
    """Returns a function that calls a Keras model for inference with the inputs of its build."""
    inputs = _inputs_of(model)
    if not inputs and not has_specs:
        raise ExportError(
            f"`{label}` is a Keras model that does not say what its inputs are. Export a function "
            f"that calls it: serve = nbfn.function(lambda x: {label}(x, training=False)), called "
            f"once; or give the inputs: signatures={{'{label}': [tf.TensorSpec([None, 3])]}}"
        )
    names = ["inputs"] if len(inputs) < 2 else [_word(each.name) for each in inputs]

    def serve_one(inputs: Any) -> Any:
        return model(inputs, training=False)

    def serve(**inputs: Any) -> Any:
        by_id = {id(each): inputs[name] for name, each in zip(names, model.inputs, strict=True)}
        # The structure in which the model takes its inputs: a list, a dictionary, or nested.
        packed = tf.nest.map_structure(lambda each: by_id[id(each)], model.input)
        return model(packed, training=False)

    served = _export_function(serve_one if len(names) == 1 else serve, label)
    if not has_specs:
        specs = {
            name: tf.TensorSpec([None, *each.shape[1:]], each.dtype, name)
            for name, each in zip(names, inputs, strict=True)
        }
        served.request((), specs)
    return served


def _export_function(python_function: Any, label: str) -> TracedFunction:
    """Returns a function for an export only, which is not listed."""
    traced: TracedFunction = function(python_function)
    traced.recorder.name = label
    unregister(traced)
    return traced


def _word(label: str) -> str:
    return label if label.isidentifier() else re.sub(r"\W+", "_", label).strip("_")


def named_specs(each: Any) -> Sequence[Any] | Mapping[str, Any] | None:
    """Returns specifications as arguments; None if a value is something else."""
    if isinstance(each, tf.TypeSpec):
        return [each]
    if isinstance(each, Mapping) and each and all(_is_specs(part) for part in each.values()):
        return each
    if isinstance(each, (list, tuple)) and each and all(map(_is_specs, each)):
        return each
    return None


def _is_specs(each: Any) -> bool:
    parts = tf.nest.flatten(each)
    return bool(parts) and all(isinstance(part, tf.TypeSpec) for part in parts)
