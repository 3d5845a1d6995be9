"""The ticker keeps the views up to date, and never breaks a cell."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

import nbfn
from nbfn import protocol
from nbfn.notebook.ticker import INTERVAL, SAMPLES_PER_MARK, Ticker
from nbfn.sessions.messages.feed import feed
from tests.harness.messages import warns


def until(condition: Callable[[], bool]) -> None:
    """Waits for what must come; how long that takes is the machine's affair."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def test_it_flushes_while_it_runs_and_once_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[float] = []
    monkeypatch.setattr(feed(), "flush", lambda: flushed.append(time.monotonic()))
    ticker = Ticker()
    started = time.monotonic()
    ticker.start()
    ticker.start()
    until(lambda: len(flushed) >= 3)
    ticker.stop()
    during = len(flushed) - 1
    assert during <= (time.monotonic() - started) / INTERVAL
    time.sleep(INTERVAL * 2)
    assert len(flushed) == during + 1


def test_it_marks_now_and_then_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(feed(), "flush", lambda: done.append("flush"))
    monkeypatch.setattr(feed(), "mark", lambda: done.append("mark"))
    ticker = Ticker()
    ticker.start()
    until(lambda: "mark" in done)
    assert done == ["flush"] * SAMPLES_PER_MARK + ["mark"]
    ticker.stop()
    assert done[-2:] == ["flush", "mark"]


def test_a_failure_is_reported_once_and_the_next_look_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flushed = []

    def fail_twice() -> None:
        flushed.append(1)
        if len(flushed) <= 2:
            raise OSError("no way out")

    monkeypatch.setattr(feed(), "flush", fail_twice)
    ticker = Ticker()
    with warns(nbfn.NbfnWarning):
        ticker.stop()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ticker.stop()
        ticker.stop()
    assert len(flushed) == 3


def test_it_waits_for_a_feed_that_another_thread_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    half = ModuleType("nbfn.sessions.messages.feed")
    monkeypatch.setitem(sys.modules, "nbfn.sessions.messages.feed", half)
    ticker = Ticker()
    ticker.stop()
    half.feed = lambda: SimpleNamespace(
        environment=SimpleNamespace(), flush=lambda: flushed.append(1), mark=lambda: None
    )  # type: ignore[attr-defined]
    ticker.stop()
    assert flushed == [1]


def test_it_shows_what_is_under_way_and_takes_it_away_at_the_end() -> None:
    row = protocol.WorkRecord(id="1", kind="loop", name="epochs", sentence="epochs", seconds=1)
    shown: list[tuple[str, ...]] = []
    reported: list[protocol.Patch] = []
    ticker = Ticker(lambda: {"1": row}, lambda rows: shown.append(tuple(each.id for each in rows)))
    feed().subscribe(reported.append)  # type: ignore[arg-type]
    ticker.start()
    until(lambda: len(reported) > 1)
    ticker.stop()
    feed().unsubscribe(reported.append)  # type: ignore[arg-type]
    assert shown[0] == ("1",)
    assert shown[-1] == ()
    patches = [each for each in reported if each.type == "patch"]
    assert patches[0].put.work == {"1": row}
    assert patches[-1].removed.work == ["1"]
