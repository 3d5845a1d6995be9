"""The output of `nbfn run` while it runs: plain lines, for terminals and CI logs."""

from __future__ import annotations

from collections.abc import Sequence

import click

from nbfn import protocol
from nbfn.command.notebook_run import NotebookCell, NotebookFailure, NotebookRun
from nbfn.outlines.outline import place_text
from nbfn.text import count, data_size, duration, shorten

HEARTBEAT = 30.0
"""Seconds between lines about a cell that is still running."""

_MAX_RETRACES = 3


class ProgressPrinter:
    """Prints the lines of one run."""

    def __init__(self, record: NotebookRun) -> None:
        self._record = record

    def begin(self) -> None:
        """Prints what is run."""
        cells = count(len(self._record.cells), "cell")
        self._print(f"{self._record.notebook}: {cells}, kernel {self._record.kernel}")

    def still_runs(self, cell: NotebookCell, seconds: float, doing: str) -> None:
        """Reports that a cell is still running."""
        self._cell(cell, duration(round(seconds)), f"still runs{': ' if doing else ''}{doing}")

    def ran(self, cell: NotebookCell, retraces: Sequence[protocol.RetraceRecord]) -> None:
        """Reports the duration of a cell, and its retraces."""
        allowed = f" ({cell.allowed_error}, as its tag allows)" if cell.allowed_error else ""
        self._cell(cell, duration(cell.seconds), shorten(cell.title) + allowed)
        for retrace in retraces[:_MAX_RETRACES]:
            name = self._record.collected.state.functions[retrace.function].name
            causes = "; ".join(cause.sentence for cause in retrace.causes)
            self._print(f"  {name} retraced, {place_text(retrace.cell)}: {causes}")
        if len(retraces) > _MAX_RETRACES:
            self._print(f"  … and {count(len(retraces) - _MAX_RETRACES, 'more retrace')}")

    def failed(self, failure: NotebookFailure) -> None:
        """Reports why the run ended early."""
        if failure.cell is not None:
            self._cell(failure.cell, duration(failure.cell.seconds), shorten(failure.cell.title))
        if failure.details:
            click.echo(f"\n{failure.details}\n", err=True)
        self.error(failure.text)

    def exports(self) -> None:
        """Reports the start of the export."""
        self._print(f"exporting to {self._record.export_path}, and verifying it")

    def end(self) -> None:
        """Prints a summary of the run."""
        record = self._record
        export = record.export
        if export is not None and "error" not in export:
            nbytes = data_size(export["nbytes"])
            self._print(f"exported {record.export_path}: {nbytes} in {duration(export['seconds'])}")
            verdicts = {each["signature"]: each for each in export["verified"]}
            for name, text in export["signatures"].items():
                each = verdicts.get(name)
                verdict = f"{each['status']}, {each['detail']}" if each else "not verified"
                self._print(f"  {name}{text}: {verdict}")
        totals = record.collected.totals
        number = record.collected.retrace_count - totals.retraces
        obsolete = f" and {number:,} obsolete" if number > 0 else ""
        budget = "" if record.max_retraces is None else f" ({record.max_retraces} allowed)"
        self._print(
            f"{count(totals.functions, 'function')}, {count(totals.traces, 'trace')}"
            f", {count(totals.retraces, 'retrace')}{obsolete}{budget}, {duration(record.seconds)}"
        )
        for problem in record.problems:
            self.error(problem.sentence)

    def wrote(self, what: str, path: object) -> None:
        """Reports where a file was written."""
        self._print(f"{what}: {path}")

    @staticmethod
    def error(sentence: str) -> None:
        """Prints an error."""
        click.echo(f"{click.style('error:', fg='red', bold=True)} {sentence}", err=True)

    def _cell(self, cell: NotebookCell, seconds: str, text: str) -> None:
        total = len(self._record.cells)
        number = f"{cell.number:>{len(str(total))}}/{total}"
        self._print(f"[{number}] {cell.label:<8} {seconds:>8}  {text}")

    @staticmethod
    def _print(line: str) -> None:
        click.echo(line)
