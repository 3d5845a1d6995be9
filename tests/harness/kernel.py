"""A real kernel for tests: cells go in, outputs and comm messages come out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from tests.harness import forked_kernels
from tests.programs.environments import HERE, Environment


@dataclass
class Reply:
    """What one cell did.

    Attributes:
        outputs: What stands under it.
        displays: What changes an output, this cell's or another's; and those that begin empty.
        comms: Messages of comms.
    """

    outputs: list[dict[str, Any]] = field(default_factory=list)
    displays: list[dict[str, Any]] = field(default_factory=list)
    comms: list[dict[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Streams, results and errors as plain text."""
        parts = []
        for content in self.outputs:
            parts.append(content.get("text", ""))
            parts.append(content.get("data", {}).get("text/plain", ""))
            parts.append("\n".join(content.get("traceback", [])))
        return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(part for part in parts if part))


class Kernel:
    """A running kernel and a client of it."""

    def __init__(self, client: Any, interrupt: Callable[[], Any]) -> None:
        self.client = client
        self.interrupt = interrupt

    def run(
        self,
        code: str,
        cell_id: str | None = None,
        timeout: float = 120,
        *,
        is_looked_at: bool = True,
        seen: Callable[[dict[str, Any]], None] | None = None,
    ) -> Reply:
        """Runs a cell to its end, as a page does, or as nbclient does, which nobody looks at.

        `seen` is called with each message that the cell sends.
        """
        message = self.client.session.msg(
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                **({} if is_looked_at else {"allow_stdin": False}),
            },
            metadata={"cellId": cell_id} if cell_id else {},
        )
        self.client.shell_channel.send(message)
        reply = Reply()
        while True:
            received = self.client.get_iopub_msg(timeout=timeout)
            kind, content = received["msg_type"], received["content"]
            if seen is not None:
                seen(received)
            if kind.startswith("comm_"):
                sent = received["header"]["date"].timestamp()
                reply.comms.append({"type": kind, "time": sent, **content})
            elif received["parent_header"].get("msg_id") != message["header"]["msg_id"]:
                continue
            elif kind == "status" and content["execution_state"] == "idle":
                return reply
            elif kind == "update_display_data" or (kind == "display_data" and not content["data"]):
                reply.displays.append(content)
            elif kind in ("stream", "display_data", "execute_result", "error"):
                last = reply.outputs[-1] if reply.outputs else {}
                if kind == "stream" and last.get("name") == content["name"]:
                    last["text"] += content["text"]  # one output, as in a notebook
                else:
                    reply.outputs.append(content)

    def comms(self, target: str) -> list[str]:
        """Ids of the kernel's open comms of a target."""
        message = self.client.session.msg("comm_info_request", {"target_name": target})
        self.client.shell_channel.send(message)
        while True:
            received = self.client.get_shell_msg(timeout=120)
            if received["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return list(received["content"]["comms"])

    def start(self, code: str) -> None:
        """Starts a cell, whose end nobody waits for."""
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        self.client.shell_channel.send(self.client.session.msg("execute_request", content))

    def start_subshell(self) -> str:
        """Starts a subshell, on which messages do not wait for cells; its id."""
        self.client.control_channel.send(self.client.session.msg("create_subshell_request", {}))
        reply: str = self.client.get_control_msg(timeout=120)["content"]["subshell_id"]
        return reply

    def send(self, kind: str, subshell: str | None = None, **content: Any) -> None:
        """Sends a comm message, as a page does."""
        message = self.client.session.msg(kind, content)
        if subshell is not None:
            message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)

    def received(self, comm_id: str | None = None, timeout: float = 120) -> dict[str, Any]:
        """The data of the next comm message on iopub, or of the next one of a comm."""
        while True:
            message = self.client.get_iopub_msg(timeout=timeout)
            if message["msg_type"] in ("comm_msg", "comm_close"):
                content = message["content"]
                if comm_id in (None, content["comm_id"]):
                    return {"kind": message["msg_type"], **content.get("data", {})}


@contextmanager
def running_kernel(
    environment: Environment = HERE, *, may_be_forked: bool = True
) -> Iterator[Kernel]:
    """Starts a kernel in an environment, and shuts it down at the end.

    A forked one has imported TensorFlow before its first cell.
    """
    manager = KernelManager()
    launch = [str(environment.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    if may_be_forked and environment is HERE:
        launch = forked_kernels.command() or launch
    manager._kernel_spec = KernelSpec(argv=launch, display_name="tested", language="python")
    manager.start_kernel(env=environment.variables)
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=120)
        yield Kernel(client, manager.interrupt_kernel)
    finally:
        client.stop_channels()
        # What is killed tells no coverage.
        manager.shutdown_kernel(now="COVERAGE_PROCESS_CONFIG" not in os.environ)
