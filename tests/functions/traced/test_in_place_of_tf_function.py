"""``tf.function = nbfn.function`` as a notebook's first cell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn import nn

X = tf.ones([4, 3])


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the block, ``tf.function`` is nbfn's."""
    monkeypatch.setattr(tf, "function", nbfn.function)


def test_every_way_to_make_one(replaced) -> None:
    @tf.function
    def bare(x):
        return x + 1

    @tf.function()
    def called(x):
        return x + 1

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def signed(x):
        return x + 1

    @tf.function(reduce_retracing=True, jit_compile=True, autograph=False)
    def options(x):
        return x + 1

    positional = tf.function(lambda x: x + 1, [tf.TensorSpec([None], tf.float32)], False)
    for f in (bare, called, signed, options, positional):
        assert isinstance(f, nbfn.functions.TracedFunction)
        assert f(tf.ones([2])).numpy().tolist() == [2.0, 2.0]
        assert len(f.traces) == 1
    assert positional.input_signature == signed.input_signature
    assert not positional._autograph


def test_methods_each_with_its_own_traces(replaced) -> None:
    class Counter(tf.Module):
        def __init__(self):
            self.n = tf.Variable(0)

        @tf.function
        def add(self, k):
            return self.n.assign_add(k)

        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def twice(self, k):
            return self.add(k) + self.add(k)

    one, two = Counter(), Counter()
    assert [int(one.add(tf.constant(1))) for _ in range(3)] == [1, 2, 3]
    assert int(two.twice(tf.constant(1))) == 3
    assert (one.add.calls, two.twice.calls) == (3, 1)
    assert len(one.add.traces) == 1


def losses(*, run_eagerly: bool = False) -> list[float]:
    tf.keras.utils.set_random_seed(3)
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, "relu"), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse", run_eagerly=run_eagerly)
    x = np.random.default_rng(0).random((20, 3), np.float32)
    fit = model.fit(x, x.sum(1), batch_size=8, epochs=3, verbose=0, validation_data=(x, x.sum(1)))
    return [*fit.history["loss"], *fit.history["val_loss"], *model.predict(x, verbose=0)[:, 0]]


def test_keras_fits_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = losses()
    monkeypatch.setattr(tf, "function", nbfn.function)
    assert losses() == expected


def test_saving_and_loading(replaced, tmp_path: Path) -> None:
    class Scale(tf.Module):
        def __init__(self):
            self.by = tf.Variable(3.0)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def __call__(self, x):
            return x * self.by

        @tf.function
        def unsigned(self, x):
            return x + self.by

    module = Scale()
    module.unsigned(tf.constant(1.0))
    tf.saved_model.save(module, str(tmp_path / "module"))
    loaded = tf.saved_model.load(str(tmp_path / "module"))
    assert loaded(tf.constant([2.0])).numpy().tolist() == [6.0]
    assert float(loaded.unsigned(tf.constant(1.0))) == 4.0
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
    model.save(tmp_path / "model.keras")
    again = tf.keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(X), model(X))
    model.export(str(tmp_path / "served"), verbose=False)
    served = tf.saved_model.load(str(tmp_path / "served"))
    np.testing.assert_allclose(served.serve(X), model(X), rtol=1e-6)


def test_all_of_nbfn_works_meanwhile(replaced, tmp_path: Path) -> None:
    @tf.function
    def f(x):
        return tf.reduce_sum(x) * 2.0

    f(X)
    assert f.check(X).ok
    assert f.run(X).value.numpy() == 24.0
    assert f.explain(tf.ones([5])).trace is None
    carved = f.traces[0].carve([f.traces[0].graph.inputs[0]], [f.traces[0].graph.outputs[0]])
    assert carved is not None
    plain = nbfn.watch(f)
    assert plain is f
    assert nbfn.export(tmp_path / "model", f).verified[0].status == "equal"


def test_modules_work_meanwhile(replaced) -> None:
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x, on):
            x = nn.jit(lambda m, x: nn.Dense(2, name="dense")(x))(self, x)
            return nn.cond(on, lambda m, x: x + 1.0, lambda m, x: x - 1.0, self, x)

    before = nbfn.functions.live_functions()
    variables = Net().init(nn.key(0), X, tf.constant(True))
    shapes = Net().lazy_init(nn.key(0), tf.TensorSpec([4, 3]), tf.TensorSpec([], tf.bool))
    assert shapes["params"]["dense"]["kernel"].shape == (3, 2)
    assert "dense" in str(Net().tabulate(nn.key(0), X, tf.constant(True)))
    bound = Net().bind(variables)
    traced = tf.function(lambda x, on: bound(x, on), autograph=False)
    np.testing.assert_array_equal(traced(X, tf.constant(False)), bound(X, False))
    # What nbfn traces for its own use is none of the user's functions.
    assert [f for f in nbfn.functions.live_functions() if f not in before] == [traced]


def test_it_can_be_set_back() -> None:
    found = tf.function
    try:
        tf.function = nbfn.function
        mine = tf.function(lambda x: x + 1)
        mine(tf.constant(1))
    finally:
        tf.function = found
    plain = tf.function(lambda x: mine(x) + 1)
    assert not isinstance(plain, nbfn.functions.TracedFunction)
    assert int(plain(tf.constant(1))) == 3
    assert int(mine(tf.constant(5))) == 6
    assert isinstance(nbfn.function(lambda x: x), nbfn.functions.TracedFunction)
    assert nbfn.function is not tf.function


SET = "import tensorflow as tf, nbfn\ntf.function = nbfn.function"
USE = """
@tf.function
def f(x):
    if tf.reduce_sum(x) > 0:
        return x * scale
    return x

scale = 2.0
f(tf.ones([2])); f(tf.ones([3]))
scale = 3.0
print([float(v) for v in f(tf.ones([2]))], f.calls, len(f.retraces))
"""


def test_set_before_or_after_the_extension_is_loaded() -> None:
    load, unload = "%load_ext nbfn", "%unload_ext nbfn"
    cells = [
        *("import tensorflow as tf\nplain = tf.function", SET, SET, load, load, USE),
        *(unload, "tf.function = plain", load, SET, USE),
        *(unload, load, USE),
        *("%%tf_function\ndef g(x):\n    return x", "g(tf.ones([1]))", USE),
    ]
    code = (
        "from IPython.core.interactiveshell import InteractiveShell as S\n"
        "s = S.instance(user_ns={'__name__': '__main__'})\n"
        f"for cell in {cells!r}: s.run_cell(cell).raise_error()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600
    )
    assert ended.returncode == 0, ended.stderr
    reported = [line for line in ended.stdout.splitlines() if line.startswith("[")]
    assert reported == ["[3.0, 3.0] 3 2"] * cells.count(USE)


def test_the_annotations_are_the_users() -> None:
    def f(x: tf.Tensor, n: int = 3) -> tf.Tensor:
        return x * n

    assert nbfn.function(f).__annotations__ == f.__annotations__
