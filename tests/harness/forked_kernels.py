"""Kernels that Jupyter starts in a moment: forked from one process that has imported TensorFlow.

A kernel specification names this file as a program. It asks the process for a kernel, passes
signals on, and ends with it. Importing TensorFlow takes four seconds of processor time, which
nearly every test in a browser would spend. The process has never run an operation, so that
TensorFlow's own threads begin in the kernel. Only Linux has what it needs.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__)
ORDER = 200_000
"""Largest size of an order in bytes: the arguments and the environment of a kernel."""


class ForkedKernels:
    """The process that kernels are forked from.

    Attributes:
        command: What starts a kernel, for the `argv` of a kernel specification.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        """Starts the process; its socket and its log are in the folder."""
        address = str(folder / "kernels")
        # What site.py would load is in the process already.
        start = [sys.executable, "-I", "-S", str(PROGRAM), "start", address]
        self.command = [*start, "-f", "{connection_file}"]
        with (folder / "kernels.log").open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM), "serve", address],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def stop(self) -> None:
        """Ends the process, and its kernels with it."""
        self._process.communicate()


def start(address: str, arguments: list[str]) -> int:
    """Starts a kernel; returns its exit code when it has ended."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as process:
        while process.connect_ex(address) != 0:  # it is still importing
            time.sleep(0.1)
        order = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: process.send(bytes([number])))
        socket.send_fds(process, [json.dumps(order).encode()], [0, 1, 2])
        code = process.recv(1)
    return code[0] if code else 1


class Server:
    """Forks kernels and watches over them.

    Attributes:
        order: In a kernel that has just been forked: what it was asked to be.
    """

    def __init__(self, address: str) -> None:
        self.order: dict[str, Any] | None = None
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
        pid = os.fork()
        if pid == 0:
            for target, descriptor in enumerate(descriptors):
                os.dup2(descriptor, target)
                os.close(descriptor)
            for each in (connection, self._listener, self._selector):
                each.close()
            self.order = json.loads(order)
            return
        for descriptor in descriptors:
            os.close(descriptor)
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


def main(command: str, address: str, *arguments: str) -> None:
    """Starts a kernel, or serves kernels."""
    if command == "start":
        sys.exit(start(address, list(arguments)))
    import ipykernel.kernelapp
    import keras
    import numpy as np
    import tensorflow as tf

    assert all((ipykernel.kernelapp, keras.Sequential, tf.function))
    server = Server(address)
    server.serve()
    order = server.order
    assert order is not None
    os.setsid()
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    np.random.seed()  # the standard library does this for its own
    sys.argv = ["ipykernel_launcher.py", *order["arguments"]]
    runpy.run_module("ipykernel_launcher", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file
    main(*sys.argv[1:])
