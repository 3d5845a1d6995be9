"""`export`: the notebook's functions as a SavedModel that is proven to compute the same.

RFC "Functions, not Sessions", the SavedModel rows of its tables.
"""

from __future__ import annotations

import json
import os
import platform
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbfn._version import __version__
from nbfn.functions import Trace, TracedFunction
from nbfn.functions.segments.cell import TracedCell
from nbfn.sessions.cluster.once import for_one_device, written_by_chief
from nbfn.sessions.export.choice import chosen_traces, fixed_sizes
from nbfn.sessions.export.place import RECORD, Place
from nbfn.sessions.export.resources import ExportError, owners_of
from nbfn.sessions.export.signature import serving_function, specification
from nbfn.sessions.export.verification import Verification
from nbfn.sessions.export.verification import verify as verify_model
from nbfn.sessions.session import Session, session
from nbfn.text import count
from nbfn.work import Work, working


@dataclass(frozen=True)
class Export:
    """A written SavedModel.

    Attributes:
        path: Its folder.
        signatures: Inputs and outputs of each signature, as text.
        variables: Names of the saved variables.
        verified: What was compared, one entry for each signature; empty without verification.
        nbytes: Size on disk.
        seconds: What the export took, verification included.
        fixed: What serves one size only, because all calls had it, in words.
    """

    path: Path
    signatures: Mapping[str, str]
    variables: tuple[str, ...]
    verified: tuple[Verification, ...]
    nbytes: int
    seconds: float
    fixed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = [f"<nbfn export {self.path}: {len(self.variables)} variables>"]
        lines += [f"  {name}{text}" for name, text in self.signatures.items()]
        lines += [f"  verified {result}" for result in self.verified]
        lines += [f"  fixed size: {each}" for each in self.fixed]
        return "\n".join(lines)


def export(
    path: str | os.PathLike[str],
    functions: TracedFunction | Sequence[TracedFunction] | None = None,
    *more: TracedFunction,
    signatures: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    verify: bool = True,
    time_limit: float = 60.0,
) -> Export:
    """Writes functions of the notebook as a SavedModel, and proves it.

    Every variable, table and asset that the functions capture is saved, whether or not anything
    tracks it. The model is written beside `path` and moved there when it is complete and proven, so
    that a failure or an interrupt leaves what was there before.

    Args:
        path: Folder of the model.
        functions: One function, or a list of them; by default every function of the session that
            has a trace.
        *more: More functions, where the first is no list.
        signatures: Named signatures, each a `TracedFunction`, a `Trace` or a
            ``ConcreteFunction``; by default one for each function, named as the function, for its
            most general trace, with the function's parameters as inputs.
        overwrite: Whether to replace the SavedModel at `path`. Nothing else is replaced: no other
            folder, and no SavedModel that holds files of yours. Of a symbolic link, what it leads
            to is replaced.
        verify: Whether to load the model in a fresh process and compare each signature's outputs
            and variable updates with the notebook's, on inputs drawn from the signature.
        time_limit: Seconds that each of these calls may take; one that takes longer is stopped and
            said to be skipped.

    Returns:
        What was written.

    Raises:
        ExportExistsError: If `path` exists and `overwrite` is false, or it is no SavedModel.
        ExportError: If there is nothing to export, a function was never traced and has no input
            signature, or a captured table cannot be found.
        VerificationError: If the model computes something else. Nothing is left at `path` then.
    """
    started = time.perf_counter()
    target = written_by_chief(Path(path))
    if not time_limit > 0:
        raise ExportError(f"time_limit is {time_limit!r}; expected a number of seconds above 0")
    place = Place(target, overwrite)
    with working(Work("export", str(path), "step", total=5 if verify else 3)) as work:
        work.next("tracing what has not been traced")
        here = session()
        chosen = _choose([functions, *more] if more else functions, here)  # type: ignore[list-item]
        chosen = {name: for_one_device(each) for name, each in chosen.items()}
        for each in chosen.values():
            each.renew()  # the model computes what a call would compute now
        concrete = _signatures(chosen, signatures)
        root, names = _root(chosen, concrete)
        with place.beside() as folder:
            work.next("writing the SavedModel")
            with _quiet():
                tf.saved_model.save(root, str(folder), signatures=concrete)
            variables = list(root.nbfn_variables)
            verified = []
            if verify:
                verified = verify_model(folder, concrete, variables, work, time_limit)
            work.next("moving it into place")
            texts = {name: _text(function) for name, function in concrete.items()}
            record = _record(chosen, texts, names, verified)
            (folder / RECORD).parent.mkdir(exist_ok=True)
            (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n")
            nbytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            place.fill(folder)
    return Export(
        target,
        texts,
        tuple(names),
        tuple(verified),
        nbytes,
        time.perf_counter() - started,
        tuple(fixed_sizes(concrete)),
    )


def _of_cell(chosen: Any) -> list[Any]:
    """The function of a cell that is one graph; anything else as it is."""
    if not isinstance(chosen, TracedCell):
        return [chosen]
    if chosen.whole is not None:
        return [chosen.whole]
    parts = ", ".join(f"`{chosen.name}.functions[{i}]`" for i in range(len(chosen.functions)))
    one = f", or export one of its graphs, {parts}" if parts else ""
    raise ExportError(
        f"`{chosen.name}` is a cell that runs as {count(len(chosen.functions), 'graph')} "
        f"and Python between them; make it one graph with %%tf_function --whole{one}"
    )


def _choose(
    functions: TracedFunction | Sequence[TracedFunction] | None, here: Session
) -> dict[str, TracedFunction]:
    if functions is None:
        chosen = {
            name: each
            for name, each in here.functions.items()
            if each.traces or each.input_signature is not None
        }
        if not chosen:
            raise ExportError(
                "there is nothing to export: no traced function has been called; mark a cell with "
                "%%tf_function or a function with @nbfn.function, and call it once"
            )
        return chosen
    is_one = not isinstance(functions, (list, tuple, set))
    every: Sequence[Any] = [functions] if is_one else list(functions)  # type: ignore[list-item, arg-type]
    given = [each for one in every for each in _of_cell(one)]
    if not given:
        raise ExportError("there is nothing to export: `functions` is empty")
    named = {id(each): name for name, each in here.functions.items()}
    chosen = {}
    for each in given:
        if not isinstance(each, TracedFunction):
            raise ExportError(
                f"expected traced functions to export, found {type(each).__name__} {each!r:.60}; "
                "make it one with nbfn.function"
            )
        name = named.get(id(each), re.sub(r"\W", "_", each.label))
        if name in chosen and chosen[name] is not each:
            raise ExportError(f"two functions to export are both named `{name}`")
        chosen[name] = each
    return chosen


def _signatures(
    chosen: Mapping[str, TracedFunction], given: Mapping[str, Any] | None
) -> dict[str, Any]:
    if given is not None:
        found = {name: _concrete(name, each) for name, each in given.items()}
    else:
        found = {}
        for name, function in chosen.items():
            traces = chosen_traces(name, function)
            for twice in found.keys() & traces.keys():
                raise ExportError(
                    f"two signatures are both named `{twice}`; name them: signatures="
                )
            found.update(traces)
    return {name: serving_function(concrete) for name, concrete in found.items()}


def _concrete(name: str, each: Any) -> Any:
    if isinstance(each, Trace):
        return each.concrete_function
    if isinstance(each, TracedFunction):
        traces = chosen_traces(name, each)
        if len(traces) == 1:
            return next(iter(traces.values()))
        raise ExportError(
            f"signature `{name}`: the function has {count(len(traces), 'trace')} that differ in "
            f"more than sizes ({', '.join(traces)}); pass one of its traces"
        )
    if isinstance(each, tf.types.experimental.ConcreteFunction):
        return each
    raise ExportError(
        f"signature `{name}` is a {type(each).__name__}; expected a traced function, a trace or a "
        "ConcreteFunction"
    )


def _root(
    chosen: Mapping[str, TracedFunction], concrete: Mapping[str, Any]
) -> tuple[tf.Module, list[str]]:
    """The object to save, and the names of its variables."""
    root = tf.Module()
    variables: dict[int, tuple[str, tf.Variable]] = {}
    resources: dict[int, str] = {}
    for function in chosen.values():
        for capture in function.captures:
            if capture.kind == "variable":
                variables.setdefault(id(capture.value), (capture.name, capture.value))
            elif capture.kind == "resource":
                resources[id(capture.value)] = capture.name
    for each in concrete.values():
        for variable in each.graph.variables:
            variables.setdefault(id(variable), (variable.name, variable))
    root.nbfn_variables = [variable for _, variable in variables.values()]
    root.nbfn_resources = owners_of(resources, chosen)
    for name, function in chosen.items():
        attribute = name.replace(".", "_")
        taken = attribute == "signatures" or hasattr(root, attribute)
        setattr(root, f"{attribute}_" if taken else attribute, function)
    return root, [name for name, _ in variables.values()]


def _text(concrete: Any) -> str:
    inputs, outputs = specification(concrete)
    return f"({_specs(inputs)}) -> ({_specs(outputs)})"


def _specs(specs: Mapping[str, tf.TensorSpec]) -> str:
    return ", ".join(f"{name}: {spec.dtype.name}{spec.shape}" for name, spec in specs.items())


def _record(
    chosen: Mapping[str, TracedFunction],
    texts: Mapping[str, str],
    variables: Sequence[str],
    verified: Sequence[Verification],
) -> dict[str, Any]:
    return {
        "nbfn": __version__,
        "tensorflow": tf.__version__,
        "python": platform.python_version(),
        "signatures": dict(texts),
        "variables": list(variables),
        "functions": {
            name: {
                "defined": str(function.site),
                "parameters": function.parameters,
                "traces": [trace.signature for trace in function.traces],
            }
            for name, function in chosen.items()
        },
        "verification": [
            {"signature": each.signature, "status": each.status, "detail": each.detail}
            for each in verified
        ],
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps TensorFlow from naming the folder beside the target, which is gone soon."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(level)
