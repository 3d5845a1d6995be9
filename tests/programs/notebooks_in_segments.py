"""Runs notebooks from elsewhere plainly and in segments, and says what a reader could tell by.

``python -m tests.programs.notebooks_in_segments FOLDER`` puts ``%%tf_function`` above each cell
that has no magic of its own and does more than define functions, and runs it twice in a row; every
other cell runs once. Each way has a process of its own. The plain way runs twice: what differs
there already is not deterministic, and only its names and types are compared. What differs under
the magic is compared with a third plain run from another seed: if that differs too, random numbers
are in it, which TensorFlow draws in another sequence inside functions.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import json
import os
import pickle
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import keras

from nbfn.notebook.cells.parse import is_definitions
from tests.functions.segments.comparing.descriptions import Leniency, compared
from tests.functions.segments.comparing.sides_of_cells import (
    Failure,
    Run,
    differences_of_runs,
    fresh_shell,
    run_cell,
)
from tests.programs.environments import ROOT

AT_LEAST = 98.0
SECONDS_FOR_A_CELL = 120
_SHOWN = 5
_SLACK = 60
_NETWORK = ("URLError", "ConnectionError", "gaierror", "HTTPError", "DownloadError", "URL fetch")
_QUIET = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "CUDA_VISIBLE_DEVICES": "-1",
    "MPLBACKEND": "Agg",
}

SAME, DRAWN, UNSTABLE, DIFFERENT = "same", "drawn", "not deterministic", "different"

say = functools.partial(print, flush=True)


@dataclasses.dataclass
class Verdict:
    """What became of a cell under the magic.

    Attributes:
        number: Its place among the code cells, from 1.
        text: Its text.
        kind: SAME, DRAWN, UNSTABLE (and the same but for that) or DIFFERENT.
        differences: What differs, if it is no draw.
        fails: Whether it fails plainly too.
    """

    number: int
    text: str
    kind: str
    differences: list[str]
    fails: bool = False


def cells_of(notebook: Path) -> list[str]:
    """The texts of the code cells that are run, without what installs packages."""
    read = json.loads(notebook.read_text())
    cells = [cell["source"] for cell in read["cells"] if cell["cell_type"] == "code"]
    texts = ["".join(line for line in lines if "pip install" not in line) for lines in cells]
    return [text for text in texts if text.strip() and not _is_licence(text)]


def _is_licence(text: str) -> bool:
    first = text.lstrip().split("\n", maxsplit=1)[0].lower()
    return first.startswith("#@title") and "licen" in first


def run_notebook(notebook: Path, way: str, magic: str, seed: int, report: Path) -> None:
    """Runs a notebook in this process, and writes what its cells did into a file.

    Args:
        notebook: The file.
        way: ``plain``, ``magic`` or ``auto``; the last two are the ways to be tested. With
            ``auto-plain`` each cell runs once, as with ``auto``.
        magic: What is put above a cell.
        seed: Of the random numbers that the notebook does not seed itself.
        report: The file: for each cell its runs, pickled.
    """
    with fresh_shell() as shell, report.open("wb") as file:
        keras.utils.set_random_seed(seed)
        before = set(shell.user_ns)
        if way == "auto":
            shell.run_cell("%tf_auto on").raise_error()
        for text in cells_of(notebook):
            is_body = _is_body(shell.transform_cell(text), text)
            times = 2 if is_body and not way.startswith("auto") else 1
            line = magic if is_body and way == "magic" else ""
            runs = []
            for _ in range(times):
                with _limited():
                    runs.append(run_cell(shell, text, line, before))
            pickle.dump(runs, file)
            file.flush()


def _is_body(python: str, text: str) -> bool:
    """Whether a cell is run in segments: it has no magic of its own, and does not only define."""
    try:
        body = ast.parse(python).body
    except SyntaxError:
        return not text.lstrip().startswith("%%")
    return not text.lstrip().startswith("%%") and bool(body) and not is_definitions(body)


@contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"the cell took more than {SECONDS_FOR_A_CELL} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS_FOR_A_CELL)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def ran(notebook: Path, way: str, magic: str, seed: int = 1) -> list[list[Run]]:
    """Runs a notebook in a process of its own; of each cell the runs.

    They end with the cell that ended the process, if one did.
    """
    with TemporaryDirectory() as folder:
        report = Path(folder, "report")
        here = [
            *(sys.executable, "-m", "tests.programs.notebooks_in_segments", str(notebook.resolve()))
        ]
        options = ["--way", way, "--magic", magic, "--seed", str(seed), "--report", str(report)]
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        try:
            process = subprocess.run(
                [*here, *options],
                cwd=folder,
                env={**os.environ, **_QUIET, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=2 * SECONDS_FOR_A_CELL * len(cells_of(notebook)) + _SLACK,
            )
            if process.returncode:
                lines = "\n  ".join(process.stderr.splitlines()[-_SHOWN:])
                say(f"{notebook.name}, {way}: the process ended\n  {lines}")
        except subprocess.TimeoutExpired:
            say(f"{notebook.name}, {way}: it took too long, and was ended")
        cells: list[list[Run]] = []
        if report.exists():
            with report.open("rb") as file:
                while True:
                    try:
                        cells.append(pickle.load(file))
                    except EOFError:
                        break
        return cells


def verdicts(
    texts: list[str], plain: list[list[Run]], again: list[list[Run]], tested: list[list[Run]]
) -> list[Verdict]:
    """Compares the cells of two plain runs and one under the magic.

    A name that differs is reported in the cell that made it differ, and not in those after it.
    """
    found = []
    unstable: set[str] = set()
    different: set[str] = set()
    for number, text in enumerate(texts, 1):
        if number > min(map(len, (plain, again, tested))):
            found.append(Verdict(number, text, DIFFERENT, ["a process ended before it"]))
            continue
        differences = []
        is_unstable = False
        sides = (side[number - 1] for side in (plain, again, tested))
        for run, (one, same_again, other) in enumerate(zip(*sides, strict=True), 1):
            changing = _different_names(one, same_again)
            is_unstable |= bool(changing - unstable) or bool(_but_names(one, same_again))
            unstable = changing
            news = _news(one, other, unstable, different, "values" if is_unstable else "")
            different = _different_names(one, other)
            differences += [f"run {run}: {each}" for each in news]
        kind = DIFFERENT if differences else UNSTABLE if is_unstable else SAME
        fails = plain[number - 1][-1].failure is not None
        found.append(Verdict(number, text, kind, differences, fails))
    return found


def _news(
    plain: Run, tested: Run, unstable: set[str], known: set[str], leniency: Leniency
) -> list[str]:
    """What differs since this run; of what is not deterministic, names and types are compared."""
    if plain.failure and tested.failure and _is_of_the_network(plain.failure):
        kinds = plain.failure.kind, tested.failure.kind
        return [] if kinds[0] == kinds[1] else [f"error: {kinds[0]} plain, {kinds[1]} traced"]
    news = _but_names(plain, tested, leniency)
    for name in sorted(_different_names(plain, tested) - known):
        one, other = plain.names.get(name), tested.names.get(name)
        if one is None or other is None:
            news.append(f"{name}: {one} plain, {other} traced")
        else:
            news += compared(one, other, name, "values" if name in unstable else "")
    return news


def _is_of_the_network(failure: Failure) -> bool:
    return any(word in str(failure) for word in _NETWORK)


def _but_names(plain: Run, other: Run, leniency: Leniency = "") -> list[str]:
    one, two = (dataclasses.replace(run, names={}) for run in (plain, other))
    return differences_of_runs(one, two, leniency)


def _different_names(plain: Run, other: Run) -> set[str]:
    return {
        name
        for name in plain.names.keys() | other.names.keys()
        if name not in plain.names
        or name not in other.names
        or any(compared(plain.names[name], other.names[name], name))
    }


def compare(notebook: Path, magic: str, auto: bool) -> tuple[list[Verdict], float, float]:
    """Runs a notebook in every way.

    Returns:
        What became of each cell, and the seconds that the last runs of all cells took plainly and
        under the magic.
    """
    texts = cells_of(notebook)
    ways = ("auto-plain", "auto") if auto else ("plain", "magic")
    plain, again = (ran(notebook, ways[0], magic) for _ in range(2))
    tested = ran(notebook, ways[1], magic)
    found = verdicts(texts, plain, again, tested)
    if any(verdict.kind == DIFFERENT for verdict in found):
        elsewhere = verdicts(texts, plain, ran(notebook, ways[0], magic, seed=2), tested)
        for verdict, other in zip(found, elsewhere, strict=True):
            if verdict.kind == DIFFERENT and other.kind == UNSTABLE:
                verdict.kind = DRAWN
    seconds = [sum(runs[-1].seconds for runs in cells) for cells in (plain, tested)]
    return found, seconds[0], seconds[1]


def main(arguments: argparse.Namespace) -> int:
    """Compares all notebooks of a folder; the exit status."""
    total: Counter[str] = Counter()
    seconds = [0.0, 0.0]
    for notebook in sorted(arguments.folder.glob("*.ipynb")):
        found, plain, tested = compare(notebook, arguments.magic, arguments.auto)
        counts = Counter(verdict.kind for verdict in found)
        parts = [f"{counts[kind]} {kind}" for kind in (SAME, DRAWN, UNSTABLE, DIFFERENT)]
        times = f"last runs {plain:.2f} s plain, {tested:.2f} s traced"
        fails = sum(verdict.fails for verdict in found)
        say(f"{notebook.name}: {len(found)} cells, {fails} fail; {', '.join(parts)}; {times}")
        for verdict in found:
            if verdict.kind in (DIFFERENT, DRAWN, UNSTABLE):
                first = verdict.text.strip().split("\n", maxsplit=1)[0]
                say(f"  cell {verdict.number}, {verdict.kind}: {first[:80]}")
            if verdict.kind == DIFFERENT:
                for difference in verdict.differences[:_SHOWN]:
                    say(f"    {difference[:600]}")
        total += counts
        seconds = [seconds[0] + plain, seconds[1] + tested]
    count = total.total()
    share = 100 * (count - total[DIFFERENT]) / count if count else 0.0
    say(
        f"in all: {count} cells, {share:.1f} % the same ({total[DRAWN]} but for draws, "
        f"{total[UNSTABLE]} as far as they are deterministic); last runs {seconds[0]:.2f} s plain, "
        f"{seconds[1]:.2f} s traced"
    )
    return 0 if share >= arguments.at_least else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder of notebooks; with --way, a notebook")
    parser.add_argument("--magic", default="%%tf_function", help="what is put above the cells")
    parser.add_argument("--auto", action="store_true", help="%%tf_auto on instead; each cell once")
    parser.add_argument("--at-least", type=float, default=AT_LEAST, help="percentage to reach")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        run_notebook(given.folder, given.way, given.magic, given.seed, given.report)
    else:
        sys.exit(main(given))
