"""Hours with helper files that are edited, and with text and vocabularies."""

from __future__ import annotations

import pytest

from tests.hours.playing.cells import ANOTHER_MODEL, DATA, IMPORTS, STEP, TRAIN
from tests.hours.playing.hours import Hour, beside, edit, restart, run, run_all, write
from tests.hours.playing.kernels import Forks
from tests.hours.playing.player import play

RELOADING = "%load_ext autoreload\n%autoreload 2\n"

TOOLS = """\
import tensorflow as tf

SCALE = 2.0


def normalized(x):
    return (x - tf.reduce_mean(x, 0)) * SCALE


class Head(tf.Module):
    def __init__(self, units):
        super().__init__()
        self.w = tf.Variable(tf.ones([3, units]) * 0.1)

    def __call__(self, x):
        return tf.tanh(x @ self.w)
"""

MODELS = """\
import keras


def make(units=4):
    keras.utils.set_random_seed(3)
    return keras.Sequential(
        [keras.layers.Dense(units, activation="relu"), keras.layers.Dense(1)]
    )


def penalty(model):
    return 0.0
"""

LOOK_UPS = {"look_up", "look_up_again", "counts"}

OF_TEXTS = {"encode", "again", "model", "score", "score_again", "look_up", "look_up_again"}

OF_VOCABULARY = {"encode", "model", "score", "score_again"}
"""What depends on the vocabulary; `score_again` by a model that is to be made again."""

HOURS = [
    Hour(
        "a helper file with functions, constants and a class",
        cells={
            "imports": IMPORTS + RELOADING,
            "tools": "import tools\nfrom tools import Head",
            "data": DATA,
            "step": """\
@nbfn.function
def step(x):
    return tf.reduce_sum(head(tools.normalized(x)) ** 2)
""",
            "head": "head = Head(2)",
            "call": 'print(f"{float(step(x)):.4f}")',
            "cell": """\
%%tf_function cell
z = tools.normalized(x) + 1.0
spread = tf.math.reduce_std(z)
print(f"{float(spread):.4f}")
""",
            "constant": "tools.SCALE = 0.5",
            "eager": 'print(f"{float(tf.reduce_sum(tools.normalized(x) ** 2)):.4f}")',
        },
        actions=[
            write("tools.py", TOOLS),
            run("imports", "tools", "data", "step", "head", "call", "cell"),
            run("call", "cell", "eager"),
            write("tools.py", TOOLS.replace("SCALE = 2.0", "SCALE = 3.0")),
            run("eager", stale={"call", "cell"}),
            run(
                "call",
                retraces=1,
                because="global `tools.SCALE` was 2.0, is 3.0",
                remedy="tools.SCALE",
            ),
            run(
                "cell",
                retraces=1,
                because="global `tools.SCALE` was 2.0, is 3.0",
                remedy="tools.SCALE",
            ),
            write("tools.py", TOOLS.replace("* SCALE", "* SCALE + 0.1")),
            run("call", retraces=1, because="…normalized…", stale={"cell", "eager"}),
            run("cell", retraces=1, because="…normalized…"),
            run("eager", "call", "cell"),
            run("constant", stale={"call", "cell", "eager"}),
            run(
                "call",
                "cell",
                retraces=2,
                because="…SCALE…2.0, is 0.5",
            ),
            write("tools.py", TOOLS.replace("tf.tanh", "tf.sin")),
            run("eager", stale={"call", "cell"}),
            run("call", "cell", retraces=2),
            run("head", stale={"call"}),
            run(
                "call",
                retraces=1,
                because="global `head` is another Head",
            ),
            write("tools.py", TOOLS + "\n\ndef unused():\n    return 1\n"),
            run("call", "cell", "eager", retraces=1, because="attribute `Head.__call__` …"),
            run("head", "call", stale=set(), retraces=1),
            run("call", "cell", "eager", times=3),
        ],
    ),
    Hour(
        "a model that a helper file makes, and a restart",
        cells={
            "imports": IMPORTS + RELOADING,
            "models": "from models import make, penalty",
            "data": DATA,
            "model": "model = make()\noptimizer = keras.optimizers.SGD(0.05)",
            "step": STEP.replace("** 2)\n", "** 2) + penalty(model)\n"),
            "train": TRAIN,
            "predict": "model(x[:2]).numpy().round(3)",
            "save": 'model.save_weights("model.weights.h5")',
            "load": 'model(x[:1])\nmodel.load_weights("model.weights.h5")',
        },
        actions=[
            write("models.py", MODELS),
            run("imports", "models", "data", "model", "step", "train", "predict"),
            run("save", "train"),
            write("models.py", MODELS.replace('"relu"', '"tanh"')),
            run("predict", stale={"model", "train", "predict", "save"}),
            run("train", stale={"model", "train", "predict", "save"}),
            run("model", stale={"train", "predict", "save"}),
            run("train", retraces=1, because=(ANOTHER_MODEL, "global `optimizer` is another SGD")),
            run("predict"),
            write("models.py", MODELS.replace("return 0.0", "return 0.1")),
            run(
                "train",
                retraces=1,
                because="…`penalty`…",
                stale={"model", "train", "predict", "save"},  # `make` is as at first again
            ),
            run("predict", "save", stale={"model", "train", "predict", "save"}),
            restart(),
            run("imports", "models", "data", "model", "load", "predict"),
            run("step", "train"),
            write("models.py", MODELS.replace("units=4", "units=3")),
            run("model", stale={"train", "predict", "load"}),
            run("train", retraces=1),
            run("predict", "train", times=3),
        ],
    ),
    Hour(
        "texts, vocabularies and lookup tables, adapted again",
        cells={
            "imports": IMPORTS,
            "texts": 'texts = tf.constant(["a cat sat", "a dog ran", "the cat ran"])',
            "vectorize": """\
vectorize = keras.layers.TextVectorization(output_mode="int", output_sequence_length=4)
vectorize.adapt(texts)
print(vectorize.get_vocabulary())
""",
            "encode": """\
@nbfn.function
def encode(texts):
    return vectorize(texts)

print(encode(texts).numpy().tolist())
""",
            "again": "print(encode(texts).numpy().tolist())",
            "words": 'words = ["cat", "dog"]',
            "table": """\
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(words, tf.range(len(words), dtype=tf.int64)), -1
)
""",
            "look_up": """\
@nbfn.function
def look_up(texts):
    return table.lookup(tf.strings.split(texts).to_tensor())

print(look_up(texts).numpy().tolist())
""",
            "look_up_again": "print(look_up(texts).numpy().tolist())",
            "counts": """\
%%tf_function counts
ids = table.lookup(tf.strings.split(texts).flat_values)
found = tf.math.bincount(tf.cast(tf.boolean_mask(ids, ids >= 0), tf.int32))
print(found.numpy().tolist())
""",
            "model": """\
keras.utils.set_random_seed(5)
model = keras.Sequential([
    keras.layers.Embedding(vectorize.vocabulary_size(), 2),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(1),
])
""",
            "score": """\
@nbfn.function
def score(texts):
    return model(vectorize(texts))

print(score(texts).numpy().round(3).tolist())
""",
            "score_again": "print(score(texts).numpy().round(3).tolist())",
        },
        actions=[
            run_all(),
            run("again", "look_up_again", "counts", "score_again"),
            edit("texts", "the cat ran", "the bird sang"),
            run("texts", stale={"vectorize", "counts"} | OF_TEXTS),
            run(
                "again",
                "look_up_again",
                "counts",
                stale=OF_TEXTS - {"look_up_again"} | {"vectorize"},
            ),
            run("vectorize", stale=OF_TEXTS - {"look_up_again"}),
            run(
                "again",
                retraces=1,
                because="global `vectorize` is another TextVectorization",
            ),
            run("model", "score_again", retraces=1),
            run("encode", "score", "look_up", stale=set()),
            beside(
                "vectorize.adapt(texts[:1])\nNone",
                stale={"again"} | OF_VOCABULARY,
            ),
            run("again", "score_again", retraces=2, because="…`vectorize.…", stale=OF_VOCABULARY),
            edit("words", '"dog"]', '"bird", "dog"]'),
            run("words", stale={"table"} | LOOK_UPS | OF_VOCABULARY),
            run("table", stale=LOOK_UPS | OF_VOCABULARY),
            run("look_up_again", retraces=1, because="global `table` is another StaticHashTable"),
            run("counts", retraces=1, because="global `table` is another StaticHashTable"),
            run("look_up", "look_up_again"),
            run("again", "score_again", "counts", times=3, stale=OF_VOCABULARY),
        ],
    ),
]


@pytest.mark.parametrize("hour", HOURS, ids=str)
def test_hour(hour: Hour, forks: Forks) -> None:
    play(hour, forks)
