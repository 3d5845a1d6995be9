"""Hours of cells in segments, by the magic and by ``%tf_auto on``."""

from __future__ import annotations

import pytest

from tests.hours.playing.cells import ANOTHER_MODEL, BUILT, DATA, IMPORTS
from tests.hours.playing.hours import Hour, beside, copy, delete, edit, run, run_all
from tests.hours.playing.kernels import Forks
from tests.hours.playing.player import play

CHAIN = {
    f"c{n}": f"a{n} = tf.tanh(a{n - 1} * factor + {n / 10})\nround(float(tf.reduce_sum(a{n})), 3)"
    for n in range(1, 29)
}
"""Cells that each go on from the one before."""


def after(number: int) -> set[str]:
    """The cells below one of the chain."""
    return {f"c{n}" for n in range(number + 1, 29)} | {"last"}


HOURS = [
    Hour(
        "a cell in segments, and its model, variable and rate made again",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "model": BUILT + "optimizer = keras.optimizers.SGD(0.05)",
            "scale": "scale = tf.Variable(1.0)",
            "training": """\
%%tf_function training
history = []
for epoch in range(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) * scale - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    history.append(float(loss))
    if epoch % 2 == 0:
        print("epoch", epoch, round(history[-1], 4))
""",
            "evaluate": """\
%%tf_function evaluate
error = tf.reduce_mean(tf.abs(model(x) - y))
best = tf.argmin(tf.abs(model(x) - y)[:, 0])
error.numpy().round(3), int(best)
""",
        },
        actions=[
            run_all(),
            run("training", "evaluate"),
            run("training", "evaluate", times=2),
            run("model", stale={"training", "evaluate"}),
            run(
                "training", retraces=1, because=(ANOTHER_MODEL, "global `optimizer` is another SGD")
            ),
            run(
                "evaluate",
                retraces=1,
                because=ANOTHER_MODEL,
            ),
            run("training", "evaluate"),
            run("model", stale={"training", "evaluate"}),
            run("training", retraces=1),
            run("evaluate", retraces=1),
            run("scale", stale={"training"}),
            run(
                "training",
                retraces=1,
                because="global `scale` is another tf.Variable",
            ),
            run("training", "evaluate"),
            edit("training", "range(4)", "range(6)"),
            run("training", times=3),
            edit("model", "SGD(0.05)", "SGD(0.02)"),
            run("model", stale={"training", "evaluate"}),
            run("training", retraces=1),
            run("evaluate", retraces=1),
            run("training", "evaluate", times=3),
        ],
    ),
    Hour(
        "numbers, arrays and loops under %tf_auto on",
        cells={
            "imports": IMPORTS,
            "on": "%tf_auto on",
            "settings": "n, rate, tolerance = 6, 0.1, 1e-3",
            "matrix": """\
a = tf.constant(np.arange(16).reshape(4, 4) / 16 + np.eye(4), tf.float32)
v = tf.ones([4, 1])
""",
            "power": """\
for i in range(n):
    v = a @ v
    v = v / tf.norm(v)
value = tf.reduce_sum(v * (a @ v))
print(f"{float(value):.4f}")
""",
            "newton": """\
root, steps = tf.constant(2.0), 0
while abs(float(root * root - 3.0)) > tolerance:
    root = root - (root * root - 3.0) / (2.0 * root)
    steps += 1
root.numpy().round(4), steps
""",
            "heat": """\
heat = np.zeros(8, np.float32)
heat[0] = 1.0
total = 0.0
for i in range(n):
    heat = heat + rate * np.gradient(np.gradient(heat))
    flow = tf.reduce_sum(tf.abs(heat[1:] - heat[:-1]))
    total += float(flow)
print(round(total, 4), type(total).__name__)
""",
            "sums": """\
total = 0.0
for i in range(n):
    scaled = v * i
    total = total + tf.reduce_sum(scaled) * rate
print(i, type(i).__name__, f"{float(total):.4f}")
""",
            "mixed": """\
found = {}
for name, power in (("one", 1), ("two", 2), ("three", 3)):
    z = tf.reduce_sum(v ** power)
    found[name] = z
    if z < 1.2:
        found[name + "_small"] = True
sorted(found), {k: round(float(x), 3) for k, x in found.items()}
""",
            "view": "nbfn.session()",
        },
        plainly={"view": ""},
        actions=[
            run_all(),
            run(
                "power",
                "newton",
                "heat",
                "sums",
                "mixed",
                times=2,
            ),
            run("view", shows="`%tf_auto` is on"),
            edit("settings", "0.1", "0.2"),
            run("settings", stale={"heat", "sums"}),
            run("heat", "sums"),
            edit("settings", "6", "7"),
            run("settings", stale={"power", "heat", "sums", "mixed"}),
            run("sums", "heat", stale={"power", "sums", "mixed"}),
            run("matrix"),
            run("power", "mixed", "sums", retraces=1, because="the loop was over …6…, is over …7…"),
            edit(
                "matrix", "16).reshape(4, 4) / 16 + np.eye(4)", "9).reshape(3, 3) / 9 + np.eye(3)"
            ),
            edit("matrix", "[4, 1]", "[3, 1]"),
            run("matrix", "power", retraces=3, stale={"sums", "mixed"}),
            run("sums", "mixed", "heat", retraces=2),
            run("sums", "mixed", "heat", times=2),
            edit("on", "on", "off"),
            run("on", "sums", "mixed", "view"),
            run("sums", times=2),
        ],
        traces=8,
    ),
    Hour(
        "times, formats and plots of text",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "fit": """\
%%time
coefficients = tf.linalg.lstsq(x, y)
residual = y - x @ coefficients
print(f"residual {float(tf.norm(residual)):.2e}, {coefficients.shape}")
""",
            "fit_traced": """\
%%tf_function fit_traced
moments = tf.nn.moments(x, 0)
z = (x - moments[0]) / tf.sqrt(moments[1])
table = [[f"{float(each):.2f}" for each in row] for row in z[:2]]
print("\\n".join("  ".join(row) for row in table))
""",
            "bars": """\
%%tf_function bars
counts = tf.math.bincount(tf.cast(tf.clip_by_value(x[:, 0] + 2.0, 0.0, 4.0), tf.int32), minlength=5)
for number, count in enumerate(counts.numpy()):
    print(number, "#" * count)
counts
""",
            "quantiles": """\
%%tf_function quantiles
ordered = tf.sort(tf.reshape(x, [-1]))
low, high = ordered[4], ordered[-5]
inside = tf.boolean_mask(x, (x > low) & (x < high))
display(inside.shape[0])
{"low": round(float(low), 3), "high": round(float(high), 3)}
""",
            "strings": """\
%%tf_function strings
words = tf.constant(["a b", "c d e"])
parts = tf.strings.split(words)
lengths = parts.row_lengths()
print(parts.to_list(), lengths.numpy().tolist())
tf.strings.join(["<", words, ">"])
""",
            "seconds": """\
import time
began = time.perf_counter()
squares = [int(tf.square(tf.constant(i))) for i in range(5)]
print(squares, time.perf_counter() - began < 5.0)
""",
        },
        uncompared={"began"},
        actions=[
            run_all(),
            run("fit", "fit_traced", "bars", "quantiles", "strings", "seconds", times=2),
            edit("data", "size=[16, 3]", "size=[20, 3]"),
            run("data", stale={"fit", "fit_traced", "bars", "quantiles"}),
            run("fit"),
            run("fit_traced", retraces=1, because="`x`: shape was [16, 3], is [20, 3]"),
            run("bars", retraces=1, because="`x`: shape was [16, 3], is [20, 3]"),
            run("quantiles", retraces=1, because="`x`: shape was [16, 3], is [20, 3]"),
            run("bars", "quantiles", "fit_traced"),
            copy("strings", "words"),
            run("words", "strings"),
            edit("words", "c d e", "c d e f g"),
            run("words", times=3),
            delete("words", stale=set()),
            run("strings"),
            run("fit", "fit_traced", "bars", times=3),
        ],
    ),
    Hour(
        "errors in the middle of cells and loops",
        cells={
            "imports": IMPORTS,
            "state": "v = tf.Variable(1.0)\nu = tf.Variable(0.0)\nseen = []\nlast = 6",
            "checked": """\
%%tf_function checked
for i in range(last):
    loss = tf.math.log(3.0 - tf.cast(i, tf.float32)) * v
    tf.debugging.check_numerics(loss, "loss is not finite")
    v.assign(loss)
    seen.append(i)
""",
            "look": "print(round(float(v), 4), round(float(u), 4), seen)",
            "gather": """\
%%tf_function gather
picked = tf.gather(tf.constant([1.0, 2.0, 3.0]), index)
u.assign_add(picked)
picked
""",
            "index": "index = tf.constant(1)",
            "shapes": """\
%%tf_function shapes
one = tf.ones([2, 3])
other = tf.ones([rows, 3])
u.assign_add(1.0)
product = one @ other
""",
            "rows": "rows = 2",
            "caught": """\
%%tf_function caught
try:
    bad = tf.constant([1, 2]) + tf.constant([1, 2, 3])
except (ValueError, tf.errors.InvalidArgumentError):
    u.assign_add(10.0)
after = u * 2.0
""",
            "python": """\
%%tf_function python
doubled = v * 2.0
missing["key"]
never = doubled + 1.0
""",
            "step": """\
@nbfn.function
def step(i):
    loss = tf.math.log(3.0 - i) * v
    tf.debugging.assert_all_finite(loss, "loss is not finite")
    v.assign(loss)
    return loss
""",
            "steps": """\
for i in range(last):
    loss = step(tf.constant(float(i)))
    seen.append(i)
""",
        },
        actions=[
            run("imports", "state"),
            run(
                "checked",
                raises="InvalidArgumentError",
            ),
            run("look"),
            run("state", stale={"checked"}),
            run(
                "checked",
                raises="InvalidArgumentError",
                retraces=1,
                because="global `v` is another tf.Variable",
            ),
            run("look"),
            edit("state", "last = 6", "last = 2"),
            run("state", stale={"checked"}),
            run("checked", "look", times=2, retraces=1),
            run("index", "gather", "gather", "look"),
            edit("index", "1", "5"),
            run("index", stale={"gather"}),
            run("gather", raises="InvalidArgumentError"),
            run("look"),
            edit("index", "5", "0"),
            run("index", stale={"gather"}),
            run("gather", "gather", "look"),
            run("rows"),
            run("shapes", raises="InvalidArgumentError"),
            edit("rows", "2", "3"),
            run("rows", stale={"shapes"}),
            run("shapes", "look", times=2),
            run("caught", "look", times=3),
            run("python", raises="NameError"),
            beside("missing = {}", stale={"python"}),
            run("python", raises="KeyError"),
            beside("missing['key'] = 1", stale={"python"}),
            run("python", "look", times=2),
            edit("state", "last = 2", "last = 6"),
            run("state", stale={"checked", "gather", "shapes", "caught", "python"}),
            run("step"),
            run("steps", raises="InvalidArgumentError"),
            run("look"),
            run(
                "checked",
                raises="InvalidArgumentError",
                retraces=1,
            ),
            run("look"),
        ],
    ),
    Hour(
        "interrupts in cells, loops and steps",
        cells={
            "imports": IMPORTS + "import time\n",
            "state": "v = tf.Variable(0.0)\nx = tf.constant([1.0, 2.0])\nhistory = []\npause = 60",
            "loop": """\
%%tf_function loop
for i in range(6):
    y = x * (v + 1.0)
    v.assign_add(tf.reduce_sum(y) * 0.1)
    history.append(float(v))
    if i == 3:
        print("waiting")
        time.sleep(pause)
done = tf.reduce_sum(y)
""",
            "look": "print([round(each, 4) for each in history], round(float(v), 4))",
            "step": """\
@nbfn.function
def step(x):
    v.assign_add(tf.reduce_sum(x))
    return v * 2.0
""",
            "train": """\
for epoch in range(5):
    history.append(float(step(x)))
    if epoch == 2:
        print("waiting")
        time.sleep(pause)
""",
            "first": """\
@nbfn.function
def first(x):
    if pause:
        print("waiting")
        time.sleep(pause)
    return x * v

try:
    result = first(x)
except KeyboardInterrupt:
    print("stopped")
""",
            "patience": "pause = 0",
        },
        actions=[
            run("imports", "state"),
            run("loop", interrupt="waiting", raises="KeyboardInterrupt"),
            run("look"),
            run("loop", interrupt="waiting", raises="KeyboardInterrupt"),
            run("look", "step"),
            run("train", interrupt="waiting", raises="KeyboardInterrupt"),
            run("look"),
            run("train", interrupt="waiting", raises="KeyboardInterrupt"),
            run("look"),
            run("first", interrupt="waiting"),
            run("patience", stale={"loop", "train", "first"}),
            run("loop", "train", "look"),
            run("loop", "train", "look", times=2),
            run(
                "first",
                warns="`first` does this only while it is traced:…line 4 prints",
                shows="line 5 waits; wait outside the function",
                hides="reads the clock",
            ),
            run("state", stale={"loop", "train", "first"}),
            run("loop", interrupt="waiting", raises="KeyboardInterrupt", retraces=1),
            run("look", "patience", stale={"loop", "train", "first"}),
            run("loop", "train", "look", times=2, retraces=1),
        ],
    ),
    Hour(
        "thirty cells, each going on from the one before",
        cells={
            "imports": IMPORTS,
            "on": "%tf_auto on",
            "factor": "factor = tf.Variable(0.5)",
            "c0": "a0 = tf.constant([0.1, 0.2, 0.3])",
            **CHAIN,
            "last": "total = tf.reduce_sum(a28)\nround(float(total), 4)",
        },
        actions=[
            run_all(),
            run("c5", stale=after(5)),
            run("c10", "c15", stale=after(5)),
            beside("factor.assign(0.7)\nNone"),
            run("c1", "c2", "c3", stale=after(3)),
            run("last", "c4", stale=after(4)),
            run_all(stale=set(), retraces=7, because="global `factor` is another tf.Variable"),
            edit("c15", "tf.tanh", "tf.sin"),
            run("c15", stale=after(15)),
            run("c16", "c17", stale=after(17)),
            run_all(stale=set(), retraces=27, because="global `factor` is another tf.Variable"),
            run("c5", "c20", "last", stale=after(5)),
        ],
    ),
    Hour(
        "one notebook run again and again",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "model": BUILT + "optimizer = keras.optimizers.SGD(0.05)",
            "scale": "scale = tf.Variable(1.0)",
            "helper": """\
%%tf_function
def error(x, y):
    return tf.reduce_mean((model(x) * scale - y) ** 2)
""",
            "training": """\
%%tf_function training
for epoch in range(3):
    with tf.GradientTape() as tape:
        loss = error(x, y)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
print(f"{float(loss):.4f}")
""",
            "evaluate": """\
%%tf_function evaluate
worst = tf.reduce_max(tf.abs(model(x) - y))
round(float(worst), 3)
""",
        },
        actions=[
            run_all(),
            run_all(retraces=2),
            run_all(retraces=2),
            *[run_all(retraces=1) for _ in range(10)],
        ],
    ),
]


@pytest.mark.parametrize("hour", HOURS, ids=str)
def test_hour(hour: Hour, forks: Forks) -> None:
    play(hour, forks)
