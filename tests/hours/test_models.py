"""Hours with Keras models that are made again, edited, frozen, saved and resumed."""

from __future__ import annotations

import pytest

from tests.hours.playing.cells import (
    ANOTHER_ADAM,
    ANOTHER_MODEL,
    BUILT,
    DATA,
    IMPORTS,
    STEP,
    TRAIN,
)
from tests.hours.playing.hours import Hour, delete, edit, restart, run, run_all
from tests.hours.playing.kernels import Forks
from tests.hours.playing.player import play

SHIFTED = {"windows", "train", "forecast", "again"}

ANOTHER_FUNCTIONAL = "global `model` is another Functional"

HOURS = [
    Hour(
        "a built Sequential and its Adam made again",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "model": BUILT + "optimizer = keras.optimizers.Adam(0.01)",
            "step": STEP,
            "train": TRAIN,
            "predict": "model(x[:2]).numpy().round(3)",
            "view": "step",
        },
        plainly={"view": ""},
        actions=[
            run_all(),
            run("train", "predict"),
            run("model", stale={"train", "predict"}),
            run(
                "train",
                "view",
                retraces=1,
                because=(ANOTHER_MODEL, ANOTHER_ADAM),
                hides="traces were evicted",
            ),
            run("train", "predict", "view"),
            run("model", stale={"train", "predict"}),
            run("train", retraces=1, because=(ANOTHER_MODEL, ANOTHER_ADAM)),
            run("predict", "view"),
            edit("model", "Dense(4", "Dense(8"),
            run("model", stale={"train", "predict"}),
            run("train", retraces=1, because=(ANOTHER_MODEL, ANOTHER_ADAM)),
            run("train", "view"),
            run("step"),
            run("train", "view"),
            run_all(stale=set()),
            run("train", times=3),
            delete(
                "model",
                stale={"train", "predict"},
                hides="global `model` was a Sequential object, is None",
            ),
            run("train", raises="NameError"),
            run("model", stale={"train", "predict"}),
            run("train", retraces=1, because=(ANOTHER_MODEL, ANOTHER_ADAM)),
            run("train", "predict"),
        ],
    ),
    Hour(
        "a subclassed model with dropout and batch normalization, its class edited",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "class": """\
class Net(keras.Model):
    def __init__(self, units):
        super().__init__()
        self.hidden = keras.layers.Dense(units, activation="relu")
        self.norm = keras.layers.BatchNormalization()
        self.dropout = keras.layers.Dropout(0.5, seed=9)
        self.out = keras.layers.Dense(1)

    def call(self, x, training=False):
        x = self.norm(self.hidden(x), training=training)
        return self.out(self.dropout(x, training=training))
""",
            "model": """\
keras.utils.set_random_seed(10)
model = Net(4)
optimizer = keras.optimizers.SGD(0.05)
mean = keras.metrics.Mean()
""",
            "step": """\
@nbfn.function
def step(x, y, training=True):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=training) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    mean.update_state(loss)
    return loss
""",
            "train": """\
mean.reset_state()
for epoch in range(4):
    loss = step(x, y)
print(f"{float(loss):.4f} {float(mean.result()):.4f}")
""",
            "evaluate": """\
@nbfn.function
def evaluate(x, y):
    return tf.reduce_mean(tf.abs(model(x) - y))

print(f"{float(evaluate(x, y)):.4f}")
""",
            "again": 'print(f"{float(evaluate(x, y)):.4f}")',
            "rate": "model.dropout.rate = 0.25",
            "off": "loss = step(x, y, training=False)",
        },
        actions=[
            run("imports", "data", "class", "model", "step", "train", "evaluate"),
            run("train", "again"),
            run("off", retraces=1, because="`training`: Python value was True, is False"),
            run("rate", stale={"train", "off", "evaluate", "again"}),
            run(
                "train",
                retraces=1,
                because="…`model.dropout.rate` was 0.5, is 0.25",
            ),
            run(
                "train",
                "again",  # dropout does nothing there
                retraces=0,
                stale={"off", "evaluate"},
            ),
            run("off", retraces=1),
            run("model", stale={"train", "evaluate", "again", "rate", "off"}),
            run("train", retraces=1),
            run("again", retraces=1, because="global `model` is another Net"),
            run("train", "evaluate"),
            edit("class", '"relu"', '"tanh"'),
            run("class", stale={"model", "train", "evaluate", "again", "rate", "off"}),
            run("model", stale={"train", "evaluate", "again", "rate", "off"}),
            run("train", retraces=1),
            run("evaluate", "again"),
            run("rate", stale={"train", "off", "evaluate", "again"}),
            run("train", retraces=1, because="…`model.dropout.rate` was 0.5, is 0.25"),
            run("off", retraces=1),
            run("again", "train", retraces=0, stale={"evaluate"}),
            run("step"),
            run("train", times=3),
        ],
    ),
    Hour(
        "a functional model with two inputs and a shared layer",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "model": """\
keras.utils.set_random_seed(11)
one, other = keras.Input([3], name="one"), keras.Input([3], name="other")
shared = keras.layers.Dense(units, activation="tanh", name="shared")
joined = keras.layers.Concatenate()([shared(one), shared(other)])
model = keras.Model({"one": one, "other": other}, keras.layers.Dense(1, name="head")(joined))
optimizer = keras.optimizers.RMSprop(0.01)
""",
            "units": "units = 3",
            "step": """\
@nbfn.function
def step(batch, y):
    with tf.GradientTape() as tape:
        loss = keras.losses.mean_squared_error(y, model(batch))
        loss = tf.reduce_mean(loss)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
""",
            "train": """\
batch = {"one": x, "other": -x}
for epoch in range(4):
    loss = step(batch, y)
print(f"loss {float(loss):.4f}", model.count_params())
""",
            "halves": """\
for part in (x[:8], x[8:]):
    loss = step({"one": part, "other": part * 0.5}, y[:8])
print(f"loss {float(loss):.4f}")
""",
            "predict": 'model({"one": x[:2], "other": x[2:4]}).numpy().round(3)',
            "freeze": "shared.trainable = False",
            "view": "step",
        },
        plainly={"view": ""},
        actions=[
            run("imports", "data", "units", "model", "step", "train"),
            run("halves", retraces=1, because=("`batch[…]`: …", "`y`: …")),
            run("train", "predict", "view"),
            run("freeze", stale={"train", "halves", "predict"}),
            run("train", retraces=1, because="…trainable…"),
            run("halves", retraces=1),
            run("predict"),
            edit("units", "3", "5"),
            run("units", stale={"model", "freeze", "train", "halves", "predict"}),
            run("model", stale={"train", "halves", "predict", "freeze"}),
            run(
                "train",
                retraces=1,
                because=(ANOTHER_FUNCTIONAL, "global `optimizer` is another RMSprop"),
            ),
            run("halves", retraces=1, because=("`batch[…]`: …", "`y`: …")),
            run("predict", "view", "train"),
            run("freeze", stale={"train", "halves", "predict"}),
            run("train", "halves", retraces=2),
            run("model", stale={"train", "halves", "predict", "freeze"}),
            run("train", retraces=1),
            run("halves", retraces=1),
            run("train", "predict", times=3),
        ],
    ),
    Hour(
        "a function that makes models, and an optimizer that is left over",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "make": """\
def make(units, depth=1):
    keras.utils.set_random_seed(12)
    model = keras.Sequential()
    for _ in range(depth):
        model.add(keras.layers.Dense(units, activation="relu"))
    model.add(keras.layers.Dense(1))
    return model
""",
            "model": "model = make(4)",
            "optimizer": "optimizer = keras.optimizers.Adam(0.02)",
            "step": STEP,
            "train": TRAIN,
            "predict": "model(x[:3]).numpy().round(3)",
            "look": "print([w.shape for w in model.weights], len(optimizer.variables))",
        },
        actions=[
            run_all(),
            run("train", "look"),
            edit("make", "range(depth)", "range(depth + 1)"),
            run("make", stale={"model", "train", "predict"}),
            run("train", stale={"model", "train", "predict"}),
            run("model", stale={"train", "predict"}),
            run("predict"),
            run("train", raises="ValueError", times=2),
            run("optimizer", stale={"train"}),
            run("train", retraces=1, because=(ANOTHER_MODEL, ANOTHER_ADAM)),
            run("train", "predict", "look"),
            edit("model", "make(4)", "make(2)"),
            run("model", stale={"train", "predict"}),
            run("optimizer", stale={"train", "predict"}),
            run("train", retraces=1, because=(ANOTHER_MODEL, ANOTHER_ADAM)),
            run("predict", "look"),
            delete("make", stale={"model", "train", "predict"}),
            run("train", "predict", times=3, stale={"model", "train", "predict"}),
        ],
    ),
    Hour(
        "Keras's own fit, weights that are saved, a restart and more of it",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "model": BUILT + 'model.compile("sgd", "mse", metrics=["mae"])',
            "fit": """\
history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0)
{name: [round(each, 3) for each in values] for name, values in history.history.items()}
""",
            "evaluate": "[round(each, 3) for each in model.evaluate(x, y, verbose=0)]",
            "predict": "model.predict(x[:2], verbose=0).round(3)",
            "serve": """\
@nbfn.function(input_signature=[tf.TensorSpec([None, 3])])
def serve(x):
    return model(x * scale)
""",
            "scale": "scale = 2.0",
            "ask": "serve(x[:2]).numpy().round(3)",
            "save": 'model.save_weights("kept.weights.h5")',
            "load": 'model.load_weights("kept.weights.h5")',
            "watch": "%tf_watch model",
        },
        plainly={"watch": ""},
        actions=[
            run("imports", "data", "model", "fit", "evaluate", "predict"),
            run("fit", "evaluate"),
            run("scale", "serve", "ask"),
            run("save", "fit", "ask"),
            run("load", "ask", "predict"),
            edit("scale", "2.0", "0.5"),
            run("scale", stale={"ask"}),
            run("ask", retraces=1, because="global `scale` was 2.0, is 0.5"),
            run("watch", "fit", "predict"),
            run("model", stale={"fit", "evaluate", "predict", "ask", "save", "load"}),
            run("load"),
            run("ask", retraces=1, because=ANOTHER_MODEL),
            run("fit", "evaluate", "predict", stale={"save"}),
            restart(),
            run("imports", "data", "model", "load", "predict"),
            run("scale", "serve", "ask"),
            run("fit", "ask", "evaluate", times=2),
        ],
    ),
    Hour(
        "mixed precision, switched on and off",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "policy": 'keras.mixed_precision.set_global_policy("mixed_bfloat16")',
            "model": BUILT + "optimizer = keras.optimizers.SGD(0.05)",
            "step": """\
@nbfn.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.cast(model(x), tf.float32) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
""",
            "train": TRAIN,
            "training": """\
%%tf_function training
for epoch in range(3):
    out = model(x)
    loss = tf.reduce_mean((tf.cast(out, tf.float32) - y) ** 2)
print(out.dtype.name, f"{float(loss):.2f}")
""",
            "look": "print(model.layers[0].compute_dtype, model(x[:1]).dtype.name)",
            "predict": "tf.cast(model(x[:2]), tf.float32).numpy().round(1)",
        },
        rtol=2e-2,
        actions=[
            run_all(),
            run("train", "training", "look"),
            edit("policy", "mixed_bfloat16", "float32"),
            run("policy"),
            run("train", "training"),
            run("model", stale={"train", "training", "predict", "look"}),
            run("train", retraces=1),
            run(
                "training",
                retraces=1,
                because=ANOTHER_MODEL,
            ),
            run("look", "predict", "training"),
            edit("policy", "float32", "mixed_bfloat16"),
            run("policy", "model", stale={"train", "training", "predict", "look"}),
            run("train", "training", retraces=2),
            run("look", "predict"),
            run("train", "training", times=3),
        ],
    ),
    Hour(
        "an LSTM whose window, units and normalization are edited",
        cells={
            "imports": IMPORTS,
            "series": """\
series = np.sin(np.arange(40) / 3).astype(np.float32)
mean, scale = series.mean(), series.std()
""",
            "settings": "window, units = 5, 3",
            "windows": """\
windows = np.stack([series[i : i + window] for i in range(40 - window)])[..., np.newaxis]
targets = series[window:, np.newaxis]
""",
            "model": """\
keras.utils.set_random_seed(13)
model = keras.Sequential([
    keras.layers.Input([window, 1]), keras.layers.LSTM(units, unroll=True), keras.layers.Dense(1)
])
optimizer = keras.optimizers.SGD(0.1)
""",
            "step": """\
def normalized(values):
    return (values - mean) / scale

@nbfn.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(normalized(x)) - normalized(y)) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
""",
            "train": """\
for start in range(0, 32, 16):
    loss = step(windows[start : start + 16], targets[start : start + 16])
print(f"loss {float(loss):.4f}")
""",
            "forecast": """\
@nbfn.function
def forecast(window):
    return model(normalized(window)) * scale + mean

print(forecast(tf.constant(windows[:2])).numpy().round(3).tolist())
""",
            "again": "print(forecast(tf.constant(windows[:2])).numpy().round(3).tolist())",
            "shift": "series = series + 1.0\nmean, scale = series.mean(), series.std()",
        },
        actions=[
            run("imports", "series", "settings", "windows", "model", "step", "train", "forecast"),
            run("train", "again"),
            run("shift", stale={"windows", "train", "forecast", "again"}),
            run("again", retraces=1, because="…`mean` was …, is …", stale=SHIFTED),
            run("train", retraces=1, stale=SHIFTED),
            run("windows", stale={"forecast", "train", "again"}),
            run("train", "again", "forecast"),
            edit("settings", "5, 3", "6, 2"),
            run("settings", stale={"windows", "model", "train", "again", "forecast"}),
            run("windows", stale={"model", "train", "forecast", "again"}),
            run("model", stale={"train", "forecast", "again"}),
            run("train", retraces=1),
            run("again", retraces=1, stale={"forecast"}),
            run("forecast", "again"),
            run("series", stale={"shift", "windows", "train", "forecast", "again"}),
            run("windows", "train", retraces=1, stale={"shift", "forecast", "again"}),
            run("again", "forecast", retraces=1, stale={"shift"}),
            run("train", times=3),
        ],
    ),
    Hour(
        "gradients through loops of TensorFlow's",
        cells={
            "imports": IMPORTS,
            "data": "x = tf.constant([[1.0, 2.0, 0.5]])\nw = tf.Variable(0.5)",
            "power": """\
@nbfn.function
def power(x, n):
    for _ in tf.range(n):
        x = tf.tanh(x) * w
    return x

print(power(x, tf.constant(3)).numpy().round(4).tolist())
""",
            "gradient": """\
@nbfn.function
def gradient(x, n):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(power(x, n))
    return tape.gradient(loss, w)

print(f"{float(gradient(x, tf.constant(3))):.4f}")
""",
            "step": """\
@nbfn.function
def step(x, n):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(power(x, n))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss
""",
            "call": 'print(f"{float(step(x, tf.constant(3))):.4f} {float(w):.4f}")',
            "model": """\
keras.utils.set_random_seed(13)
model = keras.Sequential([
    keras.layers.Input([5, 1]), keras.layers.GRU(3), keras.layers.Dense(1)
])
optimizer = keras.optimizers.SGD(0.1)
series = tf.reshape(tf.sin(tf.range(10.0)), [2, 5, 1])
""",
            "train": """\
@nbfn.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
""",
            "fit": 'print([f"{float(train(series)):.4f}" for _ in range(3)])',
            "training": """\
%%tf_function training
for _ in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(series) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
print(f"{float(loss):.4f}")
""",
        },
        actions=[
            run("imports", "data", "power", "gradient", "step"),
            run("call", times=2),
            run("data", stale={"power", "gradient", "call"}),
            run("power", retraces=0),
            run("gradient"),
            run("call", retraces=1),
            run("model", "train"),
            run("fit", times=2),
            run("model", stale={"fit"}),
            run("training", times=2),
            run("fit", retraces=1),
            run("model", stale={"fit", "training"}),
            run("fit", "training", retraces=2),
            run("fit", "training", "call", times=2),
        ],
    ),
    Hour(
        "seeds that are set again after a trace",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "draws": """\
draws = tf.random.Generator.from_seed(1)
seed = 3
""",
            "noisy": """\
@nbfn.function
def noisy(x):
    return x + 0.1 * draws.normal(tf.shape(x))

@nbfn.function
def shuffled(x):
    return tf.random.experimental.stateless_shuffle(x, [seed, 0])
""",
            "call": "print(noisy(x)[0].numpy().round(3), shuffled(x)[0, 0].numpy().round(3))",
            "reset": "draws.reset_from_seed(seed)",
            "uniform": """\
@nbfn.function
def uniform():
    return tf.random.uniform([2])
""",
            "seeded": """\
tf.random.set_seed(seed)
one = uniform()
tf.random.set_seed(seed)
other = uniform()
print(bool(tf.reduce_all(one == other)))
""",
            "dropout": """\
drop = keras.layers.Dropout(0.5, seed=4)

@nbfn.function
def dropped(x):
    return drop(x, training=True)

print(dropped(x)[0].numpy().round(3).tolist())
""",
            "drop": "print(dropped(x)[0].numpy().round(3).tolist())",
        },
        uncompared={"one", "other"},
        actions=[
            run("imports", "data", "draws", "noisy", "call", "reset", "call"),
            run("call", times=2),
            edit("draws", "seed = 3", "seed = 4"),
            run("draws", stale={"call", "reset"}),
            run("call", retraces=2, because=("global `draws` is another…", "…`seed` was 3, is 4")),
            run("reset", "call"),
            run("uniform", "seeded"),
            run("seeded"),
            run("dropout", "drop", "drop"),
            run("dropout", "drop"),
            edit("dropout", "seed=4", "seed=5"),
            run("dropout", "drop"),
            run("draws", stale={"call", "reset"}),
            run("call", retraces=1, because="global `draws` is another Generator"),
            run("reset", "call", "call"),
            run("drop", "call", times=3),
        ],
    ),
]


@pytest.mark.parametrize("hour", HOURS, ids=str)
def test_hour(hour: Hour, forks: Forks) -> None:
    play(hour, forks)
