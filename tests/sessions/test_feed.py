"""The feed sends what has changed, once, to everyone who watches."""

from __future__ import annotations

import gc

import pytest
import tensorflow as tf

import nbfn
from nbfn import protocol
from nbfn.sessions.feed import Feed


@pytest.fixture
def feed() -> Feed:
    gc.collect()
    return Feed()


class Client:
    """Applies messages as a front end does."""

    def __init__(self, feed: Feed) -> None:
        self.patches: list[protocol.Patch] = []
        feed.subscribe(self.receive)

    def receive(self, patch: protocol.Snapshot | protocol.Patch) -> None:
        if isinstance(patch, protocol.Snapshot):
            self.seq = patch.seq
            self.state = patch.state.model_dump()
            return
        assert patch.seq == self.seq + 1
        self.seq = patch.seq
        self.patches.append(patch)
        for table, rows in patch.put.model_dump().items():
            self.state[table] |= rows
        for table, ids in patch.removed.model_dump().items():
            for id in ids:
                del self.state[table][id]


def test_patches_lead_to_the_same_state_as_a_snapshot(feed) -> None:
    client = Client(feed)
    weight = tf.Variable(1.0)
    f = nbfn.function(lambda x: x * weight)
    f(tf.ones([1]))
    feed.flush()
    f(tf.ones([2]))
    feed.flush()
    (retrace,) = [row for row in client.state["retraces"].values() if row["function"] == f.id]
    assert not retrace["settled"]
    f.relax()
    feed.flush()
    (retrace,) = [row for row in client.state["retraces"].values() if row["function"] == f.id]
    assert retrace["settled"]
    assert client.state == feed.snapshot().state.model_dump()
    assert client.state["functions"][f.id]["calls"] == 2
    assert [row["cause"]["code"] for row in client.state["traces"].values()][-1] == "relaxed"
    assert "weight" in [row["name"] for row in client.state["variables"].values()]


def test_only_what_changed_is_sent(feed) -> None:
    f = nbfn.function(lambda x: x + 1)
    g = nbfn.function(lambda x: x + 2)
    f(tf.ones([1]))
    g(tf.ones([1]))
    client = Client(feed)
    feed.flush()
    assert client.patches == []
    g(tf.ones([1]))
    feed.flush()
    (patch,) = client.patches
    assert list(patch.put.functions) == [g.id]
    assert [row.hits for row in patch.put.traces.values()] == [1]


def test_a_retrace_is_sent_with_cause_and_remedy(feed) -> None:
    client = Client(feed)

    @nbfn.function
    def f(images):
        return images + 1

    f(tf.ones([1]))
    f(tf.ones([2]))
    feed.flush()
    (row,) = [r for r in client.state["retraces"].values() if r["function"] == f.id]
    assert row["causes"][0]["code"] == "shape"
    assert row["remedy"]["code"] == "f.relax()"
    assert client.state["functions"][f.id]["last_retrace"] == row["id"]
    assert row["trace"] in client.state["traces"]


def test_a_dropped_function_is_removed_with_all_its_rows(feed) -> None:
    only_here = tf.Variable(1.0)
    f = nbfn.function(lambda x: x * only_here)
    f(tf.ones([1]))
    f(tf.ones([2]))
    client = Client(feed)
    assert f.id in client.state["functions"]
    id = f.id
    del f
    gc.collect()
    feed.flush()
    assert id not in client.state["functions"]
    for table in ("traces", "retraces"):
        assert all(row["function"] != id for row in client.state[table].values())
    assert not any(row["name"] == "only_here" for row in client.state["variables"].values())


def test_a_client_that_has_failed_gets_everything_anew_and_the_others_go_on(feed) -> None:
    got: list[protocol.Snapshot | protocol.Patch] = []

    def fail_once(message: protocol.Snapshot | protocol.Patch) -> None:
        got.append(message)
        if len(got) == 2:
            raise OSError("gone")

    feed.subscribe(fail_once)
    client = Client(feed)
    f = nbfn.function(lambda x: x + 1)
    f(tf.ones([1]))
    with pytest.warns(nbfn.NbfnWarning, match="could not update one of its views.*gone"):
        feed.flush()
    f(tf.ones([1]))
    feed.flush()
    assert len(client.patches) == 2
    assert isinstance(got[2], protocol.Snapshot)
    assert got[2].state.functions[f.id].calls == 2
    f(tf.ones([1]))
    feed.flush()
    assert isinstance(got[3], protocol.Patch)
    assert got[3].seq == got[2].seq + 1


def test_one_function_that_cannot_be_shown_hides_no_other(feed, monkeypatch) -> None:
    client = Client(feed)
    shown, hidden = nbfn.function(lambda x: x + 1), nbfn.function(lambda x: x + 2)
    with monkeypatch.context() as broken:
        broken.setattr(hidden, "site", None)
        shown(tf.ones([1]))
        hidden(tf.ones([1]))
        with pytest.warns(nbfn.NbfnWarning, match="could not show what has changed of"):
            feed.flush()
    assert client.state["functions"].keys() >= {shown.id}
    assert hidden.id not in client.state["functions"]
    hidden(tf.ones([1]))
    feed.flush()
    assert client.state["functions"][hidden.id]["calls"] == 2


def test_bare_methods_are_not_listed(feed) -> None:
    class Model:
        @nbfn.function
        def step(self, x):
            return x

    model = Model()
    client = Client(feed)
    before = set(client.state["functions"])
    assert Model.__dict__["step"].id not in before
    model.step(tf.constant(1))
    feed.flush()
    (added,) = client.state["functions"].keys() - before
    assert client.state["functions"][added]["name"] == "Model.step"


def test_work_is_sent_when_it_changes_and_taken_out_when_it_ends(feed) -> None:
    f = nbfn.function(lambda x: x)
    client = Client(feed)
    row = protocol.WorkRecord(
        id="1", kind="run", name="f", function=f.id, sentence="running f: 1 s", seconds=1
    )
    feed.set_work({"1": row})
    feed.flush()
    feed.flush()
    assert len(client.patches) == 1
    assert feed.snapshot_of(f).state.work == {"1": row}
    assert feed.snapshot_of(nbfn.function(lambda x: x + 1)).state.work == {}
    feed.set_work({"1": row.model_copy(update={"seconds": 2})})
    feed.flush()
    assert client.state["work"]["1"]["seconds"] == 2
    feed.set_work({})
    feed.flush()
    assert client.state["work"] == {}


def test_a_patch_tells_the_version_that_was_imported_since(feed) -> None:
    client = Client(feed)
    feed.set_environment("2.19.1", {"CPU:0": protocol.DeviceRecord(id="CPU:0", kind="CPU")})
    feed.flush()
    assert [patch.tensorflow for patch in client.patches] == ["2.19.1"]
