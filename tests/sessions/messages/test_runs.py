"""The runs of cells are measured, and stay few: what is old is merged, and nothing is lost."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace

import pytest
import tensorflow as tf

import nbfn
from nbfn._tensorflow.running import devices
from nbfn.command.collected import CollectedRecords
from nbfn.sessions.messages import runs as timeline
from nbfn.sessions.messages.feed import SAVED_RUNS, Feed, _run_record
from nbfn.sessions.messages.runs import MAX_RUNS, NEWEST, Timeline, TimelineRun, merged
from nbfn.site import Cell


def made(number: int, begin: float, seconds: float = 1.0) -> TimelineRun:
    return TimelineRun(
        id=f"run-{number}",
        cell=Cell(f"cell-{number}", number),
        first=number,
        last=number,
        time=begin,
        end=begin + seconds,
        seconds=seconds,
        tracing=seconds / 4,
        graph=seconds / 2,
        sampled=0.0,
        elsewhere=0.0,
        calls=2,
        traces=1,
        watched=0,
        copies=0,
        copied_nbytes=0,
        longest=seconds,
    )


@pytest.fixture
def runs(monkeypatch) -> Timeline:
    """The runs that feeds tell."""
    made = Timeline()
    monkeypatch.setattr("nbfn.sessions.messages.feed.runs", made)
    return made


def ran(runs: Timeline, times: int) -> None:
    for number in range(1, times + 1):
        runs.begin(Cell("cell", number))
        runs.end("done")


def test_neighbours_that_span_least_become_one() -> None:
    a, b, c, d = made(1, 0), made(2, 100), made(3, 102, 5), made(4, 300)
    first, both, last = merged([a, b, c, d], 3)
    assert (first, last) == (a, d)
    assert both == replace(
        c,
        id="run-2",
        first=2,
        last=3,
        time=100,
        end=107,
        seconds=6.0,
        tracing=1.5,
        graph=3.0,
        calls=4,
        traces=2,
        runs=2,
    )
    assert merged([a, b, c, d], 3, newest=2) == [*merged([a, b], 1), c, d]


def test_the_sums_stay_whatever_is_merged() -> None:
    all_runs = [made(n, n * n % 977 + 1000 * n, 1 + n % 7) for n in range(300)]
    few = merged(all_runs, 20)
    assert len(few) == 20
    for name in ("seconds", "tracing", "graph", "calls", "traces", "runs"):
        assert sum(getattr(each, name) for each in few) == sum(
            getattr(each, name) for each in all_runs
        )
    assert [few[0].first, few[-1].last] == [0, 299]
    assert all(one.end <= other.time for one, other in itertools.pairwise(few))
    assert max(each.longest for each in few) == 7


def test_a_thousand_runs_are_a_bounded_number_of_rows_and_the_newest_are_single(runs) -> None:
    ran(runs, 1000)
    rows = runs.rows()
    assert len(rows) == MAX_RUNS
    assert sum(each.runs for each in rows) == 1000
    assert [each.last for each in rows[-NEWEST:]] == list(range(1001 - NEWEST, 1001))


def test_graphs_that_tensorflow_builds_for_others_are_tracing_too(runs) -> None:
    def slow(x):
        time.sleep(0.1)
        return x + 1

    runs.begin(Cell("cell", 1))
    tf.data.Dataset.range(3).map(slow)
    tf.function(slow)(tf.ones([1]))
    runs.end("done")
    (run,) = runs.rows()
    assert 0.2 <= run.tracing <= run.seconds


def test_calls_on_other_threads_are_reported_beside(runs) -> None:
    def body(x):
        for _ in tf.range(300):
            x = x @ x / tf.norm(x)
        return x

    f = nbfn.function(body)
    x = tf.random.normal([200, 200])
    f(x)
    runs.begin(Cell("cell", 1))
    threads = [threading.Thread(target=f, args=(x,)) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    runs.end("done")
    (run,) = runs.rows()
    assert run.calls == 2
    assert run.graph == run.tracing == 0
    assert run.elsewhere > 0


def test_a_run_that_goes_on_is_reported_with_what_it_is_seen_to_do(runs, monkeypatch) -> None:
    monkeypatch.setattr(timeline, "DELAY", 0.0)
    runs.add_sample("run")  # between cells
    assert runs.rows() == ()
    runs.begin(Cell("cell", 1))
    time.sleep(0.1)
    runs.add_sample("run")
    time.sleep(0.1)
    runs.add_sample("unnoted")
    (run,) = runs.rows()
    assert run.running
    assert run.graph - run.sampled >= 0.1
    assert run.sampled >= 0.1
    assert run.seconds - run.graph - run.tracing < 0.1
    runs.end("failed")
    (run,) = runs.rows()
    assert (run.running, run.failed, run.tracing) == (False, 1, 0)
    assert run.graph == run.sampled >= 0.1


def test_a_feed_tells_runs_once_and_takes_out_what_is_merged(runs) -> None:
    feed, patches, known = Feed(), [], CollectedRecords()
    feed.subscribe(patches.append)
    ran(runs, MAX_RUNS)
    feed.flush()
    feed.flush()
    _, patch = patches
    assert len(patch.put.runs) == MAX_RUNS
    runs.begin(Cell("cell", 0))
    runs.end("done")
    feed.flush()
    patch = patches[-1]
    assert len(patch.put.runs) == 2
    assert len(patch.removed.runs) == 1
    state = feed.snapshot().state
    assert list(state.runs) == [each.id for each in runs.rows()]
    for each in patches[1:]:
        reported = each.model_dump(mode="json")
        known.take({name: reported[name] for name in ("put", "removed", "totals", "tensorflow")})
    assert known.state.runs == state.runs


def test_what_a_notebook_keeps_is_small_and_spans_everything(runs) -> None:
    ran(runs, MAX_RUNS)
    feed = Feed()
    kept = list(feed.saved_snapshot().state.runs.values())
    assert len(kept) == SAVED_RUNS
    assert sum(each.runs for each in kept) == MAX_RUNS
    assert len(feed.snapshot().state.runs) == MAX_RUNS
    assert sum(len(each.model_dump_json()) for each in kept) < 25_000


def test_a_row_has_whole_microseconds() -> None:
    row = _run_record(made(1, 1e9 + 1 / 3, 1 / 3))
    assert row.seconds == 0.333333
    assert row.graph == 0.166667
    assert row.cell.execution_count == 1


def test_the_memory_of_devices_is_reported_where_tensorflow_counts(runs, monkeypatch) -> None:
    gpu, cpu = ("/device:GPU:0", "/device:CPU:0")
    counted = iter([(100, 300), (40, 500), (70, 500)])

    def info(device: str) -> dict[str, int]:
        assert device == "GPU:0"
        return dict(zip(("current", "peak"), next(counted), strict=True))

    tf.zeros([1])  # TensorFlow has begun to compute
    listed = [tf.config.LogicalDevice(name, name[8:11]) for name in (cpu, gpu)]
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda: listed)
    monkeypatch.setattr(tf.config.experimental, "get_memory_info", info)
    for number in (1, 2, 3):
        runs.begin(Cell(f"cell-{number}", number))
        if number == 1:
            runs.add_sample("run")
        runs.end("done")
    first, second, third = runs.rows()
    assert [each.devices for each in (first, second)] == [{gpu: (100, 300)}, {gpu: (40, 500)}]
    assert _run_record(third).devices == {gpu: [70, 500]}
    (both,) = merged([first, second], 1)
    assert both.devices == {gpu: (100, 500)}


def test_devices_are_not_asked_before_tensorflow_begins_to_compute(monkeypatch) -> None:
    assert devices.memory_of_devices() == {}  # a CPU alone, of which nothing is counted

    class Fresh:
        _initialized = False

    def never() -> list[str]:
        raise AssertionError("the devices were asked for")

    monkeypatch.setattr(devices._context, "context_safe", Fresh)
    monkeypatch.setattr(tf.config, "list_logical_devices", never)
    assert devices.memory_of_devices() == {}
