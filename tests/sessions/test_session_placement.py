"""The devices of a session: what they hold, what ran there, and what was copied."""

from __future__ import annotations

import tensorflow as tf

import nbfn
from nbfn.functions.calls.placement import Copy, PlacedOperation, Placement
from nbfn.sessions.session import Session
from nbfn.sessions.session_placement import Memory, session_placement
from nbfn.views.shown import page_of

CPU, GPU = "/device:CPU:0", "/device:GPU:0"


def test_a_watched_call_says_what_ran_where() -> None:
    held = {"weight": tf.Variable(tf.ones([10]))}
    f = nbfn.function(lambda x: x * held["weight"])
    g = nbfn.function(lambda x: x + 1.0)
    f(tf.ones([10]))
    g(tf.ones([10]))
    session = Session({"f": f, "g": g, "held": held})
    assert session.placement.unwatched[:2] == ("f", "g")
    assert "f" not in session.placement.functions
    f.run(tf.ones([10]))
    found = session.placement
    assert (next(iter(found.functions)), found.unwatched[0]) == ("f", "g")
    assert found.functions["f"].devices.keys() == {"CPU:0"}
    assert found.operations["CPU:0"] > 0
    assert found.memory[session.devices[0]].variables == 40
    text = page_of(found).text()
    assert "no call of `g`" in text
    assert "40 B" in text


def test_copies_are_arrows_with_their_sizes() -> None:
    f = nbfn.function(lambda x: x)
    f.recorder.placement = Placement(
        (
            PlacedOperation("a", "MatMul", "GPU:0", "GPU:0"),
            PlacedOperation("b", "Add", "CPU:0", "GPU:0"),
        ),
        (
            Copy("a", "GPU:0", "CPU:0", 4_000),
            Copy("b", "GPU:0", "CPU:0", None),
            Copy("c", "CPU:0", "GPU:0", 8),
        ),
    )
    memory = {CPU: Memory(100), GPU: Memory(4_000, 5_000, 6_000)}
    page = page_of(session_placement([("f", f)], memory, None))
    assert page.diagram is not None
    assert {node.label: node.lines for node in page.diagram.nodes} == {
        "GPU:0": ["1 operation", "4 kB of variables", "5 kB in use, 6 kB at most"],
        "CPU:0": ["1 operation", "100 B of variables"],
    }
    edges = {(edge.source, edge.target): edge.label for edge in page.diagram.edges}
    assert edges == {
        ("GPU:0", "CPU:0"): "2 tensors, at least 4 kB",
        ("CPU:0", "GPU:0"): "1 tensor, 8 B",
    }
    text = page.text()
    assert "5 kB    6 kB" in text
    assert "GPU:0: 1, CPU:0: 1  1                    3" in text


def test_replicas_of_a_strategy_are_named() -> None:
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    found = session_placement([], {CPU: Memory(0), GPU: Memory(0)}, strategy)
    assert found.replicas == {CPU: "replica 0"}
    assert page_of(session_placement([], {CPU: Memory(0)}, None)).diagram is None
