"""Runs the signatures of a SavedModel in a process of its own.

Started as ``python replay.py MODEL INPUTS OUTPUTS``, it imports nothing of nbfn, so that it proves
that the model stands by itself.

INPUTS is an ``.npz`` file with the names of the signatures to call in ``//names``, and their inputs
in ``signature/name``. OUTPUTS is a folder that gets an ``.npz`` file for each call, ``1.npz`` for
the first: the outputs by name, and in ``/number`` the variables after the call, in the order of the
model's ``nbfn_variables`` list; if the call failed, its error in ``/error``.

Before each call a line on the standard output names it. The process ends when its standard input
does, and so with the process that has started it.
"""

from __future__ import annotations

import os
import sys
import threading

import numpy as np
import tensorflow as tf

CALLING = "calling "
"""Begins the line that names a call."""


def replay(model: str, inputs: str, outputs: str) -> None:
    """Loads the model, calls each signature once from the saved state, and writes what came out."""
    given = np.load(inputs, allow_pickle=False)
    names = [str(name) for name in given["//names"]]
    loaded = tf.saved_model.load(model)
    variables = list(loaded.nbfn_variables)
    before = [variable.numpy() for variable in variables]
    for number, name in enumerate(names, 1):
        print(f"{CALLING}{name} ({number} of {len(names)})", flush=True)  # noqa: T201
        prefix = f"{name}/"
        arguments = {
            key.removeprefix(prefix): tf.constant(given[key])
            for key in given.files
            if key.startswith(prefix)
        }
        try:
            results = loaded.signatures[name](**arguments)
            written = {key: value.numpy() for key, value in results.items()}
        except Exception as error:
            written = {"/error": np.array(str(error) or type(error).__name__)}
        for index, (variable, value) in enumerate(zip(variables, before, strict=True)):
            written[f"/{index}"] = variable.numpy()
            variable.assign(value)
        arrays = {key: plain(value) for key, value in written.items()}
        part = os.path.join(outputs, f"{number}.part.npz")
        np.savez(part, **arrays)  # type: ignore[arg-type]
        os.replace(part, os.path.join(outputs, f"{number}.npz"))


def end_with_the_process_that_started_this() -> None:
    """Ends this process as soon as its standard input ends, whatever it runs."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):  # without the lock of a file that Python reads
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def plain(value: np.ndarray | bytes) -> np.ndarray:
    """Strings as fixed-width bytes, and bfloat16 as float32: what a file of arrays can hold."""
    array = np.asarray(value)
    if array.dtype == object:
        return array.astype("S")
    return array.astype(np.float32) if array.dtype.kind == "V" else array


if __name__ == "__main__":
    end_with_the_process_that_started_this()
    replay(*sys.argv[1:])
