"""Proof that an exported model computes what the notebook computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.calls.interruption import Interruption, uninterrupted
from nbfn.sessions.export.fresh_process import VerificationError, run_there
from nbfn.sessions.export.replay import plain
from nbfn.sessions.export.signature import specification
from nbfn.work import Work

RELATIVE_TOLERANCE = 1e-5
ABSOLUTE_TOLERANCE = 1e-6
UNKNOWN_LENGTH = 2
"""Length drawn for a dimension that a signature leaves open."""

_SEED = 7


@dataclass(frozen=True)
class Verification:
    """What was compared for one signature.

    Attributes:
        signature: Its name.
        status: ``"equal"``, ``"shapes"`` (it draws random numbers from hidden state, so that only
            shapes and dtypes can be compared), or ``"skipped"``.
        detail: Why it is not ``"equal"``; else the largest difference.
    """

    signature: str
    status: str
    detail: str

    def __str__(self) -> str:
        return f"{self.signature}: {self.status} ({self.detail})"


def draw(specs: Mapping[str, tf.TensorSpec]) -> dict[str, np.ndarray]:
    """Draws inputs: floats from [0, 1), integers from {0, 1}; the same ones each time."""
    random = np.random.default_rng(_SEED)
    return {name: _draw(spec, random) for name, spec in specs.items()}


def _draw(spec: tf.TensorSpec, random: np.random.Generator) -> np.ndarray:
    lengths = [None] if spec.shape.rank is None else spec.shape.as_list()
    shape = tuple(UNKNOWN_LENGTH if length is None else length for length in lengths)
    if spec.dtype == tf.string:
        return np.full(shape, b"text")
    if spec.dtype == tf.bool:
        return random.integers(0, 2, shape).astype(bool)
    if spec.dtype.is_integer:
        return random.integers(0, 2, shape).astype(spec.dtype.as_numpy_dtype)
    return random.random(shape).astype(spec.dtype.as_numpy_dtype)


def verify(
    model: Path,
    signatures: Mapping[str, Any],
    variables: Sequence[tf.Variable],
    work: Work,
    time_limit: float,
) -> list[Verification]:
    """Loads a model in a fresh process and compares it with the notebook.

    Each signature is called once, on drawn inputs: first there, because that process can always be
    ended, and only then here. The notebook's variables are as before when this returns.

    Args:
        model: Folder of the SavedModel.
        signatures: The notebook's concrete function for each signature.
        variables: The variables of the model's ``nbfn_variables`` list.
        work: Is told what is being done; verification takes two of its steps.
        time_limit: Seconds that a call may take; one that takes longer is stopped and skipped.

    Raises:
        VerificationError: If the model cannot be loaded, or an output or variable differs.
    """
    work.next("loading the model in a fresh process")
    inputs, skipped = {}, {}
    for name, concrete in signatures.items():
        changing = _tensorflow.changing_resource_operations(concrete.graph)
        if changing:
            skipped[name] = f"a call would change more than variables: {', '.join(changing)}"
        else:
            inputs[name] = draw(specification(concrete)[0])
    found = run_there(model, inputs, work, time_limit)
    work.next("verifying")
    results = []
    for number, (name, concrete) in enumerate(signatures.items(), 1):
        work.step = f"calling {name} here ({number} of {len(signatures)})"
        if name in skipped:
            results.append(Verification(name, "skipped", skipped[name]))
            continue
        there = found.get(name)
        try:
            if there is None:
                raise TimeoutError
            with _kept(variables):
                expected = _run_here(concrete, inputs[name], variables, time_limit)
            if isinstance(there, str):
                raise VerificationError(
                    f"the exported model does not run in a fresh process: `{name}`: {there}"
                )
            results.append(_compare(name, concrete, expected, there))
        except TimeoutError:
            detail = f"its call did not end within {time_limit:g} s on the drawn inputs"
            results.append(Verification(name, "skipped", detail))
        except tf.errors.OpError as error:
            said = (str(error).splitlines() or [type(error).__name__])[0][:120]
            detail = f"the drawn inputs do not suit it: {said}"
            results.append(Verification(name, "skipped", detail))
    return results


@contextmanager
def _kept(variables: Sequence[tf.Variable]) -> Iterator[None]:
    """Gives the variables back their values at the end."""
    before = [tf.identity(variable.read_value()) for variable in variables]
    try:
        yield
    finally:
        with uninterrupted():
            for variable, value in zip(variables, before, strict=True):
                variable.assign(value)


def _run_here(
    concrete: Any,
    inputs: Mapping[str, np.ndarray],
    variables: Sequence[tf.Variable],
    time_limit: float,
) -> dict[str, np.ndarray]:
    with Interruption() as interruption:
        if _tensorflow.can_be_stopped(concrete, concrete.graph.as_graph_def()):
            interruption.may_stop(time_limit)
        outputs = concrete(**{name: tf.constant(value) for name, value in inputs.items()})
    if not isinstance(outputs, dict):
        outputs = {"output_0": outputs}
    named = {name: value.numpy() for name, value in outputs.items()}
    return named | {f"/{i}": variable.numpy() for i, variable in enumerate(variables)}


def _compare(
    name: str, concrete: Any, expected: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]
) -> Verification:
    random = _tensorflow.stateful_random_operations(concrete.graph)
    worst = 0.0
    for key, value in expected.items():
        there = found.get(key)
        if there is None:
            raise VerificationError(f"`{name}`: the exported model gives no `{key.strip('/')}`")
        here = plain(value)
        if here.shape != there.shape or here.dtype.kind != there.dtype.kind:
            raise VerificationError(
                f"`{name}`: `{key.strip('/')}` is {here.dtype}{list(here.shape)} in the notebook, "
                f"{there.dtype}{list(there.shape)} in the exported model"
            )
        if random:
            continue
        half = np.asarray(value).dtype.itemsize <= 2
        worst = max(worst, _difference(name, key, here, there, half=half))
    if random:
        return Verification(name, "shapes", f"it draws random numbers: {', '.join(random)}")
    return Verification(name, "equal", f"largest difference {worst:.1g}")


def _difference(name: str, key: str, here: np.ndarray, there: np.ndarray, *, half: bool) -> float:
    if here.dtype.kind not in "fc":
        if not np.array_equal(here, there):
            raise VerificationError(f"`{name}`: {_what(key)} differs from the notebook's")
        return 0.0
    tolerance = {"rtol": RELATIVE_TOLERANCE, "atol": ABSOLUTE_TOLERANCE}
    if half:
        tolerance = {"rtol": 1e-2, "atol": 1e-3}
    difference = float(np.max(np.abs(here - there), initial=0.0, where=np.isfinite(here)))
    if not np.allclose(here, there, equal_nan=True, **tolerance):
        raise VerificationError(
            f"`{name}`: {_what(key)} differs from the notebook's by up to {difference:.3g}"
        )
    return difference


def _what(key: str) -> str:
    return f"variable {key[1:]}" if key.startswith("/") else f"output `{key}`"
