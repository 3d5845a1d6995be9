"""Loads SavedModels and calls their functions, in a separate process.

Started as ``python replay.py``, it imports nothing of nbfn, which proves that the model is
self-contained. Each line of standard input requests one verification as JSON: the ``model``; a
``folder`` for files; the ``tables`` (number and dtypes of each); and the ``calls``. Each call is of
a ``signature`` by name, or of a ``function`` of the loaded object and the ``number`` of its trace,
and lists the variables and tables that it ``writes``. The inputs of the calls are the files
``0.in``, ``1.in`` and so on in the folder; the outputs are written to ``0.out`` and so on (see
`write`).

On standard output, a line announces each step, and ``done`` the end of a verification. The process
ends when its standard input is closed, and so together with its parent.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import queue
import shutil
import struct
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

READY, CALLING, FAILED, DONE = "ready", "calling ", "failed ", "done "
"""Prefixes of the lines on standard output."""

_LENGTH = struct.Struct("<Q")
_TensorProto = type(tf.make_tensor_proto(0))


def write(path: str, arrays: dict[str, Any]) -> None:
    """Writes tensors by name to a file, which appears only when it is complete."""
    with open(f"{path}.part", "wb") as file:
        for name, value in arrays.items():
            for part in (name.encode(), tf.make_tensor_proto(value).SerializeToString()):
                file.write(_LENGTH.pack(len(part)))
                file.write(part)
    os.replace(f"{path}.part", path)


def read(path: str) -> dict[str, np.ndarray]:
    """Reads a file of `write`."""

    def parts() -> Iterator[bytes]:
        while head := file.read(_LENGTH.size):
            yield file.read(_LENGTH.unpack(head)[0])

    with open(path, "rb") as file:
        each = parts()
        return {
            name.decode(): tf.make_ndarray(_TensorProto.FromString(data))
            # One iterator twice gives pairs; `strict` refuses a file that ends after a name.
            for name, data in zip(each, each, strict=True)
        }


def array_of(value: Any) -> np.ndarray:
    """Converts the result of a tensor's ``numpy()`` to an array."""
    # NumPy would convert bytes to an array of fixed width, and drop trailing zero bytes.
    return np.asarray(value, object if isinstance(value, bytes) else None)


def digest(value: Any) -> str:
    """Returns a digest that is equal only for bitwise equal tensors."""
    array = array_of(value)
    found = hashlib.blake2b(f"{array.dtype.name}{array.shape}".encode(), digest_size=16)
    if array.dtype == object:
        for text in array.ravel():
            # With the lengths, or else the texts `ab` and `c` would be equal to `a` and `bc`.
            found.update(_LENGTH.pack(len(text)) + text)
    else:
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def entries(handle: Any, dtypes: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the keys and values of a lookup table, sorted by key.

    A key that occurs more than once is omitted: it marks the empty buckets of a ``DenseHashTable``,
    whose values are uninitialised.
    """
    keys, values = _table_items(handle, dtypes)
    if not len(keys):
        return keys, values
    rows = keys.reshape(len(keys), -1)
    order = np.argsort(rows[:, 0], kind="stable") if rows.shape[1] == 1 else np.lexsort(rows.T)
    rows = rows[order]
    is_next = (rows[1:] == rows[:-1]).all(axis=1)
    order = order[~(np.append(is_next, False) | np.append(False, is_next))]
    return keys[order], values[order]


def _table_items(handle: Any, dtypes: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the keys and values of a lookup table in the order that it can import again.

    A ``DenseHashTable`` uses the order of imported keys as the order of its buckets.
    """
    keys, values = tf.raw_ops.LookupTableExportV2(
        table_handle=handle, Tkeys=tf.as_dtype(dtypes[0]), Tvalues=tf.as_dtype(dtypes[1])
    )
    return keys.numpy(), values.numpy()


class ModelState:
    """The variables and tables of a model, with copies of their values when created.

    Args:
        variables: The variables.
        tables: The handles of lookup tables.
        dtypes: The dtypes of each table's keys and values.

    Attributes:
        before: A digest of each variable (``/0``) and of each table's entries (``//0``).
    """

    def __init__(
        self, variables: Sequence[Any], tables: Sequence[Any], dtypes: Sequence[Sequence[str]]
    ) -> None:
        self._variables, self._tables, self._dtypes = list(variables), list(tables), dtypes
        self._values = [variable.read_value() for variable in self._variables]
        self._entries = [_table_items(*each) for each in zip(self._tables, dtypes, strict=True)]
        names = [f"/{number}" for number in range(len(self._variables))]
        names += [f"//{number}" for number in range(len(self._tables))]
        self.before = self._digests(names)

    def _current_values(self, name: str) -> dict[str, np.ndarray]:
        """Returns the current values of a variable or table."""
        number = int(name.strip("/"))
        if not name.startswith("//"):
            return {name: self._variables[number].numpy()}
        keys, values = entries(self._tables[number], self._dtypes[number])
        return {f"{name}/keys": keys, f"{name}/values": values}

    def _digests(self, names: Sequence[str]) -> dict[str, str]:
        return {name: "".join(map(digest, self._current_values(name).values())) for name in names}

    def changes(self, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
        """Returns the values of those (or all) that have changed, and restores the copies."""
        looked_at = list(self.before) if names is None else names
        changed = [n for n, now in self._digests(looked_at).items() if now != self.before[n]]
        found = {
            key: value for name in changed for key, value in self._current_values(name).items()
        }
        for name in changed:
            number = int(name.strip("/"))
            if name.startswith("//"):
                keys, values = self._entries[number]
                tf.raw_ops.LookupTableImportV2(
                    table_handle=self._tables[number],
                    keys=tf.constant(keys, self._dtypes[number][0]),
                    values=tf.constant(values, self._dtypes[number][1]),
                )
            else:
                self._variables[number].assign(self._values[number])
        return found


def call(function: Any, inputs: Sequence[Any]) -> dict[str, np.ndarray]:
    """Calls a concrete function of any structure with its tensors in order.

    Returns:
        The tensors of its results in order, by number.
    """
    values = iter(inputs)
    signature = function.structured_input_signature
    flat = [
        tf.constant(next(values), spec.dtype) if isinstance(spec, tf.TensorSpec) else spec
        for spec in tf.nest.flatten(signature, expand_composites=True)
    ]
    args, kwargs = tf.nest.pack_sequence_as(signature, flat, expand_composites=True)
    results = tf.nest.flatten(function(*args, **kwargs), expand_composites=True)
    return {str(i): each.numpy() for i, each in enumerate(results) if hasattr(each, "numpy")}


def replay(asked: dict[str, Any]) -> None:
    """Loads a model, makes the requested calls, each from the saved state, and writes results."""
    folder = asked["folder"]
    loaded = tf.saved_model.load(asked["model"])
    handles = [loaded.nbfn_resources[number].resource_handle for number, _ in asked["tables"]]
    state = ModelState(loaded.nbfn_variables, handles, [dtypes for _, dtypes in asked["tables"]])
    with open(os.path.join(folder, "state.json"), "w") as file:
        json.dump(state.before, file)
    for number, what in enumerate(asked["calls"]):
        print(f"{CALLING}{number}", flush=True)  # noqa: T201
        path = os.path.join(folder, str(number))
        inputs = read(f"{path}.in")
        try:
            if "signature" in what:
                function = loaded.signatures[what["signature"]]
                named = {name: tf.constant(value) for name, value in inputs.items()}
                results = {name: v.numpy() for name, v in function(**named).items()}
            else:
                function = getattr(loaded, what["function"]).concrete_functions[what["number"]]
                results = call(function, list(inputs.values()))
        except Exception as error:
            results = {"/error": np.array(str(error) or type(error).__name__, dtype=object)}
        write(f"{path}.out", results | state.changes(what["writes"]))
    if state.changes():
        raise RuntimeError("a call has changed what it does not write")


def _requests() -> Iterator[dict[str, Any]]:
    """Yields requests; ends the process when standard input is closed, even during a call."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    folder = ""

    def listen() -> None:
        rest = b""
        while data := os.read(sys.stdin.fileno(), 65536):  # without a buffer's lock
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                lines.put(line)
        shutil.rmtree(folder, ignore_errors=True)  # the parent was killed and cannot do it
        # `sys.exit` would end this thread only, while the main thread may be in a call.
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        asked = json.loads(lines.get())
        folder = asked["folder"]
        yield asked


def main() -> None:
    """Handles requests until standard input is closed."""
    print(READY, flush=True)  # noqa: T201
    for asked in _requests():
        try:
            replay(asked)
        except Exception as error:
            message = " ".join((str(error) or type(error).__name__).split())
            print(f"{FAILED}{message}", flush=True)  # noqa: T201
        gc.collect()
        print(f"{DONE}{_resident()}", flush=True)  # noqa: T201


def _resident() -> int:
    """Returns the resident memory of this process in bytes; 0 if unknown."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


if __name__ == "__main__":
    main()
