"""Proof that an exported model computes what the notebook computes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.sessions.replay import CALLING, plain
from nbfn.sessions.signature import specification
from nbfn.work import Work

RELATIVE_TOLERANCE = 1e-5
ABSOLUTE_TOLERANCE = 1e-6
UNKNOWN_LENGTH = 2
"""Length drawn for a dimension that a signature leaves open."""

_SEED = 7


class VerificationError(NbfnError, AssertionError):
    """An exported model computes something else than the notebook, or cannot be loaded."""


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
    model: Path, signatures: Mapping[str, Any], variables: Sequence[tf.Variable], work: Work
) -> list[Verification]:
    """Loads a model in a fresh process and compares it with the notebook.

    Each signature is called once, on drawn inputs, here and there. The notebook's variables are as
    before when this returns.

    Args:
        model: Folder of the SavedModel.
        signatures: The notebook's concrete function for each signature.
        variables: The variables of the model's ``nbfn_variables`` list.
        work: Is told what is being done; verification takes two of its steps.

    Raises:
        VerificationError: If the model cannot be loaded, or an output or variable differs.
    """
    given: dict[str, np.ndarray] = {}
    expected: dict[str, dict[str, np.ndarray]] = {}
    skipped: dict[str, str] = {}
    work.next("verifying")
    before = [tf.identity(variable.read_value()) for variable in variables]
    for number, (name, concrete) in enumerate(signatures.items(), 1):
        work.step = f"calling {name} here ({number} of {len(signatures)})"
        inputs = draw(specification(concrete)[0])
        changing = _tensorflow.changing_resource_operations(concrete.graph)
        if changing:
            skipped[name] = f"a call would change more than variables: {', '.join(changing)}"
            given[f"{name}//skip"] = np.array(True)
            continue
        try:
            expected[name] = _run_here(concrete, inputs, variables)
        except tf.errors.OpError as error:
            skipped[name] = f"the drawn inputs do not suit it: {str(error).splitlines()[0][:120]}"
            given[f"{name}//skip"] = np.array(True)
        finally:
            for variable, value in zip(variables, before, strict=True):
                variable.assign(value)
        given |= {f"{name}/{key}": value for key, value in inputs.items()}
    work.next("loading the model in a fresh process")
    found = _run_there(model, given, work)
    results = []
    for name, concrete in signatures.items():
        if name in skipped:
            results.append(Verification(name, "skipped", skipped[name]))
        else:
            results.append(_compare(name, concrete, expected[name], found))
    return results


def _run_here(
    concrete: Any, inputs: Mapping[str, np.ndarray], variables: Sequence[tf.Variable]
) -> dict[str, np.ndarray]:
    outputs = concrete(**{name: tf.constant(value) for name, value in inputs.items()})
    if not isinstance(outputs, dict):
        outputs = {"output_0": outputs}
    named = {f"/{name}": value.numpy() for name, value in outputs.items()}
    return named | {f"//{i}": variable.numpy() for i, variable in enumerate(variables)}


def _run_there(model: Path, given: Mapping[str, np.ndarray], work: Work) -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory(prefix="nbfn-verify-") as folder:
        inputs, outputs = Path(folder, "inputs.npz"), Path(folder, "outputs.npz")
        errors = Path(folder, "errors.txt")
        np.savez(inputs, **given)  # type: ignore[arg-type]
        script = Path(__file__).with_name("replay.py")
        command = [sys.executable, str(script), str(model.absolute()), str(inputs), str(outputs)]
        if _run(command, Path(folder), errors, work) != 0:
            said = errors.read_text(errors="replace").strip().splitlines()
            reason = (said or ["no message"])[-1]
            raise VerificationError(f"the exported model does not run in a fresh process: {reason}")
        with np.load(outputs, allow_pickle=False) as file:
            return dict(file)


def _run(command: Sequence[str], folder: Path, errors: Path, work: Work) -> int:
    """Runs a process to its end, which comes now if this one is interrupted."""
    with (
        errors.open("w") as file,
        subprocess.Popen(
            command,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ""},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith(CALLING):
                    work.step = f"{line.strip()} in a fresh process"
            return process.wait()
        except BaseException:
            process.kill()
            raise


def _compare(
    name: str, concrete: Any, expected: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]
) -> Verification:
    random = _tensorflow.stateful_random_operations(concrete.graph)
    worst = 0.0
    for key, value in expected.items():
        there = found.get(name + key)
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
    return f"variable {key[2:]}" if key.startswith("//") else f"output `{key[1:]}`"
