"""A cell run plainly and under a magic, and what either leaves and shows."""

from __future__ import annotations

import itertools
import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import keras
import numpy as np
import tensorflow as tf
from IPython.core.interactiveshell import InteractiveShell

from tests.functions.segments.comparing.capturing import Shown, captured
from tests.functions.segments.comparing.descriptions import (
    Describer,
    Description,
    Leniency,
    cleaned,
    compared,
    same_text,
)
from tests.functions.segments.corpus.story import Story
from tests.harness.shells import bare_shell

RUNS = 3
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PLACE = re.compile(r"Cell In\[(\d+)\], line (\d+)")
_FILE_AND_LINE = re.compile(r"<ipython-input-(\d+)-(\w+)>(?:\", line |:)(\d+)")


@dataclass(frozen=True)
class Failure:
    """What a cell raised, as the notebook shows it, and the last of the cell's lines in it."""

    kind: str
    message: str
    line: int | None

    def __str__(self) -> str:
        return f"{self.kind} in line {self.line}: {self.message}"


@dataclass
class Run:
    """One run of a cell: what the user saw, and the names that were there afterwards."""

    shown: Shown
    result: Description
    failure: Failure | None
    names: dict[str, Description]
    seconds: float


@dataclass
class Side:
    """The runs of a cell in one notebook.

    Attributes:
        runs: What each run did.
        drawn: The next random numbers of Python, NumPy and TensorFlow after the last run.
        leniency: What is not compared.
    """

    runs: list[Run] = field(default_factory=list)
    drawn: tuple[float, float, float] = (0.0, 0.0, 0.0)
    leniency: Leniency = ""


class Shell(InteractiveShell):  # type: ignore[misc]
    """A shell that keeps the error that it would have shown."""

    shown_error: tuple[type, BaseException, list[str]] | None = None

    def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
        self.shown_error = (etype, evalue, stb)


@contextmanager
def fresh_shell() -> Iterator[Shell]:
    """A shell with nbfn, at the beginning of the random sequences and of the names of layers."""
    with bare_shell(Shell) as shell:
        shell.run_cell("%load_ext nbfn", store_history=True).raise_error()
        keras.utils.clear_session(free_memory=False)
        keras.utils.set_random_seed(1)
        try:
            yield shell
        finally:
            tf.config.run_functions_eagerly(False)


@contextmanager
def graphs_pay() -> Iterator[None]:
    """A second passes each time that nbfn looks at the clock: all that may be a graph is one."""
    with mock.patch("nbfn.functions.segments.speed.clock", itertools.count().__next__):
        yield


def run_story(story: Story, line: str, runs: int = RUNS) -> Side:
    """Runs a story's cell after its setup, in a notebook of its own.

    Args:
        story: The setup and the cell.
        line: The magic to put above the cell, such as ``%%tf_function step``; empty for none.
        runs: How often the cell runs.
    """
    side = Side(leniency="values" if story.draws else "floats" if story.seconds else "")
    with fresh_shell() as shell:
        before = set(shell.user_ns)
        shell.run_cell(story.setup, store_history=True).raise_error()
        for _ in range(runs):
            side.runs.append(run_cell(shell, story.cell, line, before))
        side.drawn = (random.random(), np.random.rand(), float(tf.random.uniform(())))
    return side


def run_cell(shell: Shell, cell: str, line: str, before: set[str]) -> Run:
    """Runs a cell and describes what it did.

    Args:
        shell: Where it runs.
        cell: Its text.
        line: The magic above it; the names in this line are not looked at afterwards.
        before: More names that are not looked at.
    """
    shell.shown_error = None
    with captured(shell) as shown:
        start = time.perf_counter()
        ran = shell.run_cell(f"{line}\n{cell}" if line else cell, store_history=True)
        seconds = time.perf_counter() - start
    offset = 1 if line else 0
    shown.stdout = _with_places(shown.stdout, ran.execution_count, offset)
    shown.stderr = _with_places(shown.stderr, ran.execution_count, offset)
    shown.logged = [_with_places(text, ran.execution_count, offset) for text in shown.logged]
    describer = Describer()
    ignored = before | set(line.split())
    names = sorted(name for name in shell.user_ns if name[0] != "_" and name not in ignored)
    return Run(
        shown,
        failure=_failure(shell, ran, offset),
        names={name: describer.describe(shell.user_ns[name], name) for name in names},
        result=describer.describe(ran.result, "the result"),
        seconds=seconds,
    )


def _with_places(text: str, cell: int, offset: int) -> str:
    """A text whose warnings and tracebacks point to lines of the cell, not of the cell's file.

    Lines of cells above are left out: those may have a magic too.
    """
    files = {file for number, file, _ in _FILE_AND_LINE.findall(text) if int(number) == cell}

    def place(found: re.Match[str]) -> str:
        return f"line {int(found[3]) - offset}" if found[2] in files else "a cell above"

    return _FILE_AND_LINE.sub(place, text)


def _failure(shell: Shell, ran: Any, offset: int) -> Failure | None:
    error = ran.error_before_exec or ran.error_in_exec
    if error is None:
        return None
    kind, error, traceback = shell.shown_error or (type(error), error, [])
    places = _PLACE.findall(_COLOUR.sub("", "\n".join(traceback)))
    lines = [int(line) - offset for cell, line in places if int(cell) == ran.execution_count]
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return Failure(kind.__name__, cleaned(message), lines[-1] if lines else None)


def differences(plain: Side, traced: Side) -> list[str]:
    """What a reader of the notebook could tell two sides by, each as a line."""
    found = []
    for number, (one, other) in enumerate(zip(plain.runs, traced.runs, strict=True), 1):
        different = differences_of_runs(one, other, plain.leniency)
        found += [f"run {number}: {difference}" for difference in different]
    if not plain.leniency and plain.drawn != traced.drawn:
        found.append(f"the next random numbers: {plain.drawn} plain, {traced.drawn} traced")
    return found


def differences_of_runs(plain: Run, traced: Run, leniency: Leniency = "") -> list[str]:
    """What a reader of the notebook could tell two runs by, each as a line."""
    found = list(_differences_shown(plain.shown, traced.shown, leniency))
    if not _same_failure(plain.failure, traced.failure, leniency):
        found.append(f"error: {plain.failure} plain, {traced.failure} traced")
    found += compared(plain.result, traced.result, "the result", leniency)
    names = [Description("names", parts=side.names) for side in (plain, traced)]
    return found + list(compared(names[0], names[1], "", leniency))


def _differences_shown(plain: Shown, traced: Shown, leniency: Leniency) -> Iterator[str]:
    for stream in ("stdout", "stderr"):
        one, other = getattr(plain, stream), getattr(traced, stream)
        if not same_text(one, other, leniency):
            yield f"{stream}: {_from_where_they_differ(one, other)}"
    for text in traced.logged:  # many are logged once in a process, and plain goes first
        if not any(same_text(text, other) for other in plain.logged):
            yield f"logged: {text}"
    one, other = ([sorted(each.items()) for each in side.displayed] for side in (plain, traced))
    if not same_text(str(one), str(other), leniency):
        yield f"displayed: {one} plain, {other} traced"


def _from_where_they_differ(plain: str, traced: str) -> str:
    lines = plain.splitlines(keepends=True), traced.splitlines(keepends=True)
    same = itertools.takewhile(lambda pair: same_text(*pair), zip(*lines, strict=False))
    first = sum(1 for _ in same)
    return f"{''.join(lines[0][first:])!r} plain, {''.join(lines[1][first:])!r} traced"


def _same_failure(plain: Failure | None, traced: Failure | None, leniency: Leniency) -> bool:
    if plain is None or traced is None:
        return plain is traced
    same_place = (plain.kind, plain.line) == (traced.kind, traced.line)
    return same_place and same_text(plain.message, traced.message, leniency)
