"""The fresh process in which an exported model is called, and which always ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nbfn.errors import NbfnError
from nbfn.sessions.export.replay import CALLING
from nbfn.work import Work

START_LIMIT = 600.0
"""Seconds in which the process must have started and loaded the model."""

Arrays = dict[str, np.ndarray]


class VerificationError(NbfnError, AssertionError):
    """An exported model computes something else than the notebook, or cannot be loaded."""


def run_there(
    model: Path, inputs: Mapping[str, Mapping[str, np.ndarray]], work: Work, time_limit: float
) -> dict[str, Arrays | str]:
    """Calls signatures of a model in a process of its own, each from the saved state.

    Args:
        model: Folder of the SavedModel.
        inputs: The arguments by name, by signature.
        work: Is told what is being called.
        time_limit: Seconds that a call may take. One that takes longer is ended with its process;
            another process calls the signatures that are left.

    Returns:
        For each signature whose call has ended: what came out, by the names of the outputs and, for
        the variables after it, by ``/number``; or the error that it ended with.

    Raises:
        VerificationError: If the model cannot be loaded.
    """
    found: dict[str, Arrays | str] = {}
    waiting = dict(inputs)
    while waiting:
        with tempfile.TemporaryDirectory(prefix="nbfn-verify-") as folder:
            written, stopped_in = _run(model, waiting, Path(folder), work, time_limit)
        found |= written
        waiting = {n: v for n, v in waiting.items() if n not in written and n != stopped_in}
    return found


def _run(
    model: Path,
    inputs: Mapping[str, Mapping[str, np.ndarray]],
    folder: Path,
    work: Work,
    time_limit: float,
) -> tuple[dict[str, Arrays | str], str | None]:
    """Calls the signatures in one process; what came out, and the call in which it was ended."""
    given = {f"{name}/{key}": v for name, each in inputs.items() for key, v in each.items()}
    arrays = {"//names": np.array(list(inputs)), **given}
    np.savez(folder / "inputs.npz", **arrays)  # type: ignore[arg-type]
    script = Path(__file__).with_name("replay.py")
    errors = folder / "errors.txt"
    calling, is_late = None, threading.Event()
    with (
        errors.open("w") as file,
        subprocess.Popen(
            [sys.executable, str(script), str(model.absolute()), "inputs.npz", "."],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": ""},
            cwd=folder,
            stdin=subprocess.PIPE,  # its end ends the process, also if this one is killed
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            errors="replace",
            start_new_session=True,  # an interrupt is for this process, which ends that one
        ) as process,
    ):

        def end() -> None:
            is_late.set()
            process.kill()

        assert process.stdout is not None
        timer = threading.Timer(START_LIMIT, end)
        try:
            timer.start()
            for line in process.stdout:
                if line.startswith(CALLING):
                    timer.cancel()
                    calling = line.removeprefix(CALLING).rpartition(" (")[0]
                    work.step = f"{line.strip()} in a fresh process"
                    timer = threading.Timer(time_limit, end)
                    timer.start()
            status = process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
    if is_late.is_set() and calling is None:
        raise VerificationError(
            f"the exported model was not loaded by a fresh process within {START_LIMIT:g} s"
        )
    if status != 0 and not is_late.is_set():
        said = errors.read_text(errors="replace").strip().splitlines()
        reason = (said or ["no message"])[-1]
        raise VerificationError(f"the exported model does not run in a fresh process: {reason}")
    return _read(folder, list(inputs)), calling if is_late.is_set() else None


def _read(folder: Path, names: list[str]) -> dict[str, Arrays | str]:
    found: dict[str, Arrays | str] = {}
    for number, name in enumerate(names, 1):
        outputs = folder / f"{number}.npz"
        if outputs.exists():
            with np.load(outputs, allow_pickle=False) as file:
                read = dict(file)
            found[name] = str(read["/error"]) if "/error" in read else read
    return found
