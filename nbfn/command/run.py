"""`nbfn run`: runs a notebook, exports it, writes the report, and returns an exit code."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode

from nbfn.command.execution import Execution
from nbfn.command.notebook_run import NotebookCell, NotebookFailure, NotebookRun
from nbfn.command.outcome import CommandError, Exit
from nbfn.command.progress_printer import HEARTBEAT, ProgressPrinter
from nbfn.command.run_report import html_of
from nbfn.text import count, first_line

_DEFAULT_KERNEL = "python3"
_SKIPPED = "skip-execution"
_WIDGET = "application/vnd.jupyter.widget-view+json"


@dataclass(frozen=True)
class RunOptions:
    """The options of a run.

    Attributes:
        notebook: The notebook.
        export: Folder for the SavedModel; None exports nothing.
        overwrite: Whether an existing SavedModel may be replaced.
        strict: Whether a signature that could not be verified is an error.
        report: File for the report; None writes none.
        max_retraces: Maximum number of retraces; None for no limit.
        kernel: Name of the kernel; by default the notebook's own.
        timeout: Maximum seconds for a cell; None for no limit.
        output: File for the notebook with its outputs; None writes none.
    """

    notebook: Path
    export: Path | None = None
    overwrite: bool = False
    strict: bool = False
    report: Path | None = None
    max_retraces: int | None = None
    kernel: str | None = None
    timeout: int | None = None
    output: Path | None = None


def run(options: RunOptions) -> Exit:
    """Runs a notebook, prints its progress, and returns the exit code.

    Raises:
        CommandError: If the run cannot begin.
    """
    notebook = _read(options.notebook)
    _check_places(options)
    own = notebook.metadata.get("kernelspec", {}).get("name")
    record = NotebookRun(
        notebook=options.notebook,
        kernel=options.kernel or own or _DEFAULT_KERNEL,
        max_retraces=options.max_retraces,
        export_path=options.export,
    )
    places = [index for index, cell in enumerate(notebook.cells) if _is_run(cell)]
    record.cells = [NotebookCell(n, notebook.cells[i].source) for n, i in enumerate(places, 1)]
    folder = options.notebook.absolute().parent
    execution = Execution(notebook, record, folder, options.timeout)
    progress = ProgressPrinter(record)
    progress.begin()
    started = time.perf_counter()
    asyncio.run(_Run(execution, record, options, progress).whole(places))
    record.seconds = time.perf_counter() - started
    _judge(record)
    progress.end()
    if options.output is not None:
        text = nbformat.writes(_storable(notebook))  # type: ignore[no-untyped-call]
        _write(options.output, text + "\n")
        progress.wrote("notebook", options.output)
    if options.report is not None:
        _write(options.report, html_of(record))
        progress.wrote("report", options.report)
    return record.exit


class _Run:
    """The part of a run that has a kernel."""

    def __init__(
        self,
        execution: Execution,
        record: NotebookRun,
        options: RunOptions,
        progress: ProgressPrinter,
    ) -> None:
        self._execution = execution
        self._record = record
        self._options = options
        self._progress = progress
        self._now: NotebookCell | None = None
        self._ended_by: Exit | None = None

    async def whole(self, places: list[int]) -> None:
        """Starts the kernel, runs the cells, exports, and ends the kernel."""
        self._listen()
        try:
            await self._execution.start()
            self._record.failure = await self._cells(places)
            if self._record.failure is None and self._options.export is not None:
                await self._export(self._options.export)
        except DeadKernelError:
            self._record.failure = self._execution.death(self._now)
        except asyncio.CancelledError:
            exit = self._ended_by or Exit.INTERRUPTED
            self._record.failure = NotebookFailure(exit, exit.meaning, self._now)
            await self._execution.interrupt()
        finally:
            await self._execution.end()
        if self._record.failure is not None:
            self._progress.failed(self._record.failure)

    def _listen(self) -> None:
        """Makes Ctrl-C and SIGTERM end the run in order, including the kernel."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def end(reason: Exit) -> None:
            # A second signal must not interrupt the end of the kernel.
            if self._ended_by is None:
                self._ended_by = reason
                task.cancel()

        with contextlib.suppress(NotImplementedError):  # on Windows, asyncio handles Ctrl-C itself
            loop.add_signal_handler(signal.SIGINT, end, Exit.INTERRUPTED)
            loop.add_signal_handler(signal.SIGTERM, end, Exit.TERMINATED)

    async def _cells(self, places: list[int]) -> NotebookFailure | None:
        for index, cell in zip(places, self._record.cells, strict=True):
            self._now = cell
            async with self._heartbeat(cell):
                failure = await self._execution.run(index, cell)
            if failure is not None:
                if failure.exit is Exit.CELL_FAILED:
                    await self._execution.collect()
                return failure
            self._progress.ran(cell, await self._execution.collect())
        self._now = None
        return None

    @contextlib.asynccontextmanager
    async def _heartbeat(self, cell: NotebookCell) -> AsyncIterator[None]:
        """Reports periodically that a cell is still running."""

        async def beat() -> None:
            started = time.perf_counter()
            while True:
                await asyncio.sleep(HEARTBEAT)
                seconds = time.perf_counter() - started
                self._progress.still_runs(cell, seconds, self._execution.doing)

        task = asyncio.create_task(beat())
        try:
            yield
        finally:
            task.cancel()

    async def _export(self, path: Path) -> None:
        self._progress.exports()
        options = self._options
        answer = await self._execution.export(path.absolute(), options.overwrite, options.strict)
        self._record.export = answer
        await self._execution.collect()


def _judge(record: NotebookRun) -> None:
    """Adds requirements that were not met to the problems."""
    answer = record.export or {}
    if "error" in answer:
        exit = Exit.NOT_VERIFIED if answer["is_wrong"] else Exit.NOT_EXPORTED
        record.problems.append(NotebookFailure(exit, f"not exported: {answer['error']}"))
    budget, found = record.max_retraces, record.collected.retrace_count
    if budget is not None and found > budget:
        record.problems.append(
            NotebookFailure(
                Exit.OVER_BUDGET,
                f"{count(found, 'retrace')}, and --max-retraces allows {budget}; "
                "--report FILE writes the remedy of each",
            )
        )


# Files ------------------------------------------------------------------------------------


def _read(path: Path) -> NotebookNode:
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        nbformat.validate(notebook)
    except FileNotFoundError:
        raise CommandError(f"there is no notebook `{path}`") from None
    except OSError as error:
        raise CommandError(f"`{path}` cannot be read: {error.strerror}") from None
    except (ValueError, nbformat.ValidationError) as error:
        raise CommandError(f"`{path}` is not a notebook: {first_line(error)}") from None
    except (AttributeError, KeyError, TypeError):  # nbformat raises these for other JSON
        raise CommandError(f"`{path}` is not a notebook: it is JSON without cells") from None
    return notebook


def _check_places(options: RunOptions) -> None:
    """Refuses targets that could not be written, before anything runs."""
    target = options.export
    if target is not None and (target.exists() or target.is_symlink()):
        if not options.overwrite:
            raise CommandError(f"`{target}` exists; give --overwrite to replace the model in it")
        if not any(target.glob("saved_model.*")):
            raise CommandError(
                f"`{target}` holds no SavedModel, so it is not replaced; export to another path"
            )
    for name, file in (("report", options.report), ("output", options.output)):
        if file is not None and file.is_dir():
            raise CommandError(f"`{file}` is a folder; give --{name} the name of a file")
    report = options.report.resolve() if options.report is not None else None
    for name, file in (("notebook", options.notebook), ("output", options.output)):
        if report is not None and file is not None and file.resolve() == report:
            raise CommandError(f"--report `{file}` would replace the {name}; give it another name")
    for name in ("report", "output", "export"):
        target = getattr(options, name)
        parents = target.parents if target is not None else ()
        above = next((each for each in parents if each.exists()), None)
        if above is not None and not above.is_dir():
            raise CommandError(f"--{name} `{target}`: `{above}` is a file and no folder")


def _is_run(cell: NotebookNode) -> bool:
    tags = cell.metadata.get("tags", [])
    return cell.cell_type == "code" and bool(cell.source.strip()) and _SKIPPED not in tags


def _storable(notebook: NotebookNode) -> NotebookNode:
    """Removes live widgets and progress, which need the ended kernel."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for output in cell.outputs:
                if len(output.get("data", {})) > 1:
                    output.data.pop(_WIDGET, None)
            # The display of running work ends as an output without data (`ProgressDisplay`).
            cell.outputs = [each for each in cell.outputs if each.get("data", True) != {}]
    return notebook


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"`{path}` cannot be written: {error.strerror}") from None
