"""Hours with tf.Module, nbfn.nn, snapshots, checkpoints and exports."""

from __future__ import annotations

import pytest

from tests.hours.playing.cells import BUILT, DATA, IMPORTS, STEP, TRAIN
from tests.hours.playing.hours import Hour, edit, restart, run, run_all
from tests.hours.playing.kernels import Forks
from tests.hours.playing.player import play

AFTER_BIND = {"predict", "again", "train", "names"}
OF_GAIN = {"apply", "fast", "call", "gradient", "slope"}
OF_TRAINED = {"evaluate", "traced", "traced_again"}

HOURS = [
    Hour(
        "a tf.Module, a checkpoint, a restart and more training",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "class": """\
class Net(tf.Module):
    def __init__(self, units, name=None):
        super().__init__(name=name)
        generator = tf.random.Generator.from_seed(2)
        self.w1 = tf.Variable(generator.normal([3, units]) * 0.3)
        self.w2 = tf.Variable(generator.normal([units, 1]) * 0.3)
        self.seen = tf.Variable(0, trainable=False)
        self.slope = 0.1

    @nbfn.function
    def __call__(self, x):
        return tf.nn.leaky_relu(x @ self.w1, self.slope) @ self.w2

    @nbfn.function
    def step(self, x, y, rate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        for variable, gradient in zip(
            self.trainable_variables, tape.gradient(loss, self.trainable_variables)
        ):
            variable.assign_sub(rate * gradient)
        self.seen.assign_add(tf.shape(x)[0])
        return loss
""",
            "make": "net = Net(4)",
            "train": """\
for _ in range(4):
    loss = net.step(x, y, tf.constant(0.1))
print(f"{float(loss):.4f} {net.seen.numpy()}")
""",
            "save": """\
checkpoint = tf.train.Checkpoint(net=net)
manager = tf.train.CheckpointManager(checkpoint, "kept", max_to_keep=2)
manager.save()
None
""",
            "resume": """\
checkpoint = tf.train.Checkpoint(net=net)
checkpoint.restore(tf.train.latest_checkpoint("kept")).assert_consumed()
print(net.seen.numpy())
""",
            "slope": "net.slope = 0.3",
            "predict": "net(x)[:2].numpy().round(3)",
        },
        uncompared={"manager", "checkpoint"},
        actions=[
            run("imports", "data", "class", "make", "train", "predict"),
            run("save", "train"),
            run("resume", "train", "predict"),
            run(
                "slope", stale={"train", "predict", "save", "resume"}
            ),  # what gets `net` may call it
            run("predict", retraces=1, because="attribute `self.slope` was 0.1, is 0.3"),
            run("train", retraces=1, because="attribute `self.slope` was 0.1, is 0.3"),
            run("train", "predict", "save"),
            run(
                "make",
                stale={"train", "predict", "save", "resume", "slope"},
            ),
            run("resume", "train", "predict", stale={"save", "slope"}),
            restart(),
            run("imports", "data", "class", "make", "resume", "predict"),
            run("train", "save"),
            edit("class", "[0]", "[0] * 2"),
            run("class", stale={"make", "train", "predict", "save", "resume"}),
            run(
                "make",
                stale={"train", "predict", "save", "resume"},
            ),
            run("resume", "train"),
            run("predict", "save"),
            run("train", "predict", times=3),
        ],
    ),
    Hour(
        "a module of nn that is bound, trained, unbound and applied",
        cells={
            "imports": IMPORTS + "from nbfn import nn\n",
            "data": DATA,
            "class": """\
class Net(nn.Module):
    units: int

    @nn.compact
    def __call__(self, x):
        x = nn.tanh(nn.Dense(self.units)(x))
        return nn.Dense(1)(x)
""",
            "init": "net = Net(4)\nvariables = net.init(nn.key(0), x)",
            "bind": "model = net.bind(variables)",
            "predict": """\
@nbfn.function
def predict(x):
    return model(x)

predict(x[:2]).numpy().round(3)
""",
            "apply": "net.apply(variables, x[:2]).numpy().round(3)",
            "step": """\
@nbfn.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    for variable, gradient in zip(
        model.trainable_variables, tape.gradient(loss, model.trainable_variables)
    ):
        variable.assign_sub(0.1 * gradient)
    return loss
""",
            "train": TRAIN,
            "unbind": "_, trained = model.unbind()",
            "again": "predict(x[:2]).numpy().round(3)",
            "pure": """\
@nbfn.function
def pure(variables, x):
    return net.apply(variables, x)

pure(trained, x[:2]).numpy().round(3)
""",
            "pure_again": "pure(trained, x[:2]).numpy().round(3)",
            "names": "sorted(model.named_variables())",
        },
        actions=[
            run("imports", "data", "class", "init", "bind", "predict", "apply", "names"),
            run("step", "train", "again", "apply"),
            run("train", "unbind"),
            run("apply", "pure", "pure_again", "again"),
            run("train", "unbind", "pure_again", stale={"pure"}),
            run(
                "init",
                stale={"bind", "apply", "unbind", "pure_again", "pure"} | AFTER_BIND,
            ),
            run("bind", stale={"apply", "unbind", "pure_again", "pure"} | AFTER_BIND),
            run("again", retraces=1, because="global `model` is another Net"),
            run("train", retraces=1, because="global `model` is another Net"),
            run(
                "unbind",
                "apply",
                "pure_again",  # unbound, it is as it was
                retraces=0,
                stale={"pure", "predict", "names"},
            ),
            edit("init", "Net(4)", "Net(2)"),
            run("init", "bind", stale={"apply", "unbind", "pure_again", "pure"} | AFTER_BIND),
            run("predict", "train", "again", retraces=1),
            run(
                "unbind",
                "pure_again",
                "names",
                retraces=1,
                because=("3 shapes in `variables` differ…", "global `net` is another Net"),
                stale={"apply", "pure"},
            ),
            edit("class", "nn.tanh", "nn.relu"),
            run(
                "class",
                stale={"init", "bind", "apply", "unbind", "pure_again", "pure"} | AFTER_BIND,
            ),
            run("init", "bind", stale={"apply", "unbind", "pure_again", "pure"} | AFTER_BIND),
            run("predict", "train", "again", "apply", retraces=1),
            run("unbind", "pure", "pure_again", "names"),
            run("train", "again", times=3),
        ],
    ),
    Hour(
        "normalization and dropout of nn, applied with what may change",
        cells={
            "imports": IMPORTS + "from nbfn import nn\n",
            "data": DATA,
            "class": """\
class Block(nn.Module):
    rate: float = 0.5

    @nn.compact
    def __call__(self, x, training=False):
        x = nn.BatchNorm()(nn.Dense(4)(x), training=training)
        x = nn.Dropout(self.rate)(x, training=training)
        return nn.Dense(1)(x)
""",
            "init": "block = Block()\nstate = block.init(nn.key(1), x)",
            "evaluate": "block.apply(trained, x[:2]).numpy().round(3)",
            "train": """\
trained = state
for number in range(3):
    out, updates = block.apply(
        trained, x, training=True, rngs={"dropout": nn.key(number)}, mutable=["batch_stats"]
    )
    trained = {**trained, **updates}
print(out[0].numpy().round(3), sorted(updates))
""",
            "traced": """\
@nbfn.function
def evaluate(state, x):
    return block.apply(state, x)

evaluate(trained, x[:2]).numpy().round(3)
""",
            "traced_again": "evaluate(trained, x[:2]).numpy().round(3)",
            "bound": """\
model = block.bind(trained)
model(x[:2]).numpy().round(3)
""",
            "segments": """\
%%tf_function segments
for _ in range(3):
    guess = model(x)
    error = tf.reduce_mean((guess - y) ** 2)
round(float(error), 3)
""",
        },
        actions=[
            run("imports", "data", "class", "init", "train", "evaluate"),
            run("traced", "traced_again"),
            run("train", stale=OF_TRAINED),
            run("evaluate", "traced_again", stale={"traced"}),
            run("bound", "segments", "segments"),
            run("train", "bound", stale={"evaluate", "traced", "traced_again", "segments"}),
            run("segments", retraces=1, because="global `model` is another Block"),
            edit("init", "Block()", "Block(rate=0.1)"),
            run("init", stale={"train", "bound", "segments"} | OF_TRAINED),
            run("train", "evaluate", stale={"bound", "segments", "traced", "traced_again"}),
            run(
                "traced_again",  # dropout does nothing there
                retraces=0,
                stale={"bound", "segments", "traced"},
            ),
            run("bound", "segments", retraces=1),
            edit("class", "nn.Dense(4)", "nn.Dense(2)"),
            run("class", stale={"init", "train", "bound", "segments"} | OF_TRAINED),
            run("init", "train", stale={"bound", "segments"} | OF_TRAINED),
            run("evaluate"),
            run(
                "traced_again",
                retraces=1,
                because=(
                    "7 shapes in `state` differ, such as `state['params']['Dense_0']['kernel']`: "
                    "shape was [3, 4], is [3, 2]",
                    "global `block` is another Block",
                    "attribute `Block.__call__` has changed…",
                ),
                remedy="every size of `state`",
                stale={"bound", "segments", "traced"},
            ),
            run("bound", "segments", retraces=1),
            run("traced", "traced_again", "segments"),
            run("traced_again", "segments", times=3),
        ],
    ),
    Hour(
        "snapshots, and going back to them",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "model": BUILT + "optimizer = keras.optimizers.Adam(0.02)",
            "step": STEP,
            "train": TRAIN,
            "snapshot": "kept = nbfn.session().snapshot()",
            "restore": "nbfn.session().restore(kept)",
            "save": 'nbfn.save("kept")\nNone',
            "load": 'nbfn.restore("kept")\nNone',
            "predict": "model(x[:2]).numpy().round(3)",
        },
        plainly={
            "snapshot": """\
kept = [np.array(v) for v in [*model.variables, *optimizer.variables]]
""",
            "restore": """\
for v, value in zip([*model.variables, *optimizer.variables], kept, strict=True):
    v.assign(value)
""",
            "save": """\
on_disk = [np.array(v) for v in [*model.variables, *optimizer.variables]]
""",
            "load": """\
for v, value in zip([*model.variables, *optimizer.variables], on_disk, strict=True):
    v.assign(value)
""",
        },
        uncompared={"kept", "on_disk", "v", "value"},
        actions=[
            run("imports", "data", "model", "step", "train", "predict"),
            run("snapshot", "train", "predict"),
            run("restore", "predict", "train"),
            run("restore", "train", "predict"),
            run("save", "train", "train", "predict"),
            run("load", "predict", "train"),
            run("restore", "predict"),
            run("load", "train", times=2),
            run("model", stale={"train", "predict"}),
            run("train", retraces=1),
            run("predict"),
            run("load", "predict", "train"),
            run("snapshot", "train", "restore", "predict"),
            run("train", "restore", times=3),
        ],
    ),
    Hour(
        "an export, and going on after it",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "model": BUILT + "optimizer = keras.optimizers.SGD(0.05)\nscale = 1.0",
            "step": STEP,
            "train": TRAIN,
            "serve": """\
@nbfn.function(input_signature=[tf.TensorSpec([None, 3], name="x")])
def serve(x):
    return {"guess": model(x) * scale}
""",
            "call": 'serve(x[:2])["guess"].numpy().round(3)',
            "export": 'nbfn.export("kept", serve, overwrite=True, verify=False)',
            "check": """\
loaded = tf.saved_model.load("kept")
print(bool(np.allclose(loaded.signatures["serve"](x=x[:3])["guess"], model(x[:3]) * scale)))
del loaded
""",
            "scale": "scale = 2.0",
            "preflight": "nbfn.preflight(serve)",
        },
        plainly={"export": "", "check": "print(True)", "preflight": ""},
        actions=[
            run("imports", "data", "model", "step", "train", "serve", "call"),
            run("preflight", "export", "check"),
            run("train", "call"),
            run("export", "check"),
            run("scale", stale={"call", "export", "preflight", "check"}),
            run("call", retraces=1, because="global `scale` was 1.0, is 2.0"),
            run("export", "check", stale={"preflight"}),
            run("model", stale={"train", "call", "export", "preflight", "check"}),
            run("train", retraces=1),
            run("call", retraces=1),
            run("export", "check", "preflight"),
            run("train", "call"),
            run("train", "call", "export", "check"),
            run("train", "call", times=3),
        ],
    ),
    Hour(
        "an export that is loaded after a restart, trained on and exported again",
        cells={
            "imports": IMPORTS,
            "weights": "w = tf.Variable([[0.5], [1.0]])\nsteps = tf.Variable(0)",
            "functions": """\
@nbfn.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
def predict(x):
    return x @ w

@nbfn.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
def learn(x):
    w.assign_sub(0.1 * tf.reduce_mean(x, 0)[:, tf.newaxis])
    steps.assign_add(1)
    return tf.reduce_sum(w)
""",
            "call": "predict(tf.ones([2, 2])).numpy().round(3), float(learn(tf.ones([3, 2])))",
            "export": 'nbfn.export("kept", [predict, learn], overwrite=True, verify=False);',
            "load": """\
loaded = nbfn.load("kept")
learn, predict = loaded["learn"], loaded["predict"]
""",
            "look": "steps.numpy()",
        },
        plainly={
            "export": 'np.savez("kept.npz", w=w.numpy(), steps=steps.numpy())',
            "load": """\
kept = np.load("kept.npz")
w, steps = tf.Variable(kept["w"]), tf.Variable(kept["steps"])

def predict(x):
    return x @ w

def learn(x):
    w.assign_sub(0.1 * tf.reduce_mean(x, 0)[:, tf.newaxis])
    steps.assign_add(1)
    return tf.reduce_sum(w)
""",
        },
        uncompared={"kept", "loaded", "w", "steps"},
        actions=[
            run("imports", "weights", "functions", "call", "look"),
            run("call", "export", "call", "look"),
            restart(),
            run("imports", "load", "call", "call"),
            run("export"),
            run("call"),
            restart(),
            run("imports", "load", "call"),
            run("call", times=3),
        ],
    ),
    Hour(
        "transformations of nn, and a global that changes",
        cells={
            "imports": IMPORTS + "from nbfn import nn\n",
            "data": DATA,
            "gain": "gain = 1.0",
            "class": """\
class Part(nn.Module):
    units: int = 2

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.units)(x) * gain
""",
            "whole": """\
class Whole(nn.Module):
    @nn.compact
    def __call__(self, x):
        rows = nn.vmap(
            Part, in_axes=0, variable_axes={"params": None}, split_rngs={"params": False}
        )
        return rows(name="rows")(x) + nn.remat(Part)(name="again")(x)
""",
            "jitted": """\
class Jitted(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.jit(Part)(name="part")(x)
""",
            "init": """\
whole, jitted = Whole(), Jitted()
variables, others = whole.init(nn.key(0), x), jitted.init(nn.key(1), x)
""",
            "apply": "whole.apply(variables, x)[0].numpy().round(3)",
            "fast": "jitted.apply(others, x)[0].numpy().round(3)",
            "bind": "model = whole.bind(variables)",
            "predict": """\
@nbfn.function
def predict(x):
    return model(x)
""",
            "call": "predict(x)[0].numpy().round(3)",
            "gradient": """\
@nbfn.function
def gradient(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    return [tf.reduce_sum(each) for each in tape.gradient(loss, model.trainable_variables)]

[round(float(each), 4) for each in gradient(x)]
""",
            "slope": "[round(float(each), 4) for each in gradient(x)]",
        },
        actions=[
            run_all(),
            run("apply", "fast", "call", "slope"),
            edit("gain", "1.0", "2.0"),
            run("gain", stale={"init", "bind"} | OF_GAIN),
            run(
                "apply",
                retraces=1,
                because="global `gain` was 1.0, is 2.0",
                stale={"init", "bind"} | OF_GAIN,
            ),
            run(
                "call",
                retraces=1,
                because="global `gain` was 1.0, is 2.0",
                stale={"init", "bind"} | OF_GAIN,
            ),
            run(
                "slope",
                retraces=1,
                because="global `gain` was 1.0, is 2.0",
                stale={"init", "bind"} | OF_GAIN,
            ),
            run(
                "fast",
                retraces=1,
                because="global `gain` was 1.0, is 2.0",
                stale={"init", "bind"} | OF_GAIN,
            ),
            run("init", "bind", stale=OF_GAIN),
            run("apply", "call", "slope", retraces=2),
            run("fast"),
            run("gradient"),
            edit("class", "* gain", "* gain + 1.0"),
            run("class", stale={"init", "bind"} | OF_GAIN),
            run("whole", "jitted", "init", "bind", stale=OF_GAIN),
            run("apply", "fast", "call", "gradient", "slope", retraces=1),
            run("apply", "fast", "call", "slope", times=3),
        ],
    ),
]


@pytest.mark.parametrize("hour", HOURS, ids=str)
def test_hour(hour: Hour, forks: Forks) -> None:
    play(hour, forks)
