"""Kernels that start in a moment: forked from a process that has imported TensorFlow already.

The hours need some ninety kernels. Starting one and importing TensorFlow in it takes six seconds,
forking one less than half a second. The parent has never run an operation, so that TensorFlow's own
threads begin in the child.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from tests.harness import forked_kernels
from tests.harness.kernel import Kernel


class HourKernel(Kernel):
    """A forked kernel, in a folder of its own.

    Attributes:
        folder: The folder where it runs, which is on its path.
    """

    def __init__(self, client: Any, process: socket.socket, folder: Path) -> None:
        super().__init__(client, lambda: process.send(bytes([signal.SIGINT])))
        self.folder = folder
        self._process = process

    def evaluate(self, expression: str) -> Any:
        """The value of an expression that gives JSON as text, without a cell being run for it."""
        message = self.client.session.msg(
            "execute_request",
            {
                "code": "",
                "silent": True,
                "store_history": False,
                "user_expressions": {"found": expression},
            },
        )
        self.client.shell_channel.send(message)
        while True:
            reply = self.client.get_shell_msg(timeout=120)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                break
        found = reply["content"]["user_expressions"]["found"]
        if found["status"] != "ok":
            raise RuntimeError("\n".join(found["traceback"]))
        return json.loads(ast.literal_eval(found["data"]["text/plain"]))

    def stop(self) -> None:
        """Ends the process."""
        self.client.stop_channels()
        self._process.close()


class Forks:
    """Kernels that are forked from the process of the hours."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._folder = Path(tempfile.mkdtemp(prefix="hours-"))
        self._count = 0

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def kernel(self, folder: Path | None, *, with_nbfn: bool) -> HourKernel:
        """Starts a kernel.

        Args:
            folder: Where it runs; None for a new folder.
            with_nbfn: Whether `nbfn` is what it is; else its functions leave code as it stands.
        """
        self._count += 1
        folder = folder or self._folder / str(self._count)
        folder.mkdir(exist_ok=True)
        file, _ = write_connection_file(
            str(self._folder / f"{self._count}.json"),
            ip=str(self._folder / f"{self._count}-ipc"),
            transport="ipc",
        )
        order = {"file": file, "folder": str(folder), "with_nbfn": with_nbfn}
        with open(os.devnull, "r+b") as nowhere, (self._folder / "log").open("ab") as log:
            descriptors = [nowhere.fileno(), nowhere.fileno(), log.fileno()]
            process = forked_kernels.fork(self._address, order, descriptors)
        client = BlockingKernelClient(connection_file=file)
        client.load_connection_file()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        return HourKernel(client, process, folder)


def load() -> None:
    """Imports what the kernels of hours need."""
    import ipykernel.debugger
    import ipykernel.kernelapp
    import keras
    import tensorflow as tf

    import nbfn.functions
    import nbfn.notebook.extension
    import nbfn.sessions.messages.feed
    import nbfn.views
    from tests.hours.playing import probe

    loaded = [
        ipykernel.debugger,
        ipykernel.kernelapp,
        keras.Sequential,
        tf.function,
        nbfn.functions,
        probe.values,
    ]
    assert all(loaded)
    gc.collect()
    gc.freeze()  # a collection in a kernel looks only at what its notebook has made


def become(file: str, folder: str, *, with_nbfn: bool) -> None:
    """Makes this process the kernel of an hour."""
    from ipykernel.kernelapp import IPKernelApp

    from tests.hours.playing import probe

    os.chdir(folder)
    sys.dont_write_bytecode = True  # which would hide edits of a module within one second
    # When it runs by itself depends on threads. In a process that has imported much it does so
    # seldom: whole cells go by with models that nobody has any more.
    gc.disable()
    probe.prepare(with_nbfn=with_nbfn)
    # It ends with the process that it was forked from.
    ending = f"--IPKernelApp.parent_handle={os.getppid()}"
    IPKernelApp.launch_instance(argv=["-f", file, ending, "--HistoryManager.enabled=False"])
    os._exit(0)


def interrupter(kernel: Kernel, printed: str) -> Callable[[dict[str, Any]], None]:
    """What interrupts a kernel shortly after it has printed a text."""
    found: list[bool] = []

    def look(message: dict[str, Any]) -> None:
        if not found and printed in message["content"].get("text", ""):
            found.append(True)
            threading.Timer(0.2, kernel.interrupt).start()

    return look
