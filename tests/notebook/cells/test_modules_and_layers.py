"""What the user's code notes in modules and layers is left as an eager cell leaves it."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tests.notebook.sides import assert_the_same

COUNTING = """class M(tf.Module):
    def __init__(self):
        super().__init__()
        self.k = 0; self.w = tf.Variable(2.0); self.seen = []; self.log = {}
    def __call__(self, x):
        self.k += 1
        self.seen.append(self.k)
        return x * self.w
m = M()"""

MAKING = """class {name}({base}):
    def __init__(self):
        super().__init__()
        self.layers = []; self.n = 0; self.calls = 0; self.names = []; self.log = []
    def __call__(self, x):
        self.calls += 1
        self.log.append("call")
        while len(self.layers) < 2:
            self.layers.append(tf.keras.layers.Dense(2, kernel_initializer="ones"))
            self.n += 1
            self.names.append(f"layer {{self.n}}")
        for layer in self.layers:
            x = layer(x)
        self.last = x
        return x
m = {name}()"""

DENSE = 'm = tf.keras.Sequential([tf.keras.layers.Dense(2, kernel_initializer="ones")])\n'

FREEZING = """def freeze(model):
    for layer in model.layers[:1]:
        layer.trainable = False
m = tf.keras.Sequential([tf.keras.layers.Dense(2, kernel_initializer="ones") for _ in range(2)])"""

BELONGING = """class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(2, kernel_initializer="ones")])
    def step(self, x):
        return self.model(x)
trainer = Trainer()"""

CASES = [
    (BELONGING, "r = trainer.step(x[None])", "(r, len(trainer.model.layers), trainer.model.built)"),
    (FREEZING, "freeze(m)\nr = m(x[None])", "(r, [layer.trainable for layer in m.layers])"),
    (COUNTING, "r = m(x)", "(r, m.k, list(m.seen))"),
    (
        "m = tf.Module(); m.mode = 'a'",
        "m.mode = 'b' if m.mode == 'a' else 'a'\nr = x * (2.0 if m.mode == 'a' else 3.0)",
        "(r, m.mode)",
    ),
    ("m = tf.Module()", "setattr(m, 'k', getattr(m, 'k', 0) + 1)", "m.k"),
    (
        """class M(tf.Module):
    def __init__(self): super().__init__(); self.state = tf.zeros(2)
    def step(self, x):
        self.before, self.state = self.state, self.state + x
m = M()""",
        "m.step(x)",
        "(m.state, m.before)",
    ),
    (
        """class M(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.d = tf.keras.layers.Dense(2, kernel_initializer="ones")
        self.seen = []; self.info = {"n": 0}
    def call(self, x):
        self.seen.append(1.0)
        self.info["n"] += 1
        return self.d(x)
m = M(); m(x[None]); m.seen.clear(); m.info["n"] = 0""",
        "r = m(x[None])",
        "(r, list(m.seen), m.info['n'], m.built)",
    ),
    *(
        (
            MAKING.format(name=name, base=base),
            "r = m(x[None])",
            "(r, len(m.layers), m.n, m.calls, list(m.names), list(m.log), m.last)",
        )
        for name, base in (("M", "tf.Module"), ("P", "object"))
    ),
    (
        """class M(tf.Module):
    is_built = False
    def __call__(self, x):
        if not self.is_built:
            self.w = tf.Variable(tf.ones(x.shape[-1:]))
            self.sizes = {"in": x.shape[-1]}
            self.is_built = True
        return x * self.w
m = M()""",
        "r = m(x)",
        "(r, m.w, m.is_built, dict(m.sizes))",
    ),
    (
        "b = Box(); b.ready = False",
        "if not b.ready:\n    b.w = tf.Variable(1.0)\n    b.ready = True\nr = x * b.w",
        "(r, b.ready, b.w)",
    ),
    (
        """made = {}
def get(name):
    if name not in made:
        made[name] = tf.Variable(1.0)
        made[name + "_n"] = 1
    return made[name]""",
        "r = x * get('a') * get('b')",
        "(r, made)",
    ),
    (
        "w = None\ndef net(x):\n    global w\n    if w is None:\n        w = tf.Variable(2.0)\n"
        "    return x * w",
        "r = net(x)",
        "(r, w)",
    ),
    (
        "class Cache: kept = {}\ncache = Cache()",
        "if 'w' not in cache.kept: cache.kept['w'] = tf.Variable(2.0)\nr = x * cache.kept['w']",
        "(r, cache.kept)",
    ),
    (
        """class M(tf.Module):
    is_built = False; best = None
    def __call__(self, x):
        if not self.is_built:
            self.w = tf.Variable(2.0); self.step = 0; self.log = []; self.is_built = True
        self.step += 1
        self.log.append(len(self.log))
        self.best = 1.0 if self.best is None else self.best * 2
        return x * self.w / self.step
m = M()""",
        "r = m(x)",
        "(m.step, list(m.log), m.best)",
    ),
    (DENSE, "r = m(x[None])", "(r, m.built)"),
    (DENSE, "r = m(x[None])\nm.stop_training = True\nm.rows = [r]", "(m.stop_training, *m.rows)"),
    (DENSE + "m.build((None, 2)); m.note = 'a'", "m.note = m.note + 'b'\nr = m(x[None])", "m.note"),
    (
        DENSE + "m.build((None, 2))",
        "m.layers[0].trainable = not m.layers[0].trainable\nr = m(x[None])",
        "(r, m.layers[0].trainable, len(m.trainable_weights))",
    ),
    (
        """m = tf.keras.Sequential([
    tf.keras.layers.Dense(2, kernel_initializer="ones", kernel_regularizer="l2"),
    tf.keras.layers.ActivityRegularization(0.1),
])""",
        "r = m(x[None], training=True)\nr2 = tf.add_n(m.losses)",
        "(r, r2)",
    ),
    *(
        (
            f"""class Own(tf.keras.layers.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_sum(x))
        return x
i = tf.keras.Input((2,))
m = tf.keras.Model(i, {layer}(i))""",
            "r = m(x[None])",
            "[loss.numpy() for loss in m.losses]",
        )
        for layer in ("tf.keras.layers.ActivityRegularization(0.1)", "Own()")
    ),
    (
        "opt = tf.keras.optimizers.SGD(0.1)",
        "opt.learning_rate = 0.5\nopt.apply_gradients([(x, v)])",
        "(v, opt.learning_rate.numpy())",
    ),
    *(
        (
            f"class M({base}): pass\nm = M()",
            "m.a = [x, 1]; m.b = {'x': x, 'y': {'z': (x, 2)}}; m.c = (x, [x])\nr = m.a",
            "(list(m.a), m.b['x'], m.b['y']['z'], m.c[0], list(m.c[1]), list(r))",
        )
        for base in ("tf.Module", "tf.keras.layers.Layer")
    ),
    (
        "m = tf.Module(); m.a = [1, x]; m.b = {'n': 0}",
        "q = m.a; w = m.b\nm.a.append(x * 2); m.b['k'] = x",
        "(q is m.a, w is m.b, list(m.a), m.b['k'], type(q).__name__)",
    ),
]


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")
@pytest.mark.parametrize(("setup", "cell", "probe"), CASES, ids=[cell for _, cell, _ in CASES])
def test_it_leaves_what_an_eager_cell_leaves(shell, setup: str, cell: str, probe: str) -> None:
    assert_the_same(shell, setup, cell, probe)


def test_a_failing_cell_leaves_them_as_they_were(run, shell, refused) -> None:
    run(COUNTING)
    run(DENSE.replace("m =", "layers =") + "layers.build((None, 2))")
    refused(
        "%%tf_function\nlayers.layers[0].trainable = False\nm.note = 'x'\n"
        "r = m(tf.constant(1.0))\ntf.constant(1.0) + 'a'"
    )
    assert run("m.k, list(m.seen), hasattr(m, 'note')").result == (0, [], False)
    assert run("layers.layers[0].trainable, len(layers.trainable_weights)").result == (True, 2)


def test_a_module_whose_lists_have_changed_can_be_saved(run, tmp_path) -> None:
    run("m = tf.Module(); m.parts = [tf.Variable(1.0)]; m.seen = [tf.constant(0.0)]")
    for _ in range(2):
        run("%%tf_function\nm.seen.append(m.parts[0] * 2.0)\nm.parts.append(m.parts[0])")
    saved = run(f"tf.train.Checkpoint(m=m).save({str(tmp_path / 'm')!r})").result
    assert "m/parts/0/.ATTRIBUTES/VARIABLE_VALUE" in dict(tf.train.list_variables(saved))
    assert run("len(m.seen)").result == 3


def test_a_list_that_a_first_call_has_filled_with_variables_can_be_saved(run, tmp_path) -> None:
    run(
        """class M(tf.Module):
    def __init__(self): super().__init__(); self.weights = []
    def __call__(self, x):
        if not self.weights:
            self.weights.append(tf.Variable(2.0))
        return x * self.weights[0]
m = M(); x = tf.ones(2)"""
    )
    run("%%tf_function step\nr = m(x)")
    module = run("m").result
    saved = tf.train.Checkpoint(m=module).write(str(tmp_path / "saved"))
    module.weights[0].assign(5.0)
    tf.train.Checkpoint(m=module).read(saved).assert_consumed()
    assert float(module.weights[0]) == 2.0


def test_what_a_first_call_has_made_counts_in_later_ones(run) -> None:
    run(
        "class M(tf.Module):\n    def __init__(self): super().__init__(); self.w = None\n"
        "    def __call__(self, x):\n        if self.w is None:\n"
        "            self.w = tf.Variable(1.0); self.n = 0\n"
        "        self.n += 1\n        return x * self.n\nm = M(); x = tf.constant(1.0)"
    )
    seen = []
    for _ in range(4):
        run("%%tf_function\ny = m(x)")
        seen.append(run("m.n, float(y)").result)
    # The graph of a first call that makes variables is the one of a second run.
    assert seen == [(1, 2.0), (2, 2.0), (3, 3.0), (4, 4.0)]


def test_a_call_that_makes_a_variable_needs_no_further_trace(run) -> None:
    run("class M(tf.Module): w = None\nm = M(); x = tf.constant(1.0)")
    for _ in range(3):
        run("%%tf_function f\nif m.w is None:\n    m.w = tf.Variable(2.0)\ny = x * m.w")
    assert run("f.hits, f.retraces, float(y)").result == (2, (), 2.0)


def test_a_hit_needs_no_new_trace(run) -> None:
    run("m = tf.keras.Sequential([tf.keras.layers.Dense(2)])\nx = tf.ones([1, 2])")
    for _ in range(3):
        run("%%tf_function f\nm.last = m(x)")
    assert run("f.hits, f.retraces, m.last.shape.rank").result == (2, (), 2)
