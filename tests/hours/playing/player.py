"""Plays an hour in two kernels at once, and notes what differs and what is shown wrongly."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.hours.playing import checks
from tests.hours.playing.driver import Notebook, Ran
from tests.hours.playing.hours import Action, Expected, Hour
from tests.hours.playing.kernels import Forks


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        kind: The kind of check that has failed.
        where: The action.
        text: What was found.
    """

    kind: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}: {self.text}"


@dataclass
class _Player:
    hour: Hour
    nbfn: Notebook
    plain: Notebook
    found: list[Finding] = field(default_factory=list)
    where: str = "at the beginning"
    shown: str = ""
    warned: str = ""
    errors: list[str] = field(default_factory=list)
    stale: set[str] = field(default_factory=set)
    nbytes: dict[tuple[str, str, bool, bool], list[int]] = field(default_factory=dict)
    retraced: dict[str, int] = field(default_factory=dict)
    new: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0
    last: str | None = None
    state: dict[str, Any] = field(default_factory=dict)

    def play(self) -> None:
        """Does all actions."""
        for number, action in enumerate(self.hour.actions, 1):
            self.where = f"{number} {action}"
            self.shown, self.warned, self.errors, self.new, self.count = "", "", [], [], 0
            self._do(action)
            self._expect(action.expected)
        self.where = "at the end"
        self._end()

    # Actions ----------------------------------------------------------------------------

    def _do(self, action: Action) -> None:
        notebooks = (self.nbfn, self.plain)
        match action.verb, action.arguments:
            case "run", cells:
                for cell in cells:
                    self._run(cell, action)
            case "run_all", ():
                for cell in list(self.nbfn.cells):
                    if cell != "beside":
                        self._run(cell, action)
            case "beside", (code,):
                for notebook in notebooks:
                    notebook.cells["beside"] = code
                self._run("beside", action)
            case "ask", (code,):
                self.nbfn.cells["beside"], self.plain.cells["beside"] = code, ""
                self._run("beside", action)
            case "edit", (cell, old, new):
                assert old in self.nbfn.cells[cell], f"{old!r} is not in {cell}"
                for notebook in notebooks:
                    notebook.cells[cell] = notebook.cells[cell].replace(old, new)
            case "copy", (cell, name):
                for notebook in notebooks:
                    notebook.cells[name] = notebook.cells[cell]
            case "rename", (old, new, *cells):
                for notebook, cell in itertools.product(notebooks, cells):
                    notebook.cells[cell] = notebook.cells[cell].replace(old, new)
            case "write", (file, text):
                for notebook in notebooks:
                    (notebook.folder / file).write_text(text)
            case "restart", ():
                for notebook in notebooks:
                    notebook.restart()
                self.stale, self.retraced, self.nbytes = set(), {}, {}
            case other:
                raise ValueError(f"nobody knows how to do {other}")

    def _run(self, cell: str, action: Action) -> None:
        self.last = cell
        ran = self.nbfn.run(cell, action.interrupt)
        self.errors += [] if ran.error is None else [ran.error[0]]
        plain = self.plain.run(cell, action.interrupt) if self.plain.cells[cell] else None
        values, self.state = self.nbfn.values_and_state()
        if plain is not None:
            self._compare(cell, ran, plain, action.expected, values)
        elif ran.error is not None and action.expected.raises != ran.error[0]:
            self._find("error", f"{cell}: {ran.error}")
        self._find_all("traceback", checks.machinery(ran.traceback) if ran.error else ())
        self._look(cell, ran, action.expected)
        self.stale.discard(cell)

    def _compare(
        self, cell: str, ran: Ran, plain: Ran, expected: Expected, values: dict[str, Any]
    ) -> None:
        rtol = self.hour.rtol
        pairs = [("prints", ran.printed, plain.printed)]
        if not ran.views:
            pairs.append(("result", ran.result or "", plain.result or ""))
        for kind, found, wanted in pairs:
            different = checks.different_text(found, wanted, rtol)
            self._find_all(kind, [f"{cell}: {different}"] if different else ())
        different = checks.different_error(ran, plain, expected.raises, rtol)
        if different:
            self._find("error", f"{cell}: {different}")
        elif ran.lines != plain.lines:
            self._find("traceback", f"{cell}: it points at {ran.lines}, plainly {plain.lines}")
        plain_values = self.plain.values()
        for name in self.hour.uncompared:
            values.pop(name, None)
            plain_values.pop(name, None)
        for name in self._names_of_magics() - plain_values.keys():
            values.pop(name, None)
        differences = list(checks.different_values(values, plain_values, rtol))
        self._find_all("values", (f"after {cell}: {each}" for each in differences[:3]))
        if ran.warned and plain.warned:  # TensorFlow and Keras warn in both
            ran.warned = "".join(
                line for line in ran.warned.splitlines(keepends=True) if line not in plain.warned
            )

    def _look(self, cell: str, ran: Ran, expected: Expected) -> None:
        state = self.state
        own = "\n".join(
            [*self.nbfn.cells.values(), *self._files(), *(ran.error or ()), ran.printed]
        )
        self.shown += "\n".join(
            [ran.warned, ran.traceback, *(text for _, text in checks.shown_texts(ran, state)), ""]
        )
        self.warned += ran.warned
        if ran.warned.strip() and expected.warns is None:
            self._find("warnings", f"{cell}: {ran.warned.strip()}")
        said: set[str] = set()
        for where, text in checks.shown_texts(ran, state):
            said |= {f"{where}: {each}" for each in checks.wrong_words(text, own)}
            self._find_all("length", checks.too_long(where, text))
        self._find_all("words", sorted(said)[:4])
        if ran.patch_nbytes > checks.MAX_PATCHES:
            self._find("length", f"{cell} sends {ran.patch_nbytes} bytes to the panel")
        self._find_all("variables", checks.lists_dead(ran, set(state["variables"])))
        if self.nbfn.panel is not None:
            panel = self.nbfn.panel
            for kind, text in checks.wrong_names(state, panel.tables, panel.totals):
                self._find(kind, text)
        if ran.views and not any(view.startswith("session:") for view in ran.views):
            shown = "\n".join(ran.views)
            # The first retrace has a table of its own, and a run that retraces a sentence.
            alike = cell, ran.text, "\nretraces:" in shown, " retraced: " in shown
            sizes = self.nbytes.setdefault(alike, [])
            if len(sizes) > 1 and ran.nbytes > 1.2 * max(sizes) + 100:
                self._find("growth", f"{cell}: its output has {ran.nbytes} bytes after {sizes}")
            sizes.append(ran.nbytes)
        self._count(state, len(expected.because or ()))

    def _names_of_magics(self) -> set[str]:
        found = (re.match(r"%%tf_function (\w+)", text) for text in self.nbfn.cells.values())
        return {each[1] for each in found if each is not None}

    def _files(self) -> Iterator[str]:
        yield from (file.read_text() for file in self.nbfn.folder.glob("*.py"))

    def _count(self, state: dict[str, Any], changes: int) -> None:
        new: list[dict[str, Any]] = []
        for id, function in state["functions"].items():
            count = function["retraces"] - self.retraced.get(id, 0)
            self.retraced[id] = function["retraces"]
            self.count += count
            new += function["listed"][-count:] if count else []
        for kind, text in checks.wrong_retraces(new, changes):
            self._find(kind, text)
        self.new += new

    # What is expected of an action ------------------------------------------------------

    def _expect(self, expected: Expected) -> None:
        causes = list(dict.fromkeys(cause for each in self.new for cause in each["causes"]))
        if self.count != expected.retraces:
            said = "; ".join(causes) or "no cause"
            self._find("retraces", f"{self.count}, expected {expected.retraces}: {said}")
        if expected.because is not None:
            wanted = list(expected.because)
            fits = [any(checks.matches(one, cause) for one in wanted) for cause in causes]
            meets = [any(checks.matches(one, cause) for cause in causes) for one in wanted]
            if not all([*fits, *meets]):
                self._find("causes", f"{causes}, expected {wanted}")
        remedies = [f"{each['remedy']}: {each['code']}" for each in self.new]
        if expected.remedy is not None and not any(
            checks.matches(expected.remedy, each) for each in remedies
        ):
            self._find("remedy", f"{remedies}, expected {expected.remedy!r}")
        for text in expected.shows:
            if not checks.matches(text, self.shown):
                self._find("shows", f"{text!r} is not in {self.shown[:2000]!r}")
        for text in expected.hides:
            if checks.matches(text, self.shown):
                self._find("hides", f"{text!r} is in {self.shown[:2000]!r}")
        if expected.warns is not None and not checks.matches(expected.warns, self.warned):
            self._find("warnings", f"{expected.warns!r} is not in {self.warned[:500]!r}")
        raises = expected.raises
        wanted_error = raises[1] if isinstance(raises, tuple) else raises
        if wanted_error is not None and wanted_error not in self.errors:
            self._find("error", f"nothing has raised {wanted_error}")
        if expected.stale is not None:
            self.stale = set(expected.stale)
        if not self.state or self.nbfn.panel is None:
            return
        found = set(self.state["stale"]) - {"beside"}
        for cell in sorted(found ^ self.stale):
            what = "is shown as to be run again" if cell in found else "is not shown as such"
            self._find(f"stale {cell}", f"{cell} {what}: {self.state['dependencies'][:300]}")

    # The end ----------------------------------------------------------------------------

    def _end(self) -> None:
        # What cannot come back is let go when the collector has run and a function is called next.
        for notebook in (self.nbfn, self.plain):
            notebook.remains()
            if self.last is not None and notebook.cells[self.last]:
                notebook.run(self.last)
        found, plain = self.nbfn.remains(), self.plain.remains()
        if found["variables"] > plain["variables"]:
            text = f"{found['variables']} variables are alive, plainly {plain['variables']}"
            self._find("piled up", text)
        state = self.nbfn.state()
        traces = sum(each["traces"] for each in state["functions"].values())
        most = plain["graphs"] + 8 * traces + 8
        if found["graphs"] > most:
            self._find("piled up", f"{found['graphs']} graphs of {traces} traces are alive")
        for function in state["functions"].values():
            if function["traces"] > self.hour.traces:
                self._find("piled up", f"{function['name']} holds {function['traces']} traces")
            if len(function["listed"]) > self.hour.rows:
                listed = len(function["listed"])
                self._find("piled up", f"{function['name']} lists {listed} retraces")

    def _find(self, kind: str, text: str) -> None:
        finding = Finding(kind, self.where, text)
        if finding not in self.found:
            self.found.append(finding)

    def _find_all(self, kind: str, texts: Iterable[str]) -> None:
        for text in texts:
            self._find(kind, text)


def play(hour: Hour, forks: Forks) -> None:
    """Plays an hour; fails with all that is not as it should be."""
    nbfn = Notebook(forks.kernel, hour.cells, with_nbfn=True)
    plain = Notebook(forks.kernel, {**hour.cells, **hour.plainly}, with_nbfn=False)
    player = _Player(hour, nbfn, plain)
    try:
        player.play()
    finally:
        nbfn.close()
        plain.close()
    if player.found:
        pytest.fail("\n".join(map(str, player.found)), pytrace=False)
