"""A notebook with named cells over a real kernel, used as a person uses it in JupyterLab."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from nbfn import protocol
from tests.harness.kernel import Reply
from tests.hours.playing.kernels import HourKernel, interrupter


class Start(Protocol):
    """Starts a kernel, in a folder or in a new one; with nbfn, or with functions as they stand."""

    def __call__(self, folder: Path | None, *, with_nbfn: bool) -> HourKernel: ...


_PROBE = "__import__('importlib').import_module('tests.hours.playing.probe')."
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TIMES = re.compile(r"^(CPU times|Wall time): .*\n", re.MULTILINE)
_LOADED = re.compile(r"^The nbfn extension is already loaded.*\n.*%reload_ext nbfn\n", re.MULTILINE)
_ONLY_NBFN = re.compile(r"^\s*(%load_ext nbfn|%tf_\w+.*)$\n?", re.MULTILINE)
_CELL_MAGIC = re.compile(r"\A%%tf_\w+.*\n")


def plain(text: str) -> str:
    """A cell's text without what is nbfn's in it."""
    return _CELL_MAGIC.sub("", _ONLY_NBFN.sub("", text))


@dataclass
class Ran:
    """What one run of a cell has shown.

    Attributes:
        name: The cell's name in the hour.
        text: What the cell held.
        printed: What it printed.
        warned: What stands under it in red, without an error's traceback.
        result: The text of its last expression; None if that is a view of nbfn's, or there is none.
        error: Name and message of the error that it has raised, if any.
        traceback: The error as it is shown.
        views: Texts of nbfn's views under this cell, and of those that it has brought up to date.
        nbytes: Bytes of its own outputs.
        rows: What the panel got meanwhile: put rows by table.
        patch_nbytes: Bytes of what the panel got.
    """

    name: str
    text: str
    printed: str = ""
    warned: str = ""
    result: str | None = None
    error: tuple[str, str] | None = None
    traceback: str = ""
    views: list[str] = field(default_factory=list)
    nbytes: int = 0
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    patch_nbytes: int = 0

    @property
    def lines(self) -> list[str]:
        """The lines of cells that a traceback points at, the outermost first."""
        frames = re.split(r"\n(?=Cell In|File )", self.traceback)
        return [
            " ".join(line.split()[2:])
            for frame in frames
            if frame.startswith("Cell In")
            for line in frame.splitlines()
            if line.startswith("---")
        ]


class Panel:
    """What a JupyterLab panel knows of a kernel."""

    def __init__(self, kernel: HourKernel) -> None:
        self.id = "panel"
        self.tables: dict[str, dict[str, Any]] = {}
        self.totals: dict[str, Any] = {}
        attach = protocol.Attach(protocol=protocol.PROTOCOL, nbfn="0", page="page").model_dump()
        kernel.send("comm_open", comm_id=self.id, target_name="nbfn", data=attach)
        self.take(kernel.received(self.id))

    def take(self, message: dict[str, Any]) -> None:
        """Takes a snapshot or a patch in."""
        if message.get("type") == "snapshot":
            self.tables = {name: dict(rows) for name, rows in message["state"].items()}
        elif message.get("type") == "patch":
            for name, rows in message["put"].items():
                self.tables[name].update(rows)
            for name, ids in message["removed"].items():
                for id in ids:
                    self.tables[name].pop(id, None)
        else:
            return
        self.totals = message["totals"]


class Notebook:
    """Cells by name, and a kernel.

    Args:
        start: Starts a kernel.
        cells: The texts of the cells.
        with_nbfn: Whether nbfn is there; else its magics are taken out of the cells.
    """

    def __init__(self, start: Start, cells: Mapping[str, str], *, with_nbfn: bool) -> None:
        self._start = start
        self._with_nbfn = with_nbfn
        self.cells = dict(cells)
        self.kernel = start(None, with_nbfn=with_nbfn)
        self.panel: Panel | None = None

    @property
    def folder(self) -> Path:
        """Where the kernel runs."""
        return self.kernel.folder

    def restart(self) -> None:
        """Restarts the kernel; cells and files stay."""
        self.kernel.stop()
        self.kernel = self._start(self.folder, with_nbfn=self._with_nbfn)
        self.panel = None

    def close(self) -> None:
        """Ends the kernel."""
        self.kernel.stop()

    def run(self, name: str, interrupt: str | None = None) -> Ran:
        """Runs a cell.

        Args:
            name: The cell's name.
            interrupt: A text: as soon as the cell has printed it, the kernel is interrupted.
        """
        text = self.cells[name]
        seen = None if interrupt is None else interrupter(self.kernel, interrupt)
        code = text if self._with_nbfn else plain(text)
        reply = self.kernel.run(code, cell_id=name, seen=seen)
        ran = self._ran(name, text, reply)
        if self._with_nbfn and self.panel is None and self.kernel.comms("nbfn.presence"):
            self.panel = Panel(self.kernel)
        return ran

    def values(self) -> dict[str, Any]:
        """The values of the notebook's names."""
        return dict(self.kernel.evaluate(f"{_PROBE}values()"))

    def state(self) -> dict[str, Any]:
        """What nbfn says of the session."""
        return dict(self.kernel.evaluate(f"{_PROBE}state()"))

    def values_and_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Both, asked for at once."""
        values, state = self.kernel.evaluate(f"{_PROBE}values_and_state()")
        return values, state

    def remains(self) -> dict[str, int]:
        """How much is alive of what can pile up."""
        return dict(self.kernel.evaluate(f"{_PROBE}remains()"))

    def _ran(self, name: str, text: str, reply: Reply) -> Ran:
        ran = Ran(name, text)
        for output in reply.outputs:
            ran.nbytes += len(json.dumps(output))
            data = output.get("data", {})
            if "ename" in output:
                ran.error = (output["ename"], _COLOUR.sub("", output["evalue"]))
                ran.traceback = _COLOUR.sub("", "\n".join(output["traceback"]))
            elif output.get("name") == "stderr":
                ran.warned += output["text"]
            elif output.get("name") == "stdout":
                ran.printed += output["text"]
            elif protocol.MIME_TYPE in data:
                ran.views.append(data["text/plain"])
            elif "text/plain" in data:
                ran.result = (ran.result or "") + data["text/plain"]
        ran.printed = _LOADED.sub("", _TIMES.sub("", ran.printed))
        for output in reply.displays:
            if protocol.MIME_TYPE in output.get("data", {}):
                ran.views.append(output["data"]["text/plain"])
        for message in reply.comms:
            if self.panel is None or message.get("comm_id") != self.panel.id:
                continue
            data = message.get("data", {})
            ran.patch_nbytes += len(json.dumps(data))
            self.panel.take(data)
            for table, rows in data.get("put", {}).items():
                ran.rows.setdefault(table, []).extend(rows.values())
        return ran
