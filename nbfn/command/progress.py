"""What `nbfn run` says while it runs: plain lines, for a terminal and for the log of a CI."""

from __future__ import annotations

from collections.abc import Sequence

import click

from nbfn import protocol
from nbfn.command.record import CellRun, Failure, Record
from nbfn.outlines.outline import place_text
from nbfn.text import count, data_size, duration, shorten

HEARTBEAT = 30.0
"""Seconds after which a cell that goes on is worth another line."""

_MAX_RETRACES = 3


class Progress:
    """Writes the lines of one run."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def begin(self) -> None:
        """Says what is run."""
        cells = count(len(self._record.cells), "cell")
        self._say(f"{self._record.notebook}: {cells}, kernel {self._record.kernel}")

    def goes_on(self, cell: CellRun, seconds: float, doing: str) -> None:
        """Says that a cell still runs."""
        self._cell(cell, duration(round(seconds)), f"still runs{': ' if doing else ''}{doing}")

    def ran(self, cell: CellRun, retraces: Sequence[protocol.RetraceRecord]) -> None:
        """Says what a cell took, and what was traced again in it."""
        allowed = f" ({cell.allowed_error}, as its tag allows)" if cell.allowed_error else ""
        self._cell(cell, duration(cell.seconds), shorten(cell.title) + allowed)
        for retrace in retraces[:_MAX_RETRACES]:
            name = self._record.known.state.functions[retrace.function].name
            causes = "; ".join(cause.sentence for cause in retrace.causes)
            self._say(f"  {name} retraced, {place_text(retrace.cell)}: {causes}")
        if len(retraces) > _MAX_RETRACES:
            self._say(f"  … and {count(len(retraces) - _MAX_RETRACES, 'more retrace')}")

    def failed(self, failure: Failure) -> None:
        """Says why the run ended early."""
        if failure.cell is not None:
            self._cell(failure.cell, duration(failure.cell.seconds), shorten(failure.cell.title))
        if failure.details:
            click.echo(f"\n{failure.details}\n", err=True)
        self.error(failure.text)

    def exports(self) -> None:
        """Says that the export begins."""
        self._say(f"exporting to {self._record.export_path}, and proving it")

    def end(self) -> None:
        """Says what came of it all."""
        record = self._record
        export = record.export
        if export is not None and "error" not in export:
            nbytes = data_size(export["nbytes"])
            self._say(f"exported {record.export_path}: {nbytes} in {duration(export['seconds'])}")
            verdicts = {each["signature"]: each for each in export["verified"]}
            for name, text in export["signatures"].items():
                each = verdicts.get(name)
                verdict = f"{each['status']}, {each['detail']}" if each else "not verified"
                self._say(f"  {name}{text}: {verdict}")
        totals, made = record.known.totals, record.known.retrace_count
        gone = f" and {made - totals.retraces:,} gone" if made > totals.retraces else ""
        budget = "" if record.max_retraces is None else f" ({record.max_retraces} allowed)"
        self._say(
            f"{count(totals.functions, 'function')}, {count(totals.traces, 'trace')}"
            f", {count(totals.retraces, 'retrace')}{gone}{budget}, {duration(record.seconds)}"
        )
        for problem in record.problems:
            self.error(problem.sentence)

    def wrote(self, what: str, path: object) -> None:
        """Says where something is."""
        self._say(f"{what}: {path}")

    @staticmethod
    def error(sentence: str) -> None:
        """Says what is wrong."""
        click.echo(f"{click.style('error:', fg='red', bold=True)} {sentence}", err=True)

    def _cell(self, cell: CellRun, seconds: str, text: str) -> None:
        total = len(self._record.cells)
        number = f"{cell.number:>{len(str(total))}}/{total}"
        self._say(f"[{number}] {cell.label:<8} {seconds:>8}  {text}")

    @staticmethod
    def _say(line: str) -> None:
        click.echo(line)
