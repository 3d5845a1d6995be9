"""Kernels and programs that start in a moment: forked from a process that has imported TensorFlow.

All processes of a run of pytest use the same one, which imports what kernels need when it is asked
for the first. A kernel specification names this file as a program. It asks the process for a
kernel, passes signals on, and ends with it. Importing TensorFlow takes four seconds of processor
time, which nearly every test of a kernel would spend. The process has never run an operation, so
that TensorFlow's own threads begin in the kernel. Only Linux has what it needs.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__)
ROOT = PROGRAM.parents[2]
ORDER = 200_000
"""Largest size of an order in bytes: the arguments and the environment of a kernel."""
_FOLDER = "NBFN_FORKED_KERNELS"
_KINDS = {"notebooks": "tests.harness.forked_kernels", "hours": "tests.hours.playing.kernels"}
"""The module of each kind of kernel: `load` imports what it needs, `become` makes a process it."""


class ForkingProcesses:
    """The processes that kernels are forked from, one for each kind, for a whole run of pytest."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kernels-"))
        self._processes = [self._start(kind) for kind in _KINDS]
        specification = self._folder / "share" / "kernels" / "python3" / "kernel.json"
        specification.parent.mkdir(parents=True)
        os.environ[_FOLDER] = str(self._folder)
        named = {"display_name": "Python 3 (ipykernel)", "language": "python"}
        specification.write_text(json.dumps({"argv": command(), **named}))

    def _start(self, kind: str) -> subprocess.Popen[bytes]:
        others = ("JUPYTER", "JPY", "PYTEST")
        environment = {
            name: text for name, text in os.environ.items() if not name.startswith(others)
        }
        environment["PYTHONPATH"] = str(ROOT)
        if kind == "hours":
            environment["PYTHONHASHSEED"] = "0"
        with (self._folder / f"{kind}.log").open("w") as log:
            return subprocess.Popen(
                [sys.executable, str(PROGRAM), "serve", str(self._folder / kind), _KINDS[kind]],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def stop(self) -> None:
        """Ends the processes, and their kernels with them; else they end with this one."""
        del os.environ[_FOLDER]
        for process in self._processes:
            process.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)


def are_wanted() -> bool:
    """Whether a run of pytest is to have such processes: what is killed tells no coverage."""
    return (
        sys.platform == "linux"
        and _FOLDER not in os.environ
        and "COVERAGE_PROCESS_CONFIG" not in os.environ
    )


def specifications() -> str | None:
    """A folder for ``JUPYTER_PATH`` with the kernel ``python3``; None if kernels are not forked."""
    folder = os.environ.get(_FOLDER)
    return None if folder is None else os.path.join(folder, "share")


def command() -> list[str] | None:
    """What starts a kernel, for the `argv` of a kernel specification; None without the process."""
    start = _start()
    return start and [*start, "-f", "{connection_file}"]


def command_of(program: Path, *arguments: str) -> list[str]:
    """What runs a program in a process that has imported TensorFlow, or must do so itself."""
    return [*(_start() or [sys.executable]), str(program), *arguments]


def _start() -> list[str] | None:
    if (folder := os.environ.get(_FOLDER)) is None:
        return None
    # What site.py would load is in the process already.
    return [sys.executable, "-I", "-S", str(PROGRAM), "start", os.path.join(folder, "notebooks")]


def address_of(kind: str) -> str | None:
    """Where to ask for a kernel of a kind."""
    folder = os.environ.get(_FOLDER)
    return None if folder is None else os.path.join(folder, kind)


def fork(address: str, order: dict[str, Any], descriptors: Sequence[int]) -> socket.socket:
    """Asks for a kernel, and waits until it begins.

    Args:
        address: Of the process that it is forked from.
        order: What `become` of the kind is given.
        descriptors: Its standard input, output and errors.

    Returns:
        What takes numbers of signals and tells the exit code; the kernel ends when it is closed.
    """
    process = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end = time.monotonic() + 60
    while process.connect_ex(address) != 0:  # it is just starting
        if time.monotonic() > end:
            raise TimeoutError(address)
        time.sleep(0.05)
    socket.send_fds(process, [json.dumps(order).encode()], list(descriptors))
    if not process.recv(1):
        raise RuntimeError(f"the process at {address} has ended")
    return process


def start(address: str, arguments: list[str]) -> int:
    """Starts a kernel; returns its exit code when it has ended."""
    order = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
    with fork(address, order, [0, 1, 2]) as process:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: process.send(bytes([number])))
        code = process.recv(1)
    return code[0] if code else 1


class Server:
    """Forks kernels and watches over them.

    Attributes:
        order: In a kernel that has just been forked: what it was asked to be.
    """

    def __init__(self, address: str, module: str) -> None:
        self.order: dict[str, Any] | None = None
        self._module = module
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(address)
        self._listener.listen()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._fork)
        self._selector.register(sys.stdin, selectors.EVENT_READ, self._stop)
        self._kernels: dict[int, tuple[socket.socket, int]] = {}
        """The connection and the descriptor of each kernel's process, by its id."""

    def serve(self) -> None:
        """Returns in each kernel."""
        while self.order is None:
            for key, _ in self._selector.select():
                key.data()
                if self.order is not None:
                    return

    def _fork(self) -> None:
        connection, _ = self._listener.accept()
        order, descriptors, _, _ = socket.recv_fds(connection, ORDER, 3)
        if not order:  # the client has ended
            connection.close()
            return
        if self._module not in sys.modules:
            importlib.import_module(self._module).load()
        pid = os.fork()
        if pid == 0:
            for target, descriptor in enumerate(descriptors):
                os.dup2(descriptor, target)
                os.close(descriptor)
            for other, process in self._kernels.values():
                other.close()
                os.close(process)
            for each in (connection, self._listener, self._selector):
                each.close()
            self.order = json.loads(order)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        with contextlib.suppress(OSError):  # the client has ended
            connection.send(b"!")
        process = os.pidfd_open(pid)
        self._kernels[pid] = connection, process
        self._selector.register(connection, selectors.EVENT_READ, partial(self._pass_on, pid))
        self._selector.register(process, selectors.EVENT_READ, partial(self._end, pid))

    def _pass_on(self, pid: int) -> None:
        """Passes a signal on; who asked for the kernel may have been killed."""
        if pid not in self._kernels:
            return
        connection, _ = self._kernels[pid]
        signals = connection.recv(1)
        os.kill(pid, signals[0] if signals else signal.SIGKILL)
        if not signals:
            self._selector.unregister(connection)

    def _end(self, pid: int) -> None:
        connection, process = self._kernels.pop(pid)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):
            connection.send(bytes([os.waitstatus_to_exitcode(status) & 255]))
        with contextlib.suppress(KeyError):
            self._selector.unregister(connection)
        self._selector.unregister(process)
        connection.close()
        os.close(process)

    def _stop(self) -> None:
        for pid in self._kernels:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)


def load() -> None:
    """Imports what the kernels of notebooks need."""
    # ipykernel says so too, but Keras imports Matplotlib before.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    import ipykernel.kernelapp
    import keras
    import tensorflow as tf

    assert all((ipykernel.kernelapp, keras.Sequential, tf.function))
    gc.collect()
    gc.freeze()  # a collection in a kernel looks only at what its notebook has made


def become(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Makes this process the kernel of a notebook, or a program's."""
    import numpy as np
    from tensorflow.python.ops import logging_ops

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    np.random.seed()  # the standard library does this for its own
    if arguments[0] == "-f":
        logging_ops.enable_interactive_logging()  # as where TensorFlow is imported in a kernel
        sys.argv = ["ipykernel_launcher.py", *arguments]
        sys.path.insert(0, "")  # as `python -m` has it; the launcher removes it
        runpy.run_module("ipykernel_launcher", run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, str(Path(arguments[0]).parent))
        runpy.run_path(arguments[0], run_name="__main__")
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)  # taking all modules apart takes a second of processor time


def main(command: str, address: str, *arguments: str) -> None:
    """Starts a kernel, or serves kernels of a module's kind."""
    if command == "start":
        sys.exit(start(address, list(arguments)))
    (module,) = arguments
    server = Server(address, module)
    server.serve()
    assert server.order is not None
    sys.modules[module].become(**server.order)


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file
    main(*sys.argv[1:])
