"""What is reported of a cell's retraces, in segments, that runs again and again."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("always_traced")

DATA = "import keras\nx, y = tf.ones([64, 3]), tf.zeros([64, 1])"
MODEL = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = keras.layers.Dense(8, activation="relu")
        self.out = keras.layers.Dense(1)

    def call(self, x):
        return self.out(self.hidden(x))

model = keras.Sequential([keras.layers.Input([3]), keras.layers.Dense(8), keras.layers.Dense(1)])
net = Net()
net(x)
opt = keras.optimizers.Adam(0.01)
opt.build(model.trainable_variables + net.trainable_variables)
"""
STEP = """%%tf_function step
for i in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) + net(x) - y) ** 2)
    weights = model.trainable_variables + net.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, weights), weights))
"""
INTERNAL = ("lock", "uid", "address", "built", "parent", "sequential", "dense", "adam.")


def causes(run: Any, cell: str) -> list[str]:
    """The causes of the newest retrace of a cell, in words."""
    (function,) = run(f"{cell}.functions").result
    return [cause.sentence for cause in function.retraces[-1].causes]


def test_a_model_made_again_is_one_cause_and_needs_no_remedy(run) -> None:
    run(DATA)
    for _ in range(3):
        run(MODEL)
        run(STEP)
        shown = run(STEP).text
    said = [sentence.partition(", set in In [") for sentence in causes(run, "step")]
    assert [(sentence, bool(cell)) for sentence, cell, _ in said] == [
        ("global `model` is another Sequential", True),
        ("global `net` is another Net", True),
        ("global `opt` is another Adam", True),
    ]
    retraces = run("step.retraces").result
    assert [retrace.remedy for retrace in retraces] == [None]
    reported = "".join(map(repr, retraces))
    assert [word for word in INTERNAL if word in reported] == []
    assert "tf.Variable" not in shown


def test_an_attribute_of_a_layer_has_the_name_by_which_the_user_reaches_it(run) -> None:
    run(DATA)
    run(MODEL)
    for _ in range(2):
        run(STEP)
    run("model.layers[0].trainable = net.hidden.trainable = False")
    for _ in range(2):
        run(STEP)
    assert causes(run, "step") == [
        "setting `model.layers[0].trainable` was True, is False",
        "setting `net.hidden.trainable` was True, is False",
    ]
    assert run("step.retraces[-1].remedy").result is None


@pytest.mark.parametrize(
    ("cell", "between"),
    [
        ("y = x * rate\nz = y + 1.0", "rate = 0.02"),
        ("for i in range(3):\n    y = x * tf.cast(i, tf.float32)\n    print(i)", "pass"),
        ("total = 0.0\nfor row in rows:\n    total += tf.reduce_sum(row)\n    print(row)", "pass"),
    ],
)
def test_a_number_that_becomes_a_tensor_is_no_retrace(run, cell: str, between: str) -> None:
    run("x = tf.ones([2]); rate = 0.01; rows = [x, x, x]")
    for _ in range(3):
        shown = run(f"%%tf_function step\n{cell}").text
        run(between)
    functions = run("getattr(step, 'functions', [step])").result
    assert any("[]" in trace.signature for each in functions for trace in each.traces)
    assert [retrace for each in functions for retrace in each.retraces] == []
    assert "retraced" not in shown
    assert "Pass `" not in shown


def test_what_nbfn_passes_to_a_loop_is_not_shown(run) -> None:
    run("x = tf.ones([2]); n = 8")
    for turns in (8, 8, 8, 9, 9, 9):
        run(f"n = {turns}\ny = x")
        shown = run("%%tf_function step\nfor i in range(n):\n    y = y + x").text
    (function,) = run("getattr(step, 'functions', [step])").result
    assert [trace.signature for trace in function.traces] == ["y: float32[2], x: float32[2]"] * 2
    assert "nbfn·" not in shown + run("step").text
    assert repr(function.retraces[0].causes[0]).count("nbfn·") == 0
    assert function.retraces[0].remedy is None


def test_an_object_that_dies_or_is_met_later_changes_no_other_trace(run) -> None:
    run(DATA)
    cell = "%%tf_function step\nfor m in models:\n    z = m(x) * 2.0\n    print(z.shape)"
    run("import gc, keras\nmodels = [keras.layers.Dense(4), keras.layers.Dense(4)]")
    run("for m in models: m.build([64, 3])")
    for _ in range(3):
        run(cell)
    (function,) = run("step.functions").result
    assert len(function.traces) == 2
    run("del models[0], m\nx = x + 0.0\ngc.collect()")
    hits = function.hits
    run(cell)
    assert (function.hits, function.recorder.made) == (hits + 1, 2)
    assert len(function.traces) == 1, "the trace of the layer that has died is freed"


def test_a_layer_that_is_added_is_a_retrace(run) -> None:
    run(DATA)
    run(MODEL)
    cell = "%%tf_function step\nloss = tf.reduce_sum(model(x))"
    for _ in range(2):
        run(cell)
    run("model.add(keras.layers.Dense(2)); model(x)")
    for _ in range(2):
        run(cell)
    assert run("float(loss) == float(tf.reduce_sum(model(x)))").result is True
    step = run("step").result
    assert "setting `model.layers` was 2 layers, is 3 layers" in str(step.retraces[-1])


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
def test_what_is_shown_does_not_grow_with_the_runs(run) -> None:
    from nbfn.views.bundle import bundle_of

    run(DATA)
    run("import nbfn\n@nbfn.function\ndef add(v): return v + w * len(models)")
    sizes = []
    for number in range(30):
        run("w = tf.Variable(1.0)\nmodels = [keras.layers.Dense(1)]")
        for _ in range(2):
            run("%%tf_function step\nz = x * w\nprint(1)")
        run("add(x)")
        if number + 1 in (10, 30):
            shown = [run(f"{name}").result for name in ("step", "add")]
            bundles = [bundle_of(each) for each in (*shown, run("nbfn.session()").result)]
            sizes.append([len(each[kind]) for each in bundles for kind in PLACES])
    assert all(last <= first * 1.25 for first, last in zip(*sizes, strict=True)), sizes


PLACES = ("text/plain", "text/html")
