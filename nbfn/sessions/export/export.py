"""`export`: writes the notebook's functions as a verified SavedModel.

RFC "Functions, not Sessions", the SavedModel rows of its tables.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import plain_function
from nbfn.functions import Trace, TracedFunction
from nbfn.functions.calls.interruption import uninterrupted
from nbfn.functions.traces.variable_names import roots
from nbfn.package import __version__
from nbfn.sessions.cluster.once import for_one_device, written_by_chief
from nbfn.sessions.export.choice import chosen_traces, fixed_sizes, requested
from nbfn.sessions.export.inputs import fitting, inputs_of
from nbfn.sessions.export.place import RECORD, Place
from nbfn.sessions.export.preflight import refuse
from nbfn.sessions.export.resources import ExportError, ModelResources, model_resources, owners_of
from nbfn.sessions.export.signature import input_names, serving_function, specification
from nbfn.sessions.export.subjects import named_specs, saved_form, subjects
from nbfn.sessions.export.verification import Case, Verification, case_of, compare_files
from nbfn.sessions.export.verification import verify as verify_model
from nbfn.sessions.export.verifier import VerificationError, verifier
from nbfn.sessions.session import Function as Subject
from nbfn.sessions.session import session
from nbfn.text import count, join, shorten, tensor_type, with_article
from nbfn.underway.work import Work, working


@dataclass(frozen=True)
class Export:
    """A written SavedModel.

    Attributes:
        path: Its folder.
        signatures: Inputs and outputs of each signature, as text.
        variables: Names of the saved variables.
        verified: The verification of each signature; empty without verification.
        verified_traces: The verification of each trace that can be called after loading.
        nbytes: Size on disk.
        seconds: Duration of the export, including verification.
        fixed: Inputs that accept only one size because all calls had it, as text.
        compared: What was compared by value besides outputs, as text; empty without verification.
        left_out: What could not be saved of the functions, and why, as text.
        process_nbytes: Memory of the verification process, which is kept for a while for the next
            export; 0 if it has ended.
    """

    path: Path
    signatures: Mapping[str, str]
    variables: tuple[str, ...]
    verified: tuple[Verification, ...]
    nbytes: int
    seconds: float
    fixed: tuple[str, ...] = ()
    verified_traces: tuple[Verification, ...] = ()
    compared: str = ""
    left_out: tuple[str, ...] = ()
    process_nbytes: int = 0

    def __repr__(self) -> str:
        lines = [f"<nbfn export {self.path}: {count(len(self.variables), 'variable')}>"]
        lines += [f"  {name}{text}" for name, text in self.signatures.items()]
        lines += [f"  verified {result}" for result in self.verified]
        lines += [f"  verified {result}" for result in self.verified_traces]
        lines += [f"  compared by value: {self.compared}"] if self.compared else []
        lines += [f"  fixed size: {each}" for each in self.fixed]
        lines += [f"  left out: {each}" for each in self.left_out]
        if self.process_nbytes:
            size = f"{self.process_nbytes / 1e6:.0f} MB"
            lines.append(f"  the verifying process is kept for the next export ({size})")
        return "\n".join(lines)


def export(
    path: str | os.PathLike[str],
    functions: Any = None,
    *more: Any,
    signatures: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    verify: bool = True,
    strict: bool = False,
    time_limit: float = 60.0,
    keep_process: float = 60.0,
) -> Export:
    """Writes functions of the notebook as a SavedModel, and verifies it.

    Every variable, table and asset that the functions capture is saved, tracked or not. The model
    is written next to `path` and moved into place when it is verified, so a failure or an interrupt
    leaves what was there before.

    The model is verified in another process, which loads it. Every variable, table and asset, and
    every operation and constant of the graphs, is compared by value. Each signature, and each trace
    that can be called after loading, is called with the inputs of a real call (recorded up to 1 MB)
    and with random inputs drawn from its signature; the outputs, and the changes of variables and
    tables, must be equal up to rounding.

    Example::

        @nbfn.function
        def predict(x):
            return tf.nn.softmax(x)

        predict(tf.ones([2, 3]))
        nbfn.export("model", predict)

    Args:
        path: Folder of the model.
        functions: What to export, alone or in a list: a traced function, a plain ``tf.function``, a
            cell that is one graph, a Keras model, a module with traced methods, or a session as
            `load` returns it, with all of its functions. By default, every function of the notebook
            with a trace, except those that Keras makes for ``fit`` and ``predict``; if there is no
            other, the Keras models that say what their inputs are.
        *more: Further items, if the first is not a list.
        signatures: Named signatures. Each is a function, a `Trace`, a ``ConcreteFunction``, or, if
            one function is exported, the inputs to trace it for: a ``tf.TensorSpec``, a list of
            them, or a dict by parameter. By default each function becomes a signature with its own
            name and its parameters as inputs, and each further set of Python values becomes another
            one.
        overwrite: Whether to replace the SavedModel at `path`. Nothing else is replaced: no other
            folder, and no SavedModel with additional files. Of a symbolic link, the target is
            replaced.
        verify: Whether to verify the model.
        strict: Whether it is an error if a signature could not be called with any inputs.
        time_limit: Seconds for each call of the verification; a call that takes longer is stopped
            and reported as skipped.
        keep_process: Seconds for which the verification process is kept for another export, which
            then need not start TensorFlow again.

    Returns:
        The written model.

    Raises:
        ExportExistsError: If `path` exists and `overwrite` is false, or it is not a SavedModel.
        ExportError: If there is nothing to export, or `preflight` finds something that cannot be
            saved.
        VerificationError: If the model computes something else, or could not be verified and
            `strict` is true. Nothing is left at `path` then.
    """
    started = time.perf_counter()
    if not isinstance(path, (str, os.PathLike)):
        kind = with_article(type(path).__name__)
        raise ExportError(f'the first argument is {kind}; the path comes first: export("model", …)')
    if "://" in os.fspath(path):
        raise ExportError(
            f"`{path}` is no folder of this machine; export to one, and copy the model from there"
        )
    target = written_by_chief(Path(path))
    _check_options(signatures, time_limit, keep_process)
    place = Place(target, overwrite)
    specs = _specs_in(signatures)
    with working(Work("export", str(path), "step", total=5 if verify else 3)) as work:
        work.next("tracing what has not been traced")
        chosen = subjects([functions, *more] if more else functions, session(), specs)
        chosen = {name: for_one_device(each) for name, each in chosen.items()}
        for each in chosen.values():
            if isinstance(each, TracedFunction):
                each.renew()  # retraces if stale
        refuse(chosen, specs)
        traces = _traces(chosen, signatures, specs)
        serving = {name: serving_function(each, name) for name, each in traces.items()}
        process = None
        try:
            if verify:
                with uninterrupted():  # an interrupt could leave an unreferenced process
                    process = verifier()  # it imports TensorFlow while the model is written
            root, resources, left_out = _root(chosen, traces)
            with place.beside() as folder:
                work.next("writing the SavedModel")
                with _quiet():
                    tf.saved_model.save(root, str(folder), signatures=serving)
                verified: list[Verification] = []
                compared = ""
                if process is not None:
                    files = compare_files(folder, root, _live_traces(chosen), traces)
                    cases = list(_cases(folder, chosen, traces, serving, resources))
                    verified = verify_model(folder, cases, resources, process, work, time_limit)
                    compared = _contents_text(resources, files)
                    unverified = [each for each in verified if each.status == "skipped"]
                    if strict and unverified:
                        raise VerificationError(
                            "the exported model is not verified, and nothing was written: "
                            + "; ".join(map(str, unverified))
                        )
                work.next("moving it into place")
                texts = {name: _text(function) for name, function in serving.items()}
                record = _record(chosen, texts, resources, verified)
                record |= {"compared": compared, "left_out": left_out}
                (folder / RECORD).parent.mkdir(exist_ok=True)
                (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n")
                nbytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
                place.fill(folder)
        finally:
            if process is not None:
                process.keep(keep_process)
    return Export(
        target,
        texts,
        tuple(resources.variables),
        tuple(verified[: len(serving)]),
        nbytes,
        time.perf_counter() - started,
        fixed=tuple(fixed_sizes(serving)),
        verified_traces=tuple(verified[len(serving) :]),
        compared=compared,
        left_out=tuple(left_out),
        process_nbytes=process.nbytes if process is not None and keep_process > 0 else 0,
    )


def _check_options(signatures: Any, time_limit: Any, keep_process: Any) -> None:
    if not (signatures is None or isinstance(signatures, Mapping)):
        raise ExportError(
            f"signatures is {shorten(repr(signatures))}; expected a dict of what to export by name"
        )
    for name in signatures or ():
        if not (isinstance(name, str) and name):
            raise ExportError(f"a signature is named {name!r}; expected a name, such as 'predict'")
    for name, seconds in (("time_limit", time_limit), ("keep_process", keep_process)):
        if not isinstance(seconds, int | float) or not (seconds > 0 or name == "keep_process"):
            raise ExportError(
                f"{name} is {shorten(repr(seconds))}; expected a number of seconds"
                + (" above 0" if name == "time_limit" else "")
            )


def _specs_in(signatures: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the inputs to trace for, by signature."""
    every = {name: named_specs(each) for name, each in (signatures or {}).items()}
    return {name: each for name, each in every.items() if each is not None}


def _traces(
    chosen: Mapping[str, Subject], signatures: Mapping[str, Any] | None, specs: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the concrete function of each signature, by name."""
    if signatures is not None:
        return {name: _concrete(name, each, chosen, specs) for name, each in signatures.items()}
    found: dict[str, Any] = {}
    for name, function in chosen.items():
        traces = chosen_traces(name, function)
        for twice in found.keys() & traces.keys():
            raise ExportError(
                f"two signatures are both named `{twice}`; give each a name with signatures="
            )
        found.update(traces)
    return found


def _concrete(name: str, each: Any, chosen: Mapping[str, Subject], specs: Mapping[str, Any]) -> Any:
    if name in specs:
        if len(chosen) != 1:
            raise ExportError(
                f"signature `{name}` is given by its inputs, so there must be one function to "
                f"export; there are {len(chosen)}: {join(list(chosen))}"
            )
        (function,) = chosen.values()
        inputs = specs[name]
        if isinstance(inputs, Mapping):
            return requested(function, (), dict(inputs))
        return requested(function, tuple(inputs), {})
    if isinstance(each, Trace):
        return each.concrete_function
    if isinstance(each, tf.types.experimental.ConcreteFunction):
        return each
    functions = subjects([each], session(), {})
    if len(functions) != 1:
        raise ExportError(
            f"signature `{name}` names several functions: {join(list(functions))}; give one of them"
        )
    (function,) = functions.values()
    traces = chosen_traces(name, function)
    if len(traces) == 1:
        return next(iter(traces.values()))
    raise ExportError(
        f"signature `{name}`: the function has {count(len(traces), 'trace')} that differ in "
        f"more than sizes ({', '.join(traces)}); pass one of its traces"
    )


def _live_traces(chosen: Mapping[str, Subject]) -> dict[str, Any]:
    """Returns every trace of the functions, by label."""
    return {
        f"{name} (trace {trace.number})": trace.concrete_function
        for name, function in chosen.items()
        for trace in function.traces
    }


def _root(
    chosen: Mapping[str, Subject], traces: Mapping[str, Any]
) -> tuple[tf.Module, ModelResources, list[str]]:
    """Returns the object to save, what it holds, and a description of what it leaves out."""
    root = tf.Module()
    variables: dict[int, tuple[str, tf.Variable]] = {}
    resources: dict[int, str] = {}
    for function in chosen.values():
        for capture in function.captures:
            if capture.kind == "variable" and capture.is_alive:
                variables.setdefault(id(capture.value), (capture.name, capture.value))
            elif capture.kind == "resource" and capture.is_alive:
                resources[id(capture.value)] = capture.name
    for each in traces.values():
        for variable in each.graph.variables:
            name = str(variable.name).removesuffix(":0")
            variables.setdefault(id(variable), (name, variable))
    named: dict[str, tf.Variable] = {}
    for name, variable in variables.values():
        while name in named:
            name += "'"
        named[name] = variable
    reachable = {
        name: roots(plain_function(f.python_function), f.owner) for name, f in chosen.items()
    }
    collected = model_resources(named, owners_of(resources, reachable))
    # Lists, because the verifying process refers to variables and resources by their numbers.
    root.nbfn_variables = list(collected.variables.values())
    root.nbfn_resources = list(collected.owners.values())
    left_out = []
    attributes = _attributes(chosen)
    for name, function in chosen.items():
        unfit = _unfit_traces(function)
        if unfit:
            left_out.append(
                f"`{name}` can be called by its signature only: {unfit}, which a SavedModel "
                "cannot hold"
            )
            continue
        setattr(root, attributes[name], saved_form(function))
    return root, collected, left_out


def _attributes(names: Iterable[str]) -> dict[str, str]:
    """Returns the attribute of the saved object for each function, by name."""
    found: dict[str, str] = {}
    for name in names:
        attribute = name.replace(".", "_")
        # TensorFlow reserves `signatures` on the saved object (TensorFlow 2.21,
        # `saved_model/signature_serialization.py`).
        if attribute == "signatures" or attribute.startswith("nbfn_"):
            attribute += "_"
        # `tf.Module.variables`, for example, is a property that cannot be set.
        while hasattr(tf.Module, attribute) or attribute in found.values():
            attribute += "_"
        found[name] = attribute
    return found


def _unfit_traces(function: Subject) -> str:
    """Describes what a SavedModel cannot represent in a function's traces; empty if nothing."""
    for trace in function.traces:
        concrete = trace.concrete_function
        structures = {
            "takes": concrete.structured_input_signature,
            "returns": tf.nest.map_structure(_spec, concrete.structured_outputs),
        }
        for verb, structure in structures.items():
            if _has_other_keys(structure):
                return f"it {verb} a dict whose keys are not strings"
            for leaf in tf.nest.flatten(structure):
                if isinstance(leaf, tf.TypeSpec) and not _tensorflow.can_be_saved(leaf):
                    return (
                        f"it {verb} a value of type {type(leaf).__qualname__.removesuffix('.Spec')}"
                    )
    return ""


def _has_other_keys(structure: Any) -> bool:
    if isinstance(structure, Mapping):
        return any(not isinstance(k, str) or _has_other_keys(v) for k, v in structure.items())
    return isinstance(structure, list | tuple) and any(map(_has_other_keys, structure))


def _spec(value: Any) -> Any:
    try:
        return None if value is None else tf.type_spec_from_value(value)
    except TypeError:
        return value


def _cases(
    model: Path,
    chosen: Mapping[str, Subject],
    traces: Mapping[str, Any],
    serving: Mapping[str, Any],
    resources: ModelResources,
) -> Iterator[Case]:
    """Yields what to verify: the signatures, then the traces of the saved functions."""
    traced = {
        id(trace.concrete_function): (trace, f"{name} (trace {trace.number})", function.traces)
        for name, function in chosen.items()
        for trace in function.traces
    }
    inputs = {}
    for concrete in [
        *traces.values(),
        *(trace.concrete_function for trace, _, _ in traced.values()),
    ]:
        signature = concrete.structured_input_signature
        trace, _, others = traced.get(id(concrete), (None, "", ()))
        samples = [each.sample for each in (trace, *reversed(others)) if each is not None]
        inputs[id(concrete)] = inputs_of(signature, fitting(signature, samples))
    for name, concrete in traces.items():
        own = serving[name]
        names = input_names(concrete)
        yield case_of(name, own, {"signature": name}, names, inputs[id(concrete)], resources)
    saved = _tensorflow.SavedModel(model)
    by_name = {_name(each.concrete_function): (each, label) for each, label, _ in traced.values()}
    seen: set[str] = set()  # one trace may have several keys
    for attribute in _attributes(chosen).values():
        for number, each in enumerate(saved.traces(attribute)):
            if each in by_name and each not in seen:
                seen.add(each)
                trace, label = by_name[each]
                concrete = trace.concrete_function
                what = {"function": attribute, "number": number}
                yield case_of(label, concrete, what, None, inputs[id(concrete)], resources)


def _name(concrete: Any) -> str:
    return str(tf.compat.as_str(concrete.name))


def _contents_text(resources: ModelResources, files: str) -> str:
    parts = [files]
    if resources.variables:
        parts.append(count(len(resources.variables), "variable"))
    if resources.dtypes:
        parts.append(count(len(resources.dtypes), "table"))
    return ", ".join(parts)


def _text(concrete: Any) -> str:
    inputs, outputs = specification(concrete)
    return f"({_specs(inputs)}) -> ({_specs(outputs)})"


def _specs(specs: Mapping[str, tf.TensorSpec]) -> str:
    return ", ".join(
        f"{name}: {tensor_type(spec.dtype.name, spec.shape)}" for name, spec in specs.items()
    )


def _record(
    chosen: Mapping[str, Subject],
    texts: Mapping[str, str],
    resources: ModelResources,
    verified: Sequence[Verification],
) -> dict[str, Any]:
    attributes = _attributes(chosen)
    return {
        "nbfn": __version__,
        "tensorflow": tf.__version__,
        "python": platform.python_version(),
        "signatures": dict(texts),
        "variables": list(resources.variables),
        "resources": list(resources.owners),
        "functions": {
            name: {
                "attribute": attributes[name],
                "defined": str(function.site),
                "parameters": function.parameters,
                "traces": [trace.signature for trace in function.traces],
            }
            for name, function in chosen.items()
        },
        "verification": [asdict(each) for each in verified],
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences TensorFlow's message with the path of the temporary folder."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(level)
