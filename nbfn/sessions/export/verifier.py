"""The process in which exported models are loaded and called; it never outlives the kernel."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nbfn.errors import NbfnError
from nbfn.functions.calls.interruption import uninterrupted
from nbfn.sessions.export import replay

START_LIMIT = 600.0
"""Seconds within which the process must start, and load a model."""

Arrays = Mapping[str, np.ndarray]


class VerificationError(NbfnError, AssertionError):
    """Raised if an exported model computes something else than the notebook or cannot be loaded."""


@dataclass
class VerificationCall:
    """One call for the process to make.

    Attributes:
        label: Name for messages.
        what: The signature, or the function and the number of its trace; see `replay`.
        inputs: The tensors by name, in order.
        results: The outputs by name; None if the call has not returned.
        is_late: Whether it was stopped because it took too long.
    """

    label: str
    what: dict[str, Any]
    inputs: Arrays
    results: Arrays | None = None
    is_late: bool = False


class Verifier:
    """A verification process, which is kept for a while for the next export.

    Attributes:
        nbytes: Its memory after the last verification.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self._timer: threading.Timer | None = None
        self._start()

    def _start(self) -> None:
        self._is_busy = False
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        # A file: a pipe that nobody reads would block the process once it is full.
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, replay.__file__],
            env={
                **os.environ,
                # The model must run without the modules of the user.
                "PYTHONPATH": "",
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "CUDA_VISIBLE_DEVICES": "-1",  # the kernel's process occupies the GPUs
            },
            cwd=tempfile.gettempdir(),
            stdin=subprocess.PIPE,  # the process ends with this pipe, even if the kernel is killed
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C reaches only the kernel, which then ends the process
        )
        output = self._process.stdout, self._lines
        # On a thread, because reading a pipe has no time limit.
        threading.Thread(target=_listen, args=output, daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """Whether it can verify another model."""
        return self._process.poll() is None

    def restart(self) -> None:
        """Replaces the process by another one."""
        with uninterrupted():  # an interrupt could leave an unreferenced process
            self.end()
            self._start()

    def end(self) -> None:
        """Ends the process."""
        if self._timer is not None:
            self._timer.cancel()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream is not None
            stream.close()

    def keep(self, seconds: float) -> None:
        """Keeps the process for the next export, or ends it now if it cannot be used again."""
        global _kept
        if seconds <= 0 or self._is_busy or not self.is_alive:
            self.end()
            return
        with _lock:
            other, _kept = _kept, self
        if other is not None:
            other.end()
        self._timer = threading.Timer(seconds, self._end_unless_taken)
        # Otherwise Python would wait for it on exit.
        self._timer.daemon = True
        self._timer.start()

    def _end_unless_taken(self) -> None:
        global _kept
        with _lock:
            if _kept is not self:
                return
            _kept = None
        self.end()

    def verify(
        self,
        model: Path,
        folder: Path,
        tables: Sequence[Any],
        calls: Sequence[VerificationCall],
        time_limit: float,
        report: Callable[[str], None],
    ) -> dict[str, str]:
        """Loads a model and makes calls, each from the saved state.

        Args:
            model: Folder of the SavedModel.
            folder: An empty folder for files.
            tables: The number of each table, and the dtypes of its keys and values.
            calls: The calls, whose `results` are set. If one takes too long, the process is killed
                and later calls get no results.
            time_limit: Seconds for each call.
            report: Called with a description of each step.

        Returns:
            A digest of each variable and table after loading.

        Raises:
            VerificationError: If the model cannot be loaded.
        """
        for number, call in enumerate(calls):
            replay.write(str(folder / f"{number}.in"), dict(call.inputs))
        asked = {
            "model": str(model.absolute()),
            "folder": str(folder),
            "tables": tables,
            "calls": [call.what for call in calls],
        }
        running: VerificationCall | None = None
        failure: str | None = None
        self._is_busy = True
        limit, is_ready = START_LIMIT, self._write(asked)
        while is_ready:
            try:
                line = self._lines.get(timeout=limit)
            except queue.Empty:
                self._process.kill()
                self._process.wait()
                if running is None:
                    raise VerificationError(
                        f"the exported model was not loaded by a fresh process within {limit:g} s"
                    ) from None
                running.is_late = True
                break
            if line is None:
                break
            if line.startswith(replay.CALLING):
                running, limit = calls[int(line.removeprefix(replay.CALLING))], time_limit
                report(f"calling {running.label} in a fresh process")
            elif line.startswith(replay.FAILED):
                failure = line.removeprefix(replay.FAILED)[:300]
            elif line.startswith(replay.DONE):
                self.nbytes, self._is_busy = int(line.removeprefix(replay.DONE)), False
                break
        if failure is not None:
            raise VerificationError(
                f"the exported model does not run in a fresh process: {failure}"
            )
        for number, call in enumerate(calls):
            if (folder / f"{number}.out").exists():
                call.results = replay.read(str(folder / f"{number}.out"))
        if not (folder / "state.json").exists():
            raise VerificationError(
                f"the exported model does not run in a fresh process: {self._last_error_line()}"
            )
        found: dict[str, str] = json.loads((folder / "state.json").read_text())
        return found

    def _write(self, asked: Any) -> bool:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
        except OSError:
            return False
        return True

    def _last_error_line(self) -> str:
        self._process.kill()
        self._process.wait()
        self._errors.seek(0)
        return (self._errors.read().strip().splitlines() or ["it ended without a message"])[-1]


def _listen(output: Any, lines: queue.SimpleQueue[str | None]) -> None:
    for line in output:
        lines.put(line.rstrip("\n"))
    lines.put(None)


_kept: Verifier | None = None
_lock = threading.Lock()


def verifier() -> Verifier:
    """Returns the kept process, or a new one."""
    global _kept
    with _lock:
        idle, _kept = _kept, None
    if idle is not None:
        if idle._timer is not None:
            idle._timer.cancel()
        if idle.is_alive:
            return idle
        idle.end()
    return Verifier()
