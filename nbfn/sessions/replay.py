"""Runs the signatures of a SavedModel in a process of its own.

Started as ``python replay.py MODEL INPUTS OUTPUTS``, it imports nothing of nbfn, so that it proves
that the model stands by itself. INPUTS and OUTPUTS are ``.npz`` files: ``signature/name`` for
inputs and outputs, ``signature//number`` for the variables after the call, in the order of the
model's ``nbfn_variables`` list. Before each call a line on the standard output names it.
"""

from __future__ import annotations

import sys

import numpy as np
import tensorflow as tf

CALLING = "calling "
"""Begins the line that names a call."""


def replay(model: str, inputs: str, outputs: str) -> None:
    """Loads the model, calls each signature once from the saved state, and writes what came out."""
    loaded = tf.saved_model.load(model)
    variables = list(loaded.nbfn_variables)
    before = [variable.numpy() for variable in variables]
    given = np.load(inputs, allow_pickle=False)
    written: dict[str, np.ndarray] = {}
    for number, (name, function) in enumerate(loaded.signatures.items(), 1):
        print(f"{CALLING}{name} ({number} of {len(loaded.signatures)})", flush=True)  # noqa: T201
        prefix = f"{name}/"
        arguments = {
            key.removeprefix(prefix): tf.constant(given[key])
            for key in given.files
            if key.startswith(prefix)
        }
        if f"{name}//skip" in given.files:
            continue
        for key, value in function(**arguments).items():
            written[f"{name}/{key}"] = value.numpy()
        for index, (variable, value) in enumerate(zip(variables, before, strict=True)):
            written[f"{name}//{index}"] = variable.numpy()
            variable.assign(value)
    np.savez(outputs, **{key: plain(value) for key, value in written.items()})  # type: ignore[arg-type]


def plain(value: np.ndarray | bytes) -> np.ndarray:
    """Strings as fixed-width bytes, and bfloat16 as float32: what a file of arrays can hold."""
    array = np.asarray(value)
    if array.dtype == object:
        return array.astype("S")
    return array.astype(np.float32) if array.dtype.kind == "V" else array


if __name__ == "__main__":
    replay(*sys.argv[1:])
