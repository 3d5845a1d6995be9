"""Runs a notebook in its own kernel, with requests to the agent between cells."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import tempfile
import time
from pathlib import Path
from queue import Empty
from typing import IO, Any

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from nbfn import protocol
from nbfn.command.notebook_run import NotebookCell, NotebookFailure, NotebookRun
from nbfn.command.outcome import CommandError, Exit
from nbfn.notebook.progress_display import DISPLAY
from nbfn.package import __version__

REPLY_TIMEOUT = 10.0
"""Seconds in which an interrupted kernel must send its last answers."""

_AGENT = "__import__('nbfn.command.agent', fromlist=['_'])"
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LAST_WORDS = 20


class _Client(NotebookClient):
    """Also records nbfn's display of running work."""

    doing = ""

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
        content = msg["content"]
        display = (content.get("transient") or {}).get("display_id") or ""
        if display.startswith(DISPLAY):
            self.doing = content.get("data", {}).get("text/plain", "")
        return super().process_message(msg, cell, cell_index)


class Execution:
    """Runs a notebook.

    Args:
        notebook: The notebook, whose cells get their outputs.
        record: The record to update.
        folder: Folder in which the kernel runs.
        timeout: Maximum seconds for a cell.

    Raises:
        CommandError: If the kernel does not exist or is not a Python kernel.
    """

    def __init__(
        self, notebook: NotebookNode, record: NotebookRun, folder: Path, timeout: int | None
    ) -> None:
        self._record = record
        self._folder = folder
        _check_kernel(record.kernel)
        quiet = logging.getLogger("nbfn.command")
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False
        self._client = _Client(
            notebook,
            log=quiet,
            kernel_name=record.kernel,
            timeout=timeout,
            store_widget_state=False,
            record_timing=False,
        )
        self._manager: Any = None
        # A file: a pipe that nobody reads would block the kernel once it is full.
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - `end` closes it
        self._ready = 0
        self._group: int | None = None

    @property
    def doing(self) -> str:
        """What the kernel reports as running work, in one line; empty if nothing takes long."""
        return " ".join(self._client.doing.split())

    # The kernel ---------------------------------------------------------------------------

    async def start(self) -> None:
        """Starts the kernel and loads nbfn into it.

        Raises:
            CommandError: If the kernel does not start, or has no nbfn or another version.
        """
        self._manager = self._client.create_kernel_manager()
        self._manager.log = self._client.log
        try:
            await self._client.async_start_new_kernel(
                cwd=str(self._folder), stdout=self._output, stderr=self._output
            )
            # Of `LocalProvisioner` (jupyter_client). Others start no process on this machine.
            self._group = getattr(self._manager.provisioner, "pgid", None)
            await self._client.async_start_new_kernel_client()
        except (RuntimeError, OSError) as error:
            words = self._last_output_lines()[-1:] or [str(error)]
            raise CommandError(
                f"the kernel `{self._record.kernel}` does not start: {words[0]}", Exit.KERNEL_DIED
            ) from None
        try:
            found = await self._ask("begin()")
        except _NoAnswerError as error:
            # The `repr` of a text, with its quotes.
            executable = await self._evaluate("__import__('sys').executable", "text/plain")
            missing = error.name in ("ModuleNotFoundError", "ImportError")
            raise CommandError(
                f"the kernel `{self._record.kernel}` has no nbfn {__version__} ({error}); install "
                f"it there: {executable.strip(chr(39))} -m pip install --upgrade nbfn"
                if missing
                else f"nbfn cannot be loaded into the kernel `{self._record.kernel}`: {error}"
            ) from None
        if found["protocol"] != protocol.PROTOCOL:
            raise CommandError(
                f"the kernel `{self._record.kernel}` has nbfn {found['nbfn']}, this is nbfn "
                f"{__version__}; install the same version in both"
            )
        self._record.nbfn = found["nbfn"]
        self._ready = self._output.seek(0, os.SEEK_END)

    async def end(self) -> None:
        """Ends the kernel, whatever it does; after a failure also processes of its cells."""
        if self._client.kc is not None:
            self._client.kc.stop_channels()
        if self._manager is not None:
            with contextlib.suppress(RuntimeError):  # it has already ended
                await self._manager.shutdown_kernel()
        if self._group is not None and self._record.failure is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, signal.SIGKILL)
        self._output.close()

    async def interrupt(self) -> None:
        """Interrupts the kernel and collects its last changes."""
        if self._client.kc is None:
            return
        with contextlib.suppress(RuntimeError, DeadKernelError, _NoAnswerError, TimeoutError):
            await self._manager.interrupt_kernel()
            await asyncio.wait_for(self.collect(), REPLY_TIMEOUT)

    def _last_output_lines(self, start: int = 0) -> list[str]:
        """Returns the last lines written by the kernel's process after a position."""
        self._output.seek(start)
        text = self._output.read().decode(errors="replace")
        return [line for line in text.splitlines() if line.strip()][-_LAST_WORDS:]

    # Cells and questions --------------------------------------------------------------------

    async def run(self, index: int, cell: NotebookCell) -> NotebookFailure | None:
        """Runs one cell of the notebook; returns a failure that prevents the next cells."""
        node = self._client.nb.cells[index]
        node.execution_count, node.outputs = None, []
        self._client.doing = ""
        started = time.perf_counter()
        failure = None
        try:
            await self._client.async_execute_cell(node, index)
        except CellTimeoutError:
            failure = NotebookFailure(
                Exit.TIMEOUT, f"took longer than the {self._client.timeout} s of --timeout"
            )
        except DeadKernelError:
            task = asyncio.current_task()
            # `nbclient` reports a cancellation as a dead kernel.
            if task is not None and task.cancelling():
                raise asyncio.CancelledError from None
            failure = self.death(cell)
            failure.details = "\n".join(
                [*_printed_lines(node)[-_LAST_WORDS:], failure.details]
            ).strip()
        except CellExecutionError as error:
            sentence = " ".join(_plain(f"{error.ename}: {error.evalue}").split())
            failure = NotebookFailure(
                Exit.CELL_FAILED, sentence, details=_traceback(node) or sentence
            )
        finally:
            cell.seconds = time.perf_counter() - started
            cell.execution_count = node.execution_count
        if failure is None:
            errors = (each.ename for each in node.outputs if each.output_type == "error")
            cell.allowed_error = next(errors, None)
        else:
            failure.cell = cell
            if failure.exit is Exit.TIMEOUT:
                await self.interrupt()
        return failure

    async def collect(self) -> list[protocol.RetraceRecord]:
        """Collects the changes of the session, and returns the new retraces."""
        return self._record.collected.take(await self._ask("take_changes()"))

    async def export(self, path: Path, overwrite: bool, strict: bool) -> dict[str, Any]:
        """Exports the session; returns the agent's answer."""
        return await self._ask(f"export({str(path)!r}, {overwrite}, {strict})")

    async def _ask(self, call: str) -> dict[str, Any]:
        """Calls a function of the agent in the kernel."""
        answer: dict[str, Any] = await self._evaluate(f"{_AGENT}.{call}", "application/json")
        return answer

    async def _evaluate(self, expression: str, mime: str) -> Any:
        client = self._client.kc
        assert client is not None
        sent = client.execute("", silent=True, user_expressions={"it": expression})
        while True:
            try:
                # A kernel that has died sends no answer, so it is looked at each second.
                reply = await client.get_shell_msg(timeout=1)
            except Empty:
                if not await self._manager.is_alive():
                    raise DeadKernelError("Kernel died") from None
                continue
            if reply["parent_header"].get("msg_id") == sent:
                break
        answer = reply["content"].get("user_expressions", {}).get("it", {})
        if mime not in answer.get("data", {}):
            raise _NoAnswerError(answer.get("ename", ""), answer.get("evalue", "no answer"))
        return answer["data"][mime]

    def death(self, cell: NotebookCell | None) -> NotebookFailure:
        """Returns the failure for a dead kernel, with the last lines of its process."""
        words = "\n".join(self._last_output_lines(self._ready))
        return NotebookFailure(Exit.KERNEL_DIED, "the kernel died", cell, words)


class _NoAnswerError(Exception):
    """Raised if the kernel could not evaluate an expression; contains its error."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}" if name else message)
        self.name = name


def _check_kernel(name: str) -> None:
    kernels = KernelSpecManager()
    try:
        language = kernels.get_kernel_spec(name).language
    except NoSuchKernel:
        there = ", ".join(sorted(kernels.find_kernel_specs())) or "none"
        raise CommandError(
            f"there is no kernel `{name}`; choose an installed one with --kernel: {there}"
        ) from None
    if language.lower() != "python":
        raise CommandError(
            f"the kernel `{name}` runs {language}; give a Python kernel with --kernel"
        )


def _traceback(node: NotebookNode) -> str:
    """Returns the traceback in a cell's outputs, if any."""
    errors = [each for each in node.outputs if each.output_type == "error"]
    return _plain("\n".join(errors[-1].traceback)) if errors else ""


def _printed_lines(node: NotebookNode) -> list[str]:
    """Returns the lines that a cell has printed."""
    texts = (each.text for each in node.outputs if each.output_type == "stream")
    return _plain("".join(texts)).splitlines()


def _plain(text: str) -> str:
    """Removes terminal colours from a text."""
    return _ANSI.sub("", text)
