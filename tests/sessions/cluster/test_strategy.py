"""The quickstart's training step under strategies: the same losses as on one device."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nbfn.sessions.cluster.strategy import scope, use
from tests.functions.conftest import on_two_devices as on_two_devices
from tests.harness import forked_kernels

STEPS = Path(__file__).with_name("steps.py")
SAME: dict[str, Any] = {"rtol": 2e-5, "atol": 2e-6}
"""Adam makes rounding larger; a wrong factor changes the losses of SGD by 0.5 % (measured)."""


def free_addresses(number: int) -> list[str]:
    with ExitStack() as stack:
        made = [stack.enter_context(closing(socket.socket())) for _ in range(number)]
        for each in made:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in made]


def start(folder: Path, how: str, number: int, config: Any = None) -> subprocess.Popen[str]:
    environment = {**os.environ, "TF_CONFIG": json.dumps(config)} if config else None
    return subprocess.Popen(
        forked_kernels.command_of(STEPS, how, str(number), str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def result(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-3000:]
    found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return found


Runs = Mapping[str, dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("strategies")


@pytest.fixture(scope="module")
def runs(folder: Path) -> Runs:
    addresses = free_addresses(2)
    configs = [
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}} for i in range(2)
    ]
    started = {"one": start(folder, "one", 1), "mirrored": start(folder, "mirrored", 2)}
    found = {name: result(process) for name, process in started.items()}
    workers = [start(folder, "workers", 2, config) for config in configs]
    found.update({f"worker {i}": result(each) for i, each in enumerate(workers)})
    return found


def of_any_type() -> list[Any]:
    import nbfn

    session = nbfn.session(strategy=tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
    x = tf.reshape(tf.range(4.0), [4, 1])
    with session.scope():
        weight = tf.Variable([2.0])
    sys.modules["__main__"].__dict__["weight"] = weight
    scaled = nbfn.function(lambda x: x * weight)
    sys.modules["__main__"].__dict__["scaled"] = scaled
    changes = (
        *(lambda x: x > 1.0, tf.strings.as_string),
        *(lambda x: tf.cast(x, tf.uint8), lambda x: tf.constant(True)),
    )
    functions = [scaled, *map(nbfn.function, changes)]
    found = [session.run(each, x).numpy().tolist() for each in functions]
    return [*found, list(session.unused), session.used_by("weight")]


def test_results_of_any_type_and_who_uses_a_variable(on_two_devices) -> None:
    rows, larger, texts, whole, true, unused, users = on_two_devices(of_any_type)
    assert rows == [[0.0], [2.0], [4.0], [6.0]]
    assert larger == [[False], [False], [True], [True]]
    assert texts == [[b"0.000000"], [b"1.000000"], [b"2.000000"], [b"3.000000"]]
    assert (whole, true) == ([[0], [1], [2], [3]], True)
    assert (unused, users) == ([], ("scaled",))


SPREAD = ["mirrored", "worker 0", "worker 1"]


@pytest.mark.parametrize("how", SPREAD)
def test_losses_are_those_of_one_device(runs: Runs, how: str) -> None:
    one, spread = runs["one"], runs[how]
    np.testing.assert_allclose(spread["adam"], one["adam"], **SAME)
    np.testing.assert_allclose(spread["sgd"], one["sgd"], **SAME)
    np.testing.assert_allclose(spread["by_hand"], one["by_hand"], **SAME)
    np.testing.assert_allclose(spread["scores"], one["scores"], rtol=1e-2, atol=1e-4)
    assert spread["iterations"] == one["iterations"] == 5


@pytest.mark.parametrize("how", SPREAD)
def test_only_what_run_calls_is_on_replicas(runs: Runs, how: str) -> None:
    under = runs[how]["under"]
    name = "MultiWorkerMirroredStrategy" if "worker" in how else "MirroredStrategy"
    split = f"{name} with 2 replicas"
    assert under["train_step"] == [split, split]
    assert under["predict"] == [split, None]
    assert under["summed"] == [None]
    assert runs[how]["plain"]
    assert runs["one"]["sum"] == pytest.approx(runs[how]["sum"], rel=1e-3)


@pytest.mark.parametrize("how", ["one", *SPREAD])
def test_nothing_is_reported(runs: Runs, how: str) -> None:
    assert runs[how]["reported"] == []


def test_what_is_no_strategy_is_refused(runs: Runs) -> None:
    assert "strategy is of type str, 'mirrored'; expected a" in runs["one"]["strategy_error"]


@pytest.mark.parametrize("how", SPREAD)
def test_retraces_are_explained(runs: Runs, how: str) -> None:
    assert runs[how]["causes"] == [
        "`images`: shape was [64, 64], is [29, 64]",
        "`labels`: shape was [64], is [29]",
    ]
    assert runs[how]["calls"] == [5, 3, 2]


def test_placement_is_by_replica(runs: Runs) -> None:
    devices = runs["mirrored"]["devices"]
    assert set(devices) == {f"CPU:{i}" for i in range(2)}
    assert min(devices.values()) > 50


def test_floating_results_are_averaged_and_others_must_agree(runs: Runs) -> None:
    found = runs["mirrored"]
    assert found["mean_of_sums"] == pytest.approx(found["sum"] / 2, rel=0.05)
    assert "a result of int32() differs between the replicas" in found["right"]


_WHY = {
    "outside": "`step` uses variables that were made outside of the strategy. Make",
    "late": "the variable `",
}


@pytest.mark.parametrize("which", list(_WHY))
def test_variables_that_the_scope_should_have_made_are_reported(runs: Runs, which: str) -> None:
    found = runs["mirrored"][which]
    if found is None and which == "late":
        pytest.skip("Keras makes an optimizer's variables where those of the model are")
    assert found.startswith("StrategyError: ")
    assert _WHY[which] in found
    assert "with nbfn.session().scope():" in found
    assert "optimizer.build(model.trainable_variables)" in found


def test_a_step_is_not_exported(runs: Runs) -> None:
    found = runs["mirrored"]
    assert "`train_step` runs on the replicas of MirroredStrategy and changes" in found["step"]
    assert "`reduces_itself` runs on the replicas" in found["own_collectives"]
    assert "communicates between replicas" in found["own_collectives"]
    assert "`within` communicates between devices, and would block" in found["within"]


@pytest.mark.parametrize("how", ["mirrored", "worker 0", "worker 1"])
def test_an_export_is_verified_with_the_batch_that_replicas_shared(runs: Runs, how: str) -> None:
    (said,) = runs[how]["verified"]
    assert said.startswith("predict: equal (with the inputs of a real call")
    assert runs["mirrored"]["preflight"] == []


def test_a_session_leaves_its_strategy(runs: Runs) -> None:
    assert runs["mirrored"]["after"] == [3, 10]


def test_the_chief_exports_once(runs: Runs, folder: Path) -> None:
    target = folder / "model"
    assert runs["worker 0"]["exported"] == str(target)
    assert runs["worker 1"]["exported"] != str(target)
    assert not Path(runs["worker 1"]["exported"]).exists()
    loaded = tf.saved_model.load(str(target))
    types = {
        node.op
        for function in loaded.signatures["predict"].graph.as_graph_def().library.function
        for node in function.node_def
    }
    assert not [each for each in types if each.startswith("Collective")]
    images = np.random.default_rng(0).normal(size=(320, 64)).astype(np.float32)[:64]
    scores = loaded.signatures["predict"](images=tf.constant(images))["scores"]
    np.testing.assert_allclose(scores, runs["worker 0"]["scores"], rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(
    len(tf.config.list_physical_devices("GPU")) < 2,
    reason="needs two GPUs, and this machine has fewer",
)
def test_placement_on_gpus() -> None:
    code = (
        "import tensorflow as tf, nbfn\n"
        "s = nbfn.session(strategy=tf.distribute.MirroredStrategy(['GPU:0', 'GPU:1']))\n"
        "with s.scope(): w = tf.Variable([[2.0]])\n"
        "f = nbfn.function(lambda x: x @ w); f(tf.ones([4, 1]))\n"
        "print(sorted(f.run(tf.ones([4, 1])).placement.devices))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert "GPU:0" in made.stdout, made.stderr[-2000:]
    assert "GPU:1" in made.stdout


def test_an_initial_value_is_computed_once() -> None:
    calls = []

    def initial():
        calls.append(1)
        return tf.ones([2])

    use(tf.distribute.MirroredStrategy(["CPU:0"]))
    try:
        with scope():
            made = tf.Variable(initial)
    finally:
        use(None)
    assert len(calls) == 1
    assert made.aggregation is tf.VariableAggregation.MEAN
