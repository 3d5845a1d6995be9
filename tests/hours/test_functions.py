"""Hours of functions: copied, renamed, redefined, nested, watched, relaxed."""

from __future__ import annotations

import pytest

from tests.hours.playing.cells import ANOTHER_MODEL, BUILT, DATA, IMPORTS, STEP, TRAIN
from tests.hours.playing.hours import (
    Hour,
    beside,
    copy,
    delete,
    edit,
    rename,
    run,
    run_all,
)
from tests.hours.playing.kernels import Forks
from tests.hours.playing.player import play

HOURS = [
    Hour(
        "cells that are copied, functions that are renamed",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "scale": """\
gain = 2.0

@nbfn.function
def scale(x):
    return x * gain
""",
            "call": "print(scale(x)[0].numpy().round(3))",
            "square": """\
%%tf_function
def square(x):
    return x * x

def cube(x):
    return square(x) * x
""",
            "use": "print(float(tf.reduce_sum(square(x) + cube(x))))",
            "view": "scale",
        },
        plainly={"view": ""},
        actions=[
            run_all(),
            copy("scale", "scale2"),
            edit("scale2", "2.0", "3.0"),
            run("scale2", stale={"call"}),
            run("call", "view"),
            rename("scale", "stretch", "scale2"),
            run("scale2", "call"),
            run("scale", stale={"call"}),
            run("call"),
            copy("call", "call2"),
            rename("scale(", "stretch(", "call2"),
            run("call2", "call", "view"),
            copy("square", "powers"),
            edit("powers", "x * x\n\n", "x * x * 1.0\n\n"),
            run("powers", stale={"use"}),
            run("use"),
            run("square", stale={"use"}),
            run("use", "use"),
            delete("scale", stale={"call"}),
            run("call", raises="NameError"),
            run("call2", "scale", "call", "view"),
            run("call", "call2", "use", times=3),
        ],
    ),
    Hour(
        "functions that call functions, edited inside",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "inner": """\
@nbfn.function
def inner(x):
    return tf.tanh(x) * 2.0
""",
            "helper": """\
def helper(x):
    return inner(x) + offset

offset = 1.0
""",
            "outer": """\
@nbfn.function
def outer(x):
    total = tf.reduce_sum(helper(x))
    return total if flip else -total

flip = True
""",
            "call": 'print(f"{float(outer(x)):.4f}")',
            "cell": """\
%%tf_function cell
z = helper(x)
total = tf.reduce_mean(z * z)
round(float(total), 4)
""",
            "offset": "offset = 3.0",
            "partial": """\
import functools

def shifted(x, by):
    return inner(x) + by

shift = functools.partial(shifted, by=0.5)

@nbfn.function
def chained(x):
    return tf.reduce_max(shift(x))

print(f"{float(chained(x)):.4f}")
""",
            "chain": 'print(f"{float(chained(x)):.4f}")',
        },
        actions=[
            run("imports", "data", "inner", "helper", "outer", "call", "partial"),
            run("cell", shows="`helper` calls `inner`, a traced function"),
            run("call", "cell", "chain"),
            edit("inner", "2.0", "3.0"),
            run("inner", stale={"call", "cell", "chain", "partial"}),
            run("call", retraces=1, because="…`inner`…"),
            run(
                "cell",
                "chain",
                retraces=1,
                because="…`inner`…",
                stale={"partial", "chain"},  # `partial` would give another `shift`
            ),
            run("call", "cell", "chain", stale={"partial", "chain"}),
            run("offset", stale={"call", "cell", "partial", "chain"}),
            run("call", "cell", retraces=1, because="global `offset` was 1.0, is 3.0"),
            edit("helper", "+ offset", "- offset"),
            run("helper", stale={"call", "cell", "partial", "chain"}),
            run("call", "cell", retraces=1, because="…`helper`…"),
            edit("outer", "True", "False"),
            run("outer", stale={"call", "partial", "chain"}),
            run("call"),
            edit("partial", "by=0.5", "by=1.5"),
            run("partial", stale={"chain"}),
            run("chain"),
            run("inner"),
            run("call", "cell", "chain", times=3),
        ],
    ),
    Hour(
        "tf.function replaced in the first cell",
        cells={
            "imports": IMPORTS + "tf.function = nbfn.function\n",
            "data": DATA,
            "model": BUILT + "optimizer = keras.optimizers.SGD(0.05)",
            "step": STEP.replace("@nbfn.function", "@tf.function"),
            "train": TRAIN,
            "count": """\
calls = 0

@tf.function
def counted(x, twice=False):
    return x * (2.0 if twice else 1.0) + rate

rate = 0.5
""",
            "call": "print(counted(x)[0].numpy(), counted(x, twice=True)[0].numpy())",
            "rate": "rate = 1.5",
            "loop": """\
@tf.function(reduce_retracing=True)
def collatz(n):
    steps = tf.constant(0)
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps

print([int(collatz(tf.constant(n))) for n in (6, 7, 27)])
""",
            "data_set": """\
@tf.function
def total(data):
    found = tf.constant(0.0)
    for batch in data:
        found += tf.reduce_sum(batch)
    return found

data = tf.data.Dataset.from_tensor_slices(x).batch(5)
print(f"{float(total(data)):.4f}")
""",
        },
        actions=[
            run("imports", "data", "model", "step", "train", "count"),
            run("call", retraces=1, because="`twice`: …"),
            run("loop", "data_set", "train"),
            run("rate", stale={"call"}),
            run("call", retraces=2, because=("global `rate` was 0.5, is 1.5", "`twice`: …")),
            run("call", "loop"),
            run("count", stale={"call"}),
            run("call", retraces=1),
            run("model", stale={"train"}),
            run("train", retraces=1, because=(ANOTHER_MODEL, "global `optimizer` is another SGD")),
            run("data_set"),
            run("train", "call", times=2),
            run_all(retraces=1, stale={"call"}),
            run("call", "train", "loop", "data_set", times=2, retraces=2),
        ],
    ),
    Hour(
        "sizes that differ, relaxed by the remedy",
        cells={
            "imports": IMPORTS,
            "mean": """\
@nbfn.function
def mean(x, scale=1.0):
    return tf.reduce_mean(x, 0) * scale
""",
            "sizes": """\
for n in sizes:
    found = mean(tf.ones([n, 2]))
print(found.numpy().tolist())
""",
            "few": "sizes = (2, 3)",
            "many": "sizes = range(4, 8)",
            "scales": """\
for scale in (0.1, 0.2, 0.3):
    found = mean(tf.ones([3, 2]), scale)
print(found.numpy().round(3).tolist())
""",
            "dtypes": """\
print(mean(np.ones([3, 2])).dtype.name, mean(tf.ones([3, 2], tf.float16)).dtype.name)
""",
            "relax": "mean.relax().signature",
            "explain": "mean.explain(tf.ones([50, 2]))",
            "view": "mean",
            "cell": """\
%%tf_function cell
batch = tf.ones([rows, 2]) * 2.0
average = tf.reduce_mean(batch, 0)
print(average.numpy().tolist())
""",
        },
        plainly={"relax": "", "explain": "", "view": ""},
        actions=[
            run("imports", "mean", "few"),
            run("sizes", retraces=1, because="`x`: shape was [2, 2], is [3, 2]"),
            run("view", shows="mean.relax()"),
            run("relax", shows="float32[None, 2]"),
            run("sizes", "explain", shows="a hit: trace 3 would serve"),
            run("many", stale={"sizes"}),
            run("sizes"),
            run("scales", retraces=3, because="`scale`: Python value was …"),
            run("view", shows="mean.relax()"),
            run("relax"),
            run("scales", "sizes", "explain"),
            run("dtypes", retraces=2, because="`x`: dtype was …"),
            run("view"),
            beside("rows = 3"),
            run("cell"),
            run("cell"),
            beside("rows = 4", stale={"cell"}),
            run("cell", retraces=1, because="`rows`: Python value was 3, is 4"),
            run("cell", times=3),
            run("mean"),
            run("sizes", retraces=3, warns=None),
        ],
    ),
    Hour(
        "a bare tf.function that is watched",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "rate": "rate = 0.5",
            "bare": """\
@tf.function
def bare(x):
    return tf.reduce_sum(x * rate)
""",
            "watch": "watched = nbfn.watch(bare)",
            "call": 'print(f"{float(bare(x)):.4f}")',
            "half": 'print(f"{float(bare(x[:8])):.4f}")',
            "view": "watched",
            "traced": """\
@nbfn.function
def around(x):
    return bare(x) + 1.0

print(f"{float(around(x)):.4f}")
""",
            "around": 'print(f"{float(around(x)):.4f}")',
            "model": BUILT,
            "watch_model": "%tf_watch model",
            "predict": "model.predict(x, verbose=0)[:2].round(3)",
        },
        plainly={"view": "", "watch_model": ""},
        actions=[
            run("imports", "data", "rate", "bare", "call", "watch"),
            run(
                "call",
                "call",
                "view",
                shows="3 calls, 2 hits",
                hides="session: 2 functions",
            ),
            run("half", retraces=1, because="`x`: shape was [16, 3], is [8, 3]"),
            run("view", shows="shape was [16, 3]"),
            run("traced", "around"),
            edit("rate", "0.5", "0.25"),
            run("rate", stale={"call", "half", "traced", "around", "watch"}),
            run(
                "call",
                "half",
                warns="trace 1 of `bare` is stale: global `rate` was 0.5, is 0.25",
            ),
            run(
                "bare",
                stale={"traced", "around", "watch"},
            ),
            run("call", "half", "watch", "view", retraces=1),
            run("traced", "around"),
            run("model", "watch_model", "predict"),
            run("predict", "predict"),
            run("call", "half", "view", times=3),
        ],
    ),
    Hour(
        "data sets as arguments, made again and mapped again",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "sets": """\
def prepare(x, y):
    return x * factor, y

train_set = tf.data.Dataset.from_tensor_slices((x, y)).map(prepare).batch(size)
""",
            "settings": "factor, size = 1.0, 8",
            "model": BUILT + "optimizer = keras.optimizers.SGD(0.05)",
            "epoch": """\
@nbfn.function
def epoch(data):
    total = tf.constant(0.0)
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        total += loss
    return total
""",
            "fit": 'print([f"{float(epoch(train_set)):.4f}" for _ in range(2)])',
            "loop": """\
%%tf_function loop
seen = 0
for features, labels in train_set:
    error = tf.reduce_mean(tf.abs(model(features) - labels))
    seen += 1
print(seen, f"{float(error):.4f}")
""",
            "batches": """\
@nbfn.function
def evaluate(x, y):
    return tf.reduce_mean((model(x) - y) ** 2)

print([f"{float(evaluate(*batch)):.4f}" for batch in train_set])
""",
            "again": 'print([f"{float(evaluate(*batch)):.4f}" for batch in train_set])',
        },
        actions=[
            run("imports", "data", "settings", "sets", "model", "epoch", "fit"),
            run("loop", "batches", "again", "loop"),
            run("sets", stale={"fit", "loop", "batches", "again"}),
            run("fit", "loop", "batches", "again"),
            edit("settings", "1.0, 8", "2.0, 8"),
            run("settings", stale={"sets", "fit", "loop", "batches", "again"}),
            run("sets", stale={"fit", "loop", "batches", "again"}),
            run("fit", "loop", "batches", "again"),
            edit("settings", "2.0, 8", "2.0, 6"),
            run("settings", "sets", stale={"fit", "loop", "batches", "again"}),
            run("fit", "loop", retraces=2),
            run("batches", retraces=1),
            run("again"),
            run("model", stale={"fit", "loop", "batches", "again"}),
            run("fit", retraces=1, because=(ANOTHER_MODEL, "global `optimizer` is another SGD")),
            run(
                "loop",
                retraces=2,
                because=(
                    ANOTHER_MODEL,
                    "`features`: shape was [6, 3], is [4, 3]",
                    "`labels`: shape was [6, 1], is [4, 1]",
                ),
            ),
            run("again", retraces=2),
            run("batches", "fit", "loop", times=3, retraces=3),
        ],
    ),
    Hour(
        "definitions that are run again unchanged, and the import cell",
        cells={
            "imports": IMPORTS.replace("keras.utils.set_random_seed(1)\n", ""),
            "data": DATA,
            "weights": "w = tf.Variable(tf.ones([3, 1]) * 0.5)",
            "predict": """\
@nbfn.function
def predict(x):
    return x @ w
""",
            "magic": """\
%%tf_function
def loss(x, y):
    return tf.reduce_mean((predict(x) - y) ** 2)
""",
            "class": """\
class Scaler:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by
""",
            "scaler": "scaler = Scaler(3.0)",
            "scaled": """\
@nbfn.function
def scaled(x):
    return scaler(x)
""",
            "call": "print(float(loss(x, y)), predict(x)[0].numpy(), scaled(x)[0, 0].numpy())",
            "cell": """\
%%tf_function cell
error = loss(scaler(x), y)
print(f"{float(error):.4f}")
""",
        },
        actions=[
            run_all(),
            run("imports"),
            run("call", "cell"),
            run("predict"),
            run("call", "cell"),
            run("magic", "call", "cell"),
            run("class", "call"),
            run("scaler", stale={"call", "cell"}),
            run("call", retraces=0),  # its graph is the same
            run("cell"),
            run("imports", "imports", "call", "cell"),
            edit("scaler", "3.0", "4.0"),
            run("scaler", stale={"call", "cell"}),
            run("call", "cell", retraces=1),
            beside("scaler.by = 5.0", stale={"call", "cell"}),
            run("call", "cell", retraces=1, because="…by…4.0, is 5.0"),
            edit("class", "x * self.by", "x + self.by"),
            run("class", stale={"scaler", "call", "cell"}),
            run("scaler", "call", "cell", retraces=1),
            run("imports", "predict", "magic", "call", "cell", times=3),
        ],
    ),
    Hour(
        "objects that compare, convert and hide what they hold",
        cells={
            "imports": IMPORTS + "import collections\nimport sys\nimport types\n",
            "data": DATA,
            "classes": """\
class Rank:
    def __init__(self):
        self.value = 1

    def __lt__(self, other):
        return self.value < other

class Level:
    value = 1

    def __float__(self):
        return float(self.value)

    def __len__(self):
        return self.value

    def __contains__(self, key):
        return key <= self.value

    def __mul__(self, other):
        return other * self.value

    __rmul__ = __mul__

class Key:
    name = "a"

    def __hash__(self):
        return 0

    def __eq__(self, other):
        return self.name == other.name
""",
            "objects": """\
rank, level, key, other = Rank(), Level(), Key(), Key()
other.name = "b"
gains = {other: 3.0}
made = types.ModuleType("made")
made.GAIN = 1.0
sys.modules["made"] = made
defaults = collections.defaultdict(lambda: 2.0)
""",
            "functions": """\
@nbfn.function
def converted(x):
    return x * float(level) * len(level) + (level * x if 2 in level else -x)

@nbfn.function
def compared(x):
    return x if rank < 2 else -x

@nbfn.function
def keyed(x):
    return x * gains.get(key, 1.0)

@nbfn.function
def of_module(x):
    return x * made.GAIN

@nbfn.function
def of_default(x):
    return x * defaults["rate"]
""",
            "convert": "print(converted(x)[0].numpy().round(3))",
            "compare": "print(compared(x)[0].numpy().round(3))",
            "find": "print(keyed(x)[0].numpy().round(3))",
            "module": "print(of_module(x)[0].numpy().round(3))",
            "default": "print(of_default(x)[0].numpy().round(3))",
            "cell": """\
%%tf_function cell
for turn in range(2):
    z = x * 2.0 if rank < 2 else x * 3.0
print(z[0].numpy().round(3))
""",
            "raise": "level.value = rank.value = 3",
        },
        actions=[
            run("imports", "data", "classes", "objects", "functions"),
            run("convert", "compare", "find", "module", "default", "cell"),
            run("convert", "compare", "find", "module", "default", "cell"),
            run(
                "raise",
                stale={"convert", "compare", "cell"},
            ),
            run(
                "convert",
                retraces=1,
                because="attribute `level.value` was 1, is 3",
            ),
            run("compare", retraces=1),
            run("cell", retraces=1),
            beside("key.name = 'b'", stale={"find"}),
            run("find", retraces=1),
            beside("made.GAIN = 5.0", stale={"module"}),
            run("module", retraces=1),
            beside("defaults['rate'] = 7.0", stale={"default"}),
            run("default", retraces=1),
            run(
                "objects",
                stale={"convert", "compare", "find", "module", "default", "cell", "raise"},
            ),
            run(
                "convert",
                "compare",
                "find",
                "cell",  # made again, all but one are as they were at first
                retraces=1,
                stale={"module", "default", "raise"},
            ),
            run("module", "default", stale={"raise"}),
        ],
    ),
    Hour(
        "settings behind the methods of libraries' objects",
        cells={
            "imports": IMPORTS
            + """\
import configparser
import string
import ipywidgets
from scipy.interpolate import CubicSpline
""",
            "data": DATA,
            "settings": """\
parser = configparser.ConfigParser()
parser.read_string("[model]\\nrate = 0.5")
slider = ipywidgets.FloatSlider(value=2.0)
line = CubicSpline([0, 1, 2], [0.0, 1.0, 4.0])
text = string.Template("gain $gain")
""",
            "functions": """\
@nbfn.function
def scaled(x):
    return x * parser.getfloat("model", "rate") + slider.value

@nbfn.function
def predicted(x):
    return x * float(line(1.5))

@nbfn.function
def titled(x):
    return tf.strings.join([text.substitute(gain=2), tf.as_string(tf.reduce_sum(tf.round(x)))])
""",
            "scale": "print(scaled(x)[0].numpy().round(3))",
            "predict": "print(predicted(x)[0].numpy().round(3))",
            "title": "print(titled(x))",
            "loop": """\
%%tf_function loop
z = x
for turn in range(3):
    z = z * slider.value + parser.getfloat("model", "rate")
print(z[0].numpy().round(3))
""",
        },
        actions=[
            run_all(),
            run("scale", "predict", "title", "loop", times=2),
            beside("slider.value = 5.0"),
            run("scale", retraces=1, because="attribute `slider.value` was 2.0, is 5.0"),
            run("loop"),
            beside("parser['model']['rate'] = '0.7'", stale={"scale", "loop"}),
            run("scale", "loop", retraces=1),
            beside("slider.description = 'gain'"),
            run("scale", "loop"),
            beside("line.c[3, 1] = 9.0"),
            run("predict", retraces=1),
            beside("text.template = 'factor $gain'", stale={"title"}),
            run("title", retraces=1),
            run("settings", stale={"scale", "predict", "title", "loop"}),
            run("scale", "predict", "title", "loop"),
            run("scale", "predict", "title", "loop", times=2),
        ],
    ),
]


@pytest.mark.parametrize("hour", HOURS, ids=str)
def test_hour(hour: Hour, forks: Forks) -> None:
    play(hour, forks)
