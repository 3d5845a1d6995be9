"""What a statement changes of an object, the statements after it see in the same run.

Drawn are the change, the turn of the loop in which it comes, what makes it (the statement itself,
or something that it calls), and whether the cell or the notebook asks for graphs.
"""

from __future__ import annotations

import os
import textwrap
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.functions.segments.comparing.sides_of_cells import (
    differences,
    graphs_pay,
    run_story,
)
from tests.functions.segments.corpus.story import Story

EXAMPLES = int(os.environ.get("NBFN_EXAMPLES", "12"))
TURNS = 6

SETUP = """
import contextlib, keras

class Scaled(keras.layers.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.factor, self.scales, self.options = 1.0, [1.0], {"gain": 1.0}
        self.parts = [keras.layers.Dense(1, name="part")]
    def call(self, x):
        for part in self.parts:
            x = part(x)
        return x * self.factor * self.options["gain"] * len(self.scales)

class Config: pass

def made():
    keras.utils.set_random_seed(2)
    hidden = keras.layers.Dense(4, activation="relu", name="hidden")
    norm = keras.layers.BatchNormalization(name="norm")
    last = keras.layers.Dense(3, name="last")
    model = keras.Sequential([keras.layers.Input([3]), hidden, norm, last], name="model")
    own = Scaled(name="own")
    own(model(tf.zeros([1, 3])))
    schedule = keras.optimizers.schedules.ExponentialDecay(0.05, 10, 0.9)
    opt = keras.optimizers.SGD(schedule, name="opt")
    opt.build(model.trainable_variables + own.trainable_variables)
    other = keras.layers.Dense(1, name="other"); other.build([None, 3])
    return hidden, norm, last, model, own, schedule, opt, other

def sum_of(loss): return tf.reduce_sum(loss)
def mean_of(loss): return tf.reduce_mean(loss)
def reduced(loss): return config.reduce(loss) * config.rate + 0.001 * tf.add_n(terms)

# No sigmoid: in a graph Keras takes the logits in front of one, and no epsilon.
def chance(x): return 0.5 + 0.5 * tf.tanh(x)
x = tf.random.stateless_normal([8, 3], [1, 2])
y = chance(tf.reduce_sum(x, 1, keepdims=True))
loss_fn = keras.losses.BinaryCrossentropy(from_logits=False, reduction=None)
config, terms = Config(), []

def change():
    {change}

def at(i):
    if i == {turn}: change()
    return i

class Hooks:
    def append(self, i): at(i)
    def __iadd__(self, i):
        at(i); return self
    @property
    def turn(self): return at(turn)
hooks = Hooks()

def turns():
    for i in range({turns}):
        yield at(i)

@contextlib.contextmanager
def entered(i):
    at(i); yield
@contextlib.contextmanager
def left(i):
    yield
    at(i)
"""

CHANGES = {
    "a layer is frozen": "hidden.trainable = False",
    "a model is frozen": "model.trainable = False",
    "a variable is frozen": "hidden.kernel.trainable = False",
    "an activation": "hidden.activation = tf.nn.tanh",
    "no bias": "hidden.use_bias = False",
    "a momentum": "norm.momentum = 0.1",
    "the last layer goes": "model.pop()",
    "one more layer": "model.add(other)",
    "clipping": "opt.clipnorm = 0.01",
    "a schedule's rate": "schedule.initial_learning_rate = 0.5",
    "a learning rate": "opt.learning_rate = 0.5",
    "a reduction": "loss_fn.reduction = 'sum'",
    "a setting of Keras": "keras.config.set_epsilon(0.3)",
    "an attribute of a layer": "own.factor = 3.0",
    "a list of a layer": "own.scales.append(1.0)",
    "a dict of a layer": "own.options['gain'] = 2.0",
    "a layer in a list": "own.parts[0] = other",
    "a constraint": "last.kernel.constraint = keras.constraints.MaxNorm(0.1)",
    "an attribute of an object": "config.rate = 2.0",
    "a function": "config.reduce = sum_of",
    "a list": "terms.append(tf.constant(3.0))",
}
MAKERS = {
    "itself": ("", "if i == {turn}:\n    {change}", ""),
    "a call": ("", "if i == {turn}: change()", ""),
    "the test of an if": ("", "if at(i) < 0: pass", ""),
    "an assertion": ("", "assert at(i) >= 0", ""),
    "a sort's key": ("", "ordered = sorted([i], key=at)", ""),
    "map": ("", "seen = list(map(at, [i]))", ""),
    "a method": ("", "hooks.append(i)", ""),
    "an operator": ("", "hooks += i", ""),
    "a property": ("", "turn = i; now = hooks.turn", ""),
    "a context that is entered": ("", "with entered(i): pass", ""),
    "a context that is left": ("", "", "with left(i): last_turn = i"),
    "a generator": ("turns()", "", ""),
    "a named generator": ("steps", "", ""),
}
BODIES = {
    "training": """\
    with tf.GradientTape() as tape:
        loss = reduced(loss_fn(y, chance(own(model(x)))))
    variables = model.trainable_variables + own.trainable_variables
    opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
    losses.append(float(loss))
""",
    "prediction": """\
    out = own(model(x, training=True))
    out = out + reduced(loss_fn(y, chance(out)))
    total = tf.reduce_sum(out)
    losses.append(float(total))
""",
}


def story(change: str, maker: str, turn: int, body: str) -> Story:
    iterated, before, after = MAKERS[maker]
    places = {"turn": turn, "change": CHANGES[change]}
    cell = [
        "hidden, norm, last, model, own, schedule, opt, other = made()",
        "keras.config.set_epsilon(1e-7); loss_fn.reduction = None",
        "config.rate, config.reduce, terms[:] = 1.0, mean_of, [tf.constant(1.0)]",
        "losses, steps, last_turn = [], turns(), None",
        f"for i in {iterated or f'range({TURNS})'}:",
        *textwrap.indent(before.format(**places), "    ").splitlines(),
        *BODIES[body].splitlines(),
        *textwrap.indent(after, "    ").splitlines(),
    ]
    setup = SETUP.replace("{change}", CHANGES[change]).replace("{turn}", str(turn))
    return Story(change, setup.replace("{turns}", str(TURNS)), "\n".join(cell))


@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    phases=[Phase.explicit, Phase.generate],
)
@given(
    st.sampled_from(sorted(CHANGES)),
    st.sampled_from(sorted(MAKERS)),
    st.integers(0, TURNS - 1),
    st.sampled_from(sorted(BODIES)),
    st.sampled_from(["%%tf_function", "%tf_auto"]),
)
@pytest.mark.filterwarnings("ignore")
def test_a_change_is_seen(change: str, maker: str, turn: int, body: str, magic: str) -> None:
    plain = story(change, maker, turn, body)
    turned_on = "get_ipython().run_line_magic('tf_auto', 'on')\n"
    by_itself = replace(plain, setup=plain.setup + turned_on)
    traced, line = (by_itself, "") if magic == "%tf_auto" else (plain, magic)
    with graphs_pay():
        assert differences(run_story(plain, ""), run_story(traced, line)) == []
