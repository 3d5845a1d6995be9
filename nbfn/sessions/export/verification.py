"""Verifies that an exported model computes what the notebook computes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.calls.interruption import Interruption, uninterrupted
from nbfn.functions.inside.failure import reason_of
from nbfn.functions.traces.sample import Sample
from nbfn.sessions.export import replay
from nbfn.sessions.export.inputs import REAL, listed
from nbfn.sessions.export.resources import ModelResources
from nbfn.sessions.export.verifier import (
    Arrays,
    VerificationCall,
    VerificationError,
    Verifier,
)
from nbfn.text import count, cut, join
from nbfn.underway.work import Work

# Not equality: the kernel may use a GPU, and the other process never does (`Verifier`); each adds
# up in an order of its own.
RELATIVE_TOLERANCE = 1e-5
ABSOLUTE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Verification:
    """The verification of one signature, or of one trace that can be called after loading.

    Attributes:
        signature: Its name.
        status: ``"equal"``; ``"shapes"`` if it draws random numbers from hidden state, so that only
            shapes and dtypes of outputs can be compared; or ``"skipped"`` if it was not verified.
        detail: What was compared and how close it is, or why nothing was.
    """

    signature: str
    status: str
    detail: str

    def __str__(self) -> str:
        return f"{self.signature}: {self.status} ({self.detail})"


@dataclass
class Case:
    """One signature or trace to verify.

    Attributes:
        name: Name for messages.
        concrete: The notebook's concrete function.
        what: What the other process calls; see `replay`.
        names: The names of the inputs, in the order of the tensors; None for a trace.
        inputs: Sets of inputs by label; a signature and its trace share the dict.
        writes: The variables and tables that it may change, as `replay.ModelState` names them.
        unfit: Why it cannot be called; None if it can.
        compared: Labels of the inputs with which both results were equal.
        notes: The inputs with which it was not compared, and why.
        worst: The largest difference between numbers that count as equal.
    """

    name: str
    concrete: Any
    what: dict[str, Any]
    names: Sequence[str] | None
    inputs: dict[str, Sample]
    writes: list[str] = field(default_factory=list)
    unfit: str | None = None
    compared: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    worst: float = 0.0

    def call(self, values: Sample) -> Arrays:
        """Calls the function in this process.

        Raises:
            Exception: Any error of the call.
        """
        if self.names is None:
            return replay.call(self.concrete, values)
        named = zip(self.names, values, strict=True)
        outputs = self.concrete(**{name: tf.constant(value) for name, value in named})
        if not isinstance(outputs, dict):
            outputs = {"output_0": outputs}
        return {name: value.numpy() for name, value in outputs.items()}

    def verdict(self) -> Verification:
        """Returns the result of the verification."""
        random = _tensorflow.stateful_random_operations(self.concrete.graph)
        more = f"; not with {join(self.notes)}" if self.notes else ""
        if self.unfit is not None or not self.compared:
            return Verification(self.name, "skipped", self.unfit or join(self.notes))
        with_what = f"with {listed(self.compared)}"
        if random:
            detail = f"{with_what}; it draws random numbers: {', '.join(random)}{more}"
            return Verification(self.name, "shapes", detail)
        return Verification(
            self.name, "equal", f"{with_what}; largest difference {self.worst:.1g}{more}"
        )


def case_of(
    name: str,
    concrete: Any,
    what: dict[str, Any],
    names: Sequence[str] | None,
    inputs: dict[str, Sample],
    resources: ModelResources,
) -> Case:
    """Builds the case of one signature or trace."""
    case = Case(name, concrete, what, names, inputs)
    if _tensorflow.writes(concrete.graph):
        case.writes = resources.captured_by(concrete)
    unknown = [
        each
        for each in _tensorflow.changing_resource_operations(concrete.graph)
        if not each.startswith("LookupTable") or resources.has_unknown_resources
    ]
    if unknown:
        case.unfit = f"a call would change more than variables: {', '.join(unknown)}"
    case.what = {**what, "writes": case.writes}
    return case


def verify(
    model: Path,
    cases: Sequence[Case],
    resources: ModelResources,
    process: Verifier,
    work: Work,
    time_limit: float,
) -> list[Verification]:
    """Loads a model in another process and compares it with the notebook.

    Each case is called in the other process first, which can always be killed, and only then here.
    The notebook's variables and tables keep their values.

    Args:
        model: Folder of the SavedModel.
        cases: What to call.
        resources: The variables and tables of the model.
        process: The process, which is restarted if a call was stopped.
        work: The registered work, whose progress is updated by two steps.
        time_limit: Seconds for each call; one that takes longer is stopped and skipped.

    Returns:
        The results.

    Raises:
        VerificationError: If the model cannot be loaded, or an output or variable differs.
    """
    work.next("loading the model in a fresh process")
    state = resources.state()
    calls = [
        (case, label, VerificationCall(case.name, case.what, _name_values(case, values)))
        for case in cases
        if case.unfit is None
        for label, values in case.inputs.items()
    ]
    waiting = calls

    def report(step: str) -> None:
        work.step = step

    is_first = True
    while waiting or is_first:
        if not process.is_alive:
            process.restart()
        with tempfile.TemporaryDirectory(prefix="nbfn-verify-") as folder:
            asked = [call for _, _, call in waiting]
            there = process.verify(model, Path(folder), resources.dtypes, asked, time_limit, report)
        if is_first:
            _compare_state(resources, state.before, there)
        late = {id(case.inputs): label for case, label, call in calls if call.is_late}
        left = [
            (case, label, call)
            for case, label, call in waiting
            if call.results is None and _is_worth_a_call(label, late.get(id(case.inputs)))
        ]
        if waiting and len(left) == len(waiting) and not late:
            raise VerificationError("the process crashed while calling the exported model")
        waiting, is_first = left, False
    work.next("verifying")
    for case, label, call in calls:
        work.step = f"calling {case.name} here"
        _call_here(case, label, call, resources, state, time_limit)
        if call.results is None and not (case.compared or case.notes):
            case.notes.append(_too_late(label, time_limit))
    return [case.verdict() for case in cases]


def _is_worth_a_call(label: str, late: str | None) -> bool:
    """Returns whether to try inputs after the same case did not return for others.

    After drawn inputs only those of a real call are tried, which returned in the notebook.
    """
    return late is None or label == REAL != late


def _too_late(label: str, time_limit: float) -> str:
    return f"{label}: its call did not end within {time_limit:g} s"


def _name_values(case: Case, values: Sample) -> Arrays:
    names = map(str, range(len(values))) if case.names is None else case.names
    return dict(zip(names, values, strict=True))


def _compare_state(
    resources: ModelResources, here: Mapping[str, str], there: Mapping[str, str]
) -> None:
    for key, value in here.items():
        if there.get(key) != value:
            raise VerificationError(f"{resources.describe(key)} is not what the notebook holds")


def _call_here(
    case: Case,
    label: str,
    call: VerificationCall,
    resources: ModelResources,
    state: replay.ModelState,
    time_limit: float,
) -> None:
    """Makes one call in this process, and compares the results."""
    there = call.results
    if there is None:
        if call.is_late:
            case.notes.append(_too_late(label, time_limit))
        return
    error = str(there["/error"]) if "/error" in there else None
    try:
        with _restoring(state, case.writes) as changes:
            with Interruption() as interruption:
                if _tensorflow.can_be_stopped(case.concrete):
                    interruption.may_stop(time_limit)
                outputs = case.call(case.inputs[label])
            expected = {**outputs, **changes()}
    except TimeoutError:
        case.notes.append(_too_late(label, time_limit))
        return
    except (tf.errors.OpError, ValueError, TypeError) as failure:
        if error is None:
            raise VerificationError(
                f"`{case.name}` fails here with {label}, and not in the exported model: "
                f"{_reason_of(failure)}"
            ) from None
        case.notes.append(f"{label}, which do not suit it: {_reason_of(failure)}")
        return
    if error is not None:
        raise VerificationError(
            f"the exported model does not run in a fresh process: `{case.name}`: {error}"
        )
    if label != REAL and not all(map(_is_finite, (*expected.values(), *there.values()))):
        case.notes.append(f"{label}, for which it gives numbers that are not finite")
        return
    _compare(case, resources, expected, there)
    case.compared.append(label)


@contextmanager
def _restoring(state: replay.ModelState, names: Sequence[str]) -> Iterator[Any]:
    """Restores variables and tables at the end; yields a function that returns the changes."""
    changed: dict[str, np.ndarray] | None = None

    def changes() -> dict[str, np.ndarray]:
        nonlocal changed
        with uninterrupted():
            changed = state.changes(names)
        return changed

    try:
        yield changes
    finally:
        if changed is None:
            changes()


def _compare(case: Case, resources: ModelResources, expected: Arrays, found: Arrays) -> None:
    random = _tensorflow.stateful_random_operations(case.concrete.graph)
    for key in {**expected, **found}:
        what = resources.describe(key) if key.startswith("/") else f"output `{key}`"
        if key not in found or key not in expected:
            # Whether it changes a variable may depend on what it draws.
            if key.startswith("/") and random:
                continue
            where = "in the notebook" if key in expected else "in the exported model"
            change = "changes" if key.startswith("/") else "comes out"
            raise VerificationError(f"`{case.name}`: {what} {change} only {where}")
        here, there = replay.array_of(expected[key]), replay.array_of(found[key])
        if here.shape != there.shape or here.dtype != there.dtype:
            raise VerificationError(
                f"`{case.name}`: {what} is {here.dtype}{list(here.shape)} in the notebook, "
                f"{there.dtype}{list(there.shape)} in the exported model"
            )
        if not random:
            case.worst = max(case.worst, _difference(case.name, what, here, there))


def _difference(name: str, what: str, here: np.ndarray, there: np.ndarray) -> float:
    # NumPy has no bfloat16: it comes from ml_dtypes, and is of kind "V".
    half = here.dtype.itemsize <= 2 and here.dtype.kind in "fV"
    if here.dtype.kind == "V" or half:
        here, there = here.astype(np.float32), there.astype(np.float32)
    if here.dtype.kind not in "fc":
        if not np.array_equal(here, there):
            raise VerificationError(f"`{name}`: {what} differs from the notebook's")
        return 0.0
    tolerance = {"rtol": RELATIVE_TOLERANCE, "atol": ABSOLUTE_TOLERANCE}
    # Two neighbours of bfloat16, which has 8 significant bits, differ by up to 0.8 %.
    if half:
        tolerance = {"rtol": 1e-2, "atol": 1e-3}
    finite = np.isfinite(here) & np.isfinite(there)
    # Without infinite values: the difference of two of them is NaN, and NumPy warns.
    difference = float(
        np.max(np.abs(np.subtract(here, there, where=finite, out=np.zeros_like(here))), initial=0.0)
    )
    if not np.allclose(here, there, equal_nan=True, **tolerance):
        raise VerificationError(
            f"`{name}`: {what} differs from the notebook's by up to {difference:.3g}"
        )
    return difference


def _reason_of(failure: Exception) -> str:
    """Returns an error's message, without the values of the inputs that an assertion prints."""
    return cut(reason_of(failure), 70)


def _is_finite(value: np.ndarray) -> bool:
    """Returns whether there is no NaN and no infinity, which may differ between equal runs."""
    return np.asarray(value).dtype.kind not in "fc" or bool(np.isfinite(value).all())


def compare_files(
    model: Path, root: Any, functions: Mapping[str, Any], signatures: Mapping[str, Any]
) -> str:
    """Compares every operation, constant and asset of a model with the notebook's.

    Args:
        model: Folder of the SavedModel.
        root: The object that was saved.
        functions: The notebook's traces; those in the model are compared.
        signatures: The traces of the signatures, which must be in the model.

    Returns:
        What was compared, as text.

    Raises:
        VerificationError: If something differs, or the files cannot be read.
    """
    try:
        saved = _tensorflow.SavedModel(model)
        is_as_written = _tensorflow.is_as_written(model)
    except Exception as error:  # protobuf raises various errors for broken files
        raise VerificationError(f"the exported model cannot be read: {error}") from None
    compared = 0
    present = [
        (label, each)
        for label, each in functions.items()
        if tf.compat.as_str(each.name) in saved.functions
    ]
    ids = {id(each) for _, each in present}
    present += [(label, each) for label, each in signatures.items() if id(each) not in ids]
    for label, concrete in present:
        here = _tensorflow.definitions(concrete)
        waiting, seen = [tf.compat.as_str(concrete.name)], set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen or name not in here:
                continue
            seen.add(name)
            there = saved.functions.get(name)
            differs = (
                "it is not there" if there is None else _tensorflow.difference(there, here[name])
            )
            if differs is not None:
                raise VerificationError(
                    f"`{label}`: function `{name}` of the exported model differs: {differs}"
                )
            waiting += _tensorflow.called(here[name].node_def)
        compared += len(seen)
    if not is_as_written:
        raise VerificationError("a file of the exported model is not as TensorFlow wrote it")
    assets = list(saved.assets(root))
    for copy, original in assets:
        if copy.read_bytes() != original.read_bytes():
            raise VerificationError(f"the asset `{copy.name}` is not the notebook's `{original}`")
    parts = [count(compared, "graph")] + ([count(len(assets), "asset")] if assets else [])
    return join(parts)
