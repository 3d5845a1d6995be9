"""A verification ends: by its time limit, by an interrupt at any moment, and with its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.export import replay, verification, verifier
from nbfn.sessions.export.verifier import VerificationError, Verifier
from nbfn.underway.work import under_way as works
from tests.harness.messages import raises
from tests.programs.environments import ROOT

ENDLESS = """
import sys, traceback
import tensorflow as tf, nbfn

def endless(x):
    while tf.abs(x - tf.round(x)) > 1e-9:
        x = x + 0.0
    return x

functions = {"plain": nbfn.function(endless), "xla": nbfn.function(endless, jit_compile=True)}
for each in functions.values():
    each(tf.constant(2.0))
for line in sys.stdin:
    try:
        print("exporting", flush=True)
        nbfn.export(sys.argv[1], functions[line.strip()], time_limit=600, keep_process=0)
    except BaseException:  # TensorFlow may make another error of it, which names it
        said = traceback.format_exc()
        print("interrupted" if "KeyboardInterrupt" in said else said, flush=True)
"""


def endless(x: Any) -> Any:
    while tf.abs(x - tf.round(x)) > 1e-9:
        x = x + 0.0
    return x


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Waits for what must come; how long that takes is the machine's affair."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def replays(of: int) -> list[psutil.Process]:
    """The fresh processes that a process has started."""

    def is_one(process: psutil.Process) -> bool:
        with suppress(psutil.NoSuchProcess):  # it has just ended
            return any("replay.py" in part for part in process.cmdline())
        return False

    return [each for each in psutil.Process(of).children(recursive=True) if is_one(each)]


class Exporting:
    """A process that exports functions which never end on the inputs that are drawn."""

    def __init__(self, folder: Path) -> None:
        self.out, self.files = folder / "out", folder / "files"
        for each in (self.out, self.files):
            each.mkdir()
        script = folder / "endless.py"  # AutoGraph reads it
        script.write_text(ENDLESS)
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(self.out / "model")],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.files)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def says(self) -> str:
        """Its next line."""
        assert self.process.stdout is not None
        late = threading.Timer(120, self.process.kill)
        late.start()
        line = self.process.stdout.readline()
        late.cancel()
        return line.strip()

    def export(self, function: str) -> None:
        """Has it begin an export."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{function}\n")
        self.process.stdin.flush()
        assert self.says() == "exporting"

    def called(self) -> psutil.Process:
        """The fresh process, when it runs the endless call."""
        until(lambda: bool(replays(self.process.pid)))
        (replay,) = replays(self.process.pid)
        until(lambda: is_calling(replay))
        return replay

    def interrupt(self) -> None:
        """Interrupts the export, which leaves nothing; another one can begin."""
        self.process.send_signal(signal.SIGINT)
        assert self.says() == "interrupted"
        assert list(self.out.iterdir()) == []


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Exporting]]:
    """Gives the one process of these tests; a new one if it has been killed."""
    started: list[Exporting] = []

    def one() -> Exporting:
        if not started or started[-1].process.poll() is not None:
            started.append(Exporting(tmp_path_factory.mktemp("exporting")))
        return started[-1]

    yield one
    for each in started:
        each.process.kill()
        each.process.communicate()


@pytest.fixture
def exporting(start: Callable[[], Exporting]) -> Exporting:
    return start()


def is_calling(process: psutil.Process) -> bool:
    """Whether a fresh process runs the endless call: it computes on and on."""
    return process.is_running() and process.cpu_percent(0.2) > 20 and process.num_threads() > 3


def test_a_call_that_does_not_end_is_skipped_and_the_others_are_compared(
    notebook, tmp_path
) -> None:
    def before(x):
        return x + 1

    def after(x):
        return x * 2

    functions = [nbfn.function(each) for each in (before, endless, after)]
    for each in functions:
        each(tf.constant(2.0))
    made = nbfn.export(tmp_path / "model", functions, time_limit=2)
    assert [(each.signature, each.status) for each in made.verified] == [
        ("before", "equal"),
        ("endless", "equal"),
        ("after", "equal"),
    ]
    assert made.verified[1].detail == (
        "with the inputs of a real call; largest difference 0; "
        "not with drawn inputs: its call did not end within 2 s"
    )
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_a_process_that_replaced_a_stopped_one_ends_too(notebook, tmp_path, monkeypatch) -> None:
    functions = [nbfn.function(each) for each in (endless, lambda x: x)]
    for each in functions:
        each(tf.constant(2.0))

    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(verification, "_call_here", interrupted)
    with pytest.raises(KeyboardInterrupt):
        nbfn.export(tmp_path / "model", functions, time_limit=1, keep_process=0)
    assert replays(os.getpid()) == []


def test_the_process_is_kept_for_the_next_verification(notebook, tmp_path) -> None:
    f = nbfn.function(lambda x: x + 1)
    f(tf.constant(2.0))
    exported = nbfn.export(tmp_path / "one", f, keep_process=600)
    assert exported.process_nbytes > 100e6  # TensorFlow is loaded in it
    (kept,) = replays(os.getpid())
    process = verifier.verifier()
    assert process._process.pid == kept.pid
    process.keep(600)
    assert nbfn.export(tmp_path / "two", f, keep_process=0).process_nbytes == 0
    assert replays(os.getpid()) == []


def test_a_process_that_nobody_needs_ends() -> None:
    Verifier().keep(0.1)
    assert len(replays(os.getpid())) == 1
    until(lambda: replays(os.getpid()) == [])


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_a_time_limit_is_a_number_of_seconds(notebook, tmp_path, seconds) -> None:
    f = nbfn.function(endless)
    f(tf.constant(2.0))
    with raises(nbfn.NbfnError):
        nbfn.export(tmp_path / "model", f, time_limit=seconds)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_never_loaded(notebook, tmp_path, monkeypatch) -> None:
    f = nbfn.function(lambda x: x)
    f(tf.constant(2.0))
    verifier.verifier().end()  # one that is kept for the next export is quick
    monkeypatch.setattr(verifier, "START_LIMIT", 0.1)
    with raises(VerificationError):
        nbfn.export(tmp_path / "model", f)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("function", ["plain", "xla"])
def test_an_interrupt_in_the_fresh_process_ends_it_too(exporting, function) -> None:
    exporting.export(function)
    replay = exporting.called()
    exporting.interrupt()
    until(lambda: not replay.is_running())


@pytest.mark.parametrize("after", [0.0, 0.3, 2.0])
def test_an_interrupt_at_any_moment_leaves_nothing(exporting, after) -> None:
    exporting.export("plain")
    time.sleep(after)
    started = replays(exporting.process.pid)
    exporting.interrupt()
    until(lambda: not any(each.is_running() for each in started))


def test_the_fresh_process_ends_with_the_one_that_started_it(exporting) -> None:
    exporting.export("plain")
    replay = exporting.called()
    assert list(exporting.files.glob("nbfn-verify-*"))
    exporting.process.kill()
    until(lambda: not replay.is_running() or replay.status() == psutil.STATUS_ZOMBIE)
    assert not list(exporting.files.glob("nbfn-verify-*"))


@pytest.fixture
def only_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the fresh process claim that the call has ended."""

    def verify(self, model, folder, tables, calls, time_limit, report):
        for call in calls:
            name = "output_0" if "signature" in call.what else "0"
            call.results = {name: np.float32(2.0)}

    monkeypatch.setattr(Verifier, "verify", verify)
    monkeypatch.setattr(verification, "_compare_state", lambda *_: None)


def test_a_call_here_that_does_not_end_is_skipped(notebook, tmp_path, only_here) -> None:
    f = nbfn.function(endless)
    f(tf.constant(2.0))
    (result,) = nbfn.export(tmp_path / "model", f, time_limit=0.5).verified
    assert result.detail.endswith("not with drawn inputs: its call did not end within 0.5 s")


def test_an_interrupt_of_a_call_here(notebook, tmp_path, only_here) -> None:
    f = nbfn.function(endless)
    f(tf.constant(2.0))

    def interrupt() -> None:
        until(lambda: any(each.step.startswith("calling endless here") for each in works()))
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        nbfn.export(tmp_path / "model", f)
    thread.join()
    assert list(tmp_path.iterdir()) == []


def test_variables_are_put_back_though_an_interrupt_comes_meanwhile(monkeypatch) -> None:
    variables = [tf.Variable(float(i)) for i in range(3)]
    put_back = []

    class Interrupting:
        def numpy(self):
            return np.float32(len(put_back))

        def read_value(self):
            return tf.constant(0.0)

        def assign(self, value):
            os.kill(os.getpid(), signal.SIGINT)
            put_back.append(value)

    state = replay.ModelState([variables[0], Interrupting(), *variables[1:]], [], [])
    put_back.append(tf.constant(1.0))

    def change() -> None:
        with verification._restoring(state, list(state.before)):
            for variable in variables:
                variable.assign(9.0)

    with pytest.raises(KeyboardInterrupt):
        change()
    assert [float(variable) for variable in variables] == [0.0, 1.0, 2.0]
    assert len(put_back) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
