"""Hours of training with loops that people write themselves."""

from __future__ import annotations

import pytest

from tests.hours.playing.cells import ANOTHER_SGD, BUILT, DATA, IMPORTS, STEP, TRAIN
from tests.hours.playing.hours import Hour, ask, beside, delete, edit, run, run_all
from tests.hours.playing.kernels import Forks
from tests.hours.playing.player import play

ALL_ANEW = (
    "global `generator` is another Sequential",
    "global `critic` is another Sequential",
    "global `of_generator` is another Adam",
    "global `of_critic` is another SGD",
    "global `noise` is another Generator",
)

HOURS = [
    Hour(
        "variables by hand, a rate that is edited, a last batch that is smaller",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "weights": "w = tf.Variable(tf.zeros([3, 1]))\nb = tf.Variable(0.0)",
            "rate": "rate = 0.1",
            "step": """\
@nbfn.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ w + b - y) ** 2)
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(rate * dw)
    b.assign_sub(rate * db)
    return loss
""",
            "train": TRAIN,
            "batches": """\
for start in range(0, 16, 6):
    loss = step(x[start : start + 6], y[start : start + 6])
print(float(loss))
""",
            "look": "w.numpy().round(3)",
            "view": "step",
            "relax": "step.relax().signature",
        },
        plainly={"view": "", "relax": ""},
        actions=[
            run("imports", "data", "weights", "rate", "step"),
            run("train", "look", "train", "look"),
            edit("rate", "0.1", "0.05"),
            run("rate", stale={"train"}),
            run("train", retraces=1, because="global `rate` was 0.1, is 0.05"),
            run("train", "look"),
            run("batches", retraces=2, because=("`x`: shape was …", "`y`: shape was …")),
            run("view", shows="step.relax()"),
            run("relax"),
            run("batches", "train"),
            edit("rate", "0.05", "0.1"),
            run("rate", stale={"train", "batches"}),
            run("train", retraces=1, because="global `rate` was 0.05, is 0.1"),
            run("batches", "look"),
            run("weights", stale={"train", "batches", "look"}),
            run("train", retraces=1, because=("global `w` is another…", "global `b` is another…")),
            run("batches", "look", "view"),
            run("train", times=3),
        ],
    ),
    Hour(
        "a trainer class, its rate and a method that is edited",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "trainer": """\
class Trainer:
    def __init__(self, rate, units):
        keras.utils.set_random_seed(4)
        self.rate = rate
        self.hidden = keras.layers.Dense(units, activation="tanh")
        self.out = keras.layers.Dense(1)
        self.history = []
        self.steps = tf.Variable(0)

    def predict(self, x):
        return self.out(self.hidden(x))

    @nbfn.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.predict(x) - y) ** 2)
        variables = self.hidden.trainable_variables + self.out.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(self.rate * gradient)
        self.steps.assign_add(1)
        return loss

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            self.history.append(float(self.step(x, y)))
        return self.history[-1]
""",
            "make": "trainer = Trainer(rate=0.1, units=4)",
            "fit": "trainer.fit(x, y, epochs=4)",
            "look": "print(trainer.steps.numpy(), [round(each, 3) for each in trainer.history])",
            "rate": "trainer.rate = 0.05",
            "two": "other = Trainer(rate=0.2, units=2)\nother.fit(x, y, 3), trainer.fit(x, y, 3)",
        },
        actions=[
            run("imports", "data", "trainer", "make", "fit", "look"),
            run("fit", "look"),
            run("rate", stale={"fit"}),
            run("fit", retraces=1, because="attribute `self.rate` was 0.1, is 0.05"),
            run("fit", "look"),
            run("two"),
            run("two", "look"),
            run("make", stale={"fit", "rate", "two"}),
            run("fit"),
            run("look", "rate", stale={"fit", "two"}),
            run("fit", retraces=1, because="attribute `self.rate` was 0.1, is 0.05"),
            edit("trainer", "** 2)", "** 2) + 0.01"),
            run("trainer", stale={"make", "fit", "rate", "two"}),
            run("fit", "look", stale={"make", "fit", "rate", "two"}),
            run("make", "fit", "look", stale={"rate", "two"}),
            edit("trainer", "tanh", "relu"),
            run("trainer", "make", "fit", "look", stale={"rate", "two"}),
            run("two", "fit", times=3),
            delete("other"),
            run("fit", "look"),
        ],
    ),
    Hour(
        "a sweep over rates and units, run again and again",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "step": """\
@nbfn.function
def step(model, optimizer, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss
""",
            "settings": "rates = [0.1, 0.01]\nunits = [2, 3]",
            "sweep": """\
results = {}
for rate in rates:
    for width in units:
        keras.utils.set_random_seed(5)
        model = keras.Sequential([keras.layers.Dense(width), keras.layers.Dense(1)])
        optimizer = keras.optimizers.SGD(rate)
        for _ in range(3):
            loss = step(model, optimizer, x, y)
        results[rate, width] = round(float(loss), 4)
print(results)
""",
            "best": "min(results, key=results.get)",
            "view": "step",
            "weights": """\
%%tf_function weights
losses = []
for rate in rates:
    w = tf.Variable(tf.zeros([3, 1]))
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w - y) ** 2)
        w.assign_sub(rate * tape.gradient(loss, w))
    losses.append(float(loss))
print([round(each, 4) for each in losses])
""",
        },
        plainly={"view": ""},
        actions=[
            run("imports", "data", "step", "settings"),
            run(
                "sweep",
                retraces=3,
                warns="…",
            ),
            run("best", "view"),
            run("sweep", "best", "view", retraces=4),
            run("sweep", "best", "view", retraces=4),
            run("weights"),
            run("weights", retraces=2),
            run("weights", retraces=2),
            run("weights", retraces=2),
            edit("settings", "[0.1, 0.01]", "[0.1, 0.03, 0.01]"),
            run("settings", stale={"sweep", "weights"}),
            run("sweep", retraces=6),
            run("best", "view"),
            run("weights", retraces=3),
            run("weights", retraces=3),
        ],
    ),
    Hour(
        "rollouts of a policy, as in reinforcement learning",
        cells={
            "imports": IMPORTS,
            "world": """\
class World:
    def __init__(self):
        self.random = np.random.default_rng(3)

    def reset(self):
        self.state = self.random.normal(size=4).astype(np.float32) * 0.1
        self.time = 0
        return self.state

    def step(self, action):
        self.time += 1
        push = 1.0 if action == 1 else -1.0
        self.state = (0.9 * self.state + 0.1 * push * np.arange(4) / 4).astype(np.float32)
        return self.state, 1.0 - abs(float(self.state[1])), self.time >= limit
""",
            "settings": "limit = 6\ngamma = 0.9",
            "policy": """\
keras.utils.set_random_seed(6)
policy = keras.Sequential([keras.layers.Input([4]), keras.layers.Dense(2)])
optimizer = keras.optimizers.SGD(0.1)
world = World()
draws = tf.random.Generator.from_seed(1)
""",
            "act": """\
@nbfn.function
def act(state):
    logits = policy(state[tf.newaxis])[0]
    p = tf.nn.softmax(logits)[1]
    return tf.cast(draws.uniform([]) < p, tf.int32)
""",
            "learn": """\
@nbfn.function
def learn(states, actions, returns):
    with tf.GradientTape() as tape:
        logits = policy(states)
        chosen = tf.gather(tf.nn.log_softmax(logits), actions, batch_dims=1)
        loss = -tf.reduce_mean(chosen * returns)
    gradients = tape.gradient(loss, policy.trainable_variables)
    optimizer.apply_gradients(zip(gradients, policy.trainable_variables))
    return loss
""",
            "rollout": """\
totals = []
for episode in range(3):
    state, done = world.reset(), False
    states, actions, rewards = [], [], []
    while not done:
        action = int(act(state))
        states.append(state)
        state, reward, done = world.step(action)
        actions.append(action)
        rewards.append(reward)
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.insert(0, total)
    loss = learn(tf.stack(states), tf.constant(actions), tf.constant(returns, tf.float32))
    totals.append(round(sum(rewards), 4))
    print(episode, totals[-1], f"{float(loss):.4f}")
""",
            "view": "learn",
        },
        plainly={"view": ""},
        actions=[
            run_all(),
            run("rollout", times=2),
            edit("settings", "limit = 6", "limit = 9"),
            run("settings", stale={"rollout"}),
            run(
                "rollout",
                retraces=1,
                because=("`states`: shape was …", "`actions`: …", "`returns`: …"),
            ),
            run("rollout", "view"),
            edit("settings", "0.9", "0.8"),
            run("settings", stale={"rollout"}),
            run("rollout", times=2),
            run("policy", stale={"rollout"}),
            run("rollout", retraces=2),
            run("rollout", "view"),
            edit("world", "0.9 * self.state", "0.8 * self.state"),
            run("world", stale={"policy", "rollout"}),
            run("rollout", stale={"policy", "rollout"}),
            run("policy", stale={"rollout"}),
            run("rollout", retraces=2),
            run("rollout", times=2),
            ask("learn.relax()", shows="the only trace, which stays as it is"),
            run("rollout", times=2),
        ],
    ),
    Hour(
        "two networks against each other, with an optimizer each",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "models": """\
keras.utils.set_random_seed(7)
generator = keras.Sequential([
    keras.layers.Input([2]), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(3)
])
critic = keras.Sequential([
    keras.layers.Input([3]), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)
])
""",
            "optimizers": """\
of_generator = keras.optimizers.Adam(0.01)
of_critic = keras.optimizers.SGD(0.02)
noise = tf.random.Generator.from_seed(5)
""",
            "loss": """\
smoothing = 0.1
entropy = keras.losses.BinaryCrossentropy(from_logits=True)

def criticise(real, fake):
    right = tf.ones_like(real) * (1.0 - smoothing)
    return entropy(right, real) + entropy(tf.zeros_like(fake), fake)
""",
            "steps": """\
@nbfn.function
def step(real):
    z = noise.normal([16, 2])
    with tf.GradientTape() as one, tf.GradientTape() as other:
        fake = generator(z)
        judged = critic(fake)
        loss_of_critic = criticise(critic(real), judged)
        loss_of_generator = entropy(tf.ones_like(judged), judged)
    gradients = one.gradient(loss_of_generator, generator.trainable_variables)
    of_generator.apply_gradients(zip(gradients, generator.trainable_variables))
    gradients = other.gradient(loss_of_critic, critic.trainable_variables)
    of_critic.apply_gradients(zip(gradients, critic.trainable_variables))
    return loss_of_generator, loss_of_critic
""",
            "train": """\
for _ in range(3):
    losses = [round(float(loss), 3) for loss in step(x)]
losses
""",
            "sample": "generator(noise.normal([2, 2])).numpy().round(2)",
            "view": "step",
        },
        plainly={"view": ""},
        rtol=1e-3,
        actions=[
            run_all(),
            run("train", "sample"),
            edit("loss", "0.1", "0.2"),
            run("loss", stale={"train"}),
            run("train", retraces=1, because=("global `smoothing` was 0.1, is 0.2", "…entropy…")),
            run("train", "sample"),
            run("models", stale={"train", "sample"}),
            run("optimizers"),
            run("train", retraces=1, because=ALL_ANEW),
            run("sample", "view"),
            run("optimizers", stale={"train", "sample"}),
            run("train", retraces=1),
            run("sample", "train"),
            edit("models", 'Dense(4, activation="tanh")', 'Dense(6, activation="tanh")'),
            run("models", stale={"train", "sample"}),
            run("optimizers", stale={"train", "sample"}),
            run("train", retraces=1, because=ALL_ANEW),
            run("sample", "view"),
            run_all(stale=set()),
            run("train", times=3),
        ],
    ),
    Hour(
        "two models that are compared",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "models": """\
def make(units, activation):
    keras.utils.set_random_seed(8)
    layers = [keras.layers.Dense(units, activation=activation), keras.layers.Dense(1)]
    return keras.Sequential([keras.layers.Input([3]), *layers])

models = {"small": make(2, "tanh"), "wide": make(6, "relu")}
""",
            "step": """\
@nbfn.function
def step(model, x, y, rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    variables = model.trainable_variables
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
        variable.assign_sub(rate * gradient)
    return loss
""",
            "train": """\
for name, model in models.items():
    losses = [float(step(model, x, y, rate)) for _ in range(3)]
    print(name, [round(each, 4) for each in losses])
""",
            "rate": "rate = 0.05",
            "compare": """\
errors = {name: float(tf.reduce_mean(abs(model(x) - y))) for name, model in models.items()}
min(errors, key=errors.get)
""",
            "ensemble": """\
@nbfn.function
def ensemble(x):
    return tf.add_n([model(x) for model in models.values()]) / len(models)

ensemble(x[:2]).numpy().round(3)
""",
            "call": "ensemble(x[:2]).numpy().round(3)",
            "view": "step",
        },
        plainly={"view": ""},
        actions=[
            run("imports", "data", "models", "step", "rate"),
            run("train", retraces=1, because="`model` is another Sequential"),
            run("compare", "ensemble"),
            run("train", "compare", "call"),
            edit("rate", "0.05", "0.02"),
            run("rate", stale={"train"}),
            run("train", retraces=2, because="`rate`: Python value was 0.05, is 0.02"),
            run("view", "compare"),
            beside(
                "models['deep'] = make(4, 'tanh')",
                stale={"train", "compare", "ensemble", "call"},
            ),
            run("call", retraces=1, because="…`models`…"),
            run("train", retraces=1),
            run("compare", "call"),
            beside("del models['small']", stale={"train", "compare", "ensemble", "call"}),
            run("call", retraces=1, because="…`models`…"),
            run("train", "compare"),
            run(
                "models",
                stale={"train", "compare", "ensemble", "call"},
            ),
            run("train", retraces=2),
            run("compare", "ensemble", "call"),
            run("call", "train", times=3),
        ],
    ),
    Hour(
        "a learning rate changed by assignment, by attribute, by a schedule",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "model": BUILT,
            "optimizer": "optimizer = keras.optimizers.SGD(0.1)",
            "step": STEP,
            "train": TRAIN,
            "slower": "optimizer.learning_rate = 0.05",
            "assign": "optimizer.learning_rate.assign(0.02)\nNone",
            "momentum": "optimizer.momentum = 0.5",
            "clip": "optimizer.clipnorm = 0.1",
            "schedule": """\
schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 5, 0.5)
optimizer = keras.optimizers.SGD(schedule)
""",
            "decay": """\
for epoch in range(3):
    optimizer.learning_rate = 0.1 * 0.5**epoch
    loss = step(x, y)
    print(epoch, f"{float(loss):.4f}", round(float(optimizer.learning_rate), 4))
""",
        },
        actions=[
            run("imports", "data", "model", "optimizer", "step", "train"),
            run("slower", "train"),
            run("assign", "train"),
            run("decay", times=2),
            run("clip", stale={"train", "decay"}),
            run(
                "train",
                retraces=1,
                because="…`optimizer.clipnorm`…",
            ),
            run("decay", "train"),
            run("optimizer", stale={"train", "slower", "assign", "decay", "clip"}),
            run("train", retraces=1, because=ANOTHER_SGD),
            run("slower", "assign", "decay", "train", stale={"clip"}),
            run("schedule", stale={"train", "slower", "assign", "decay", "clip"}),
            run("train", retraces=1, because=ANOTHER_SGD),
            run("train", times=2),
            run("optimizer", stale={"train", "slower", "assign", "decay", "clip"}),
            run("train", retraces=1, because=ANOTHER_SGD),
            run("decay", times=3),
            run("slower", "train", stale={"assign", "clip"}),
        ],
    ),
    Hour(
        "layers that are frozen and thawed between calls",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "model": BUILT + "optimizer = keras.optimizers.SGD(0.05)",
            "step": STEP,
            "train": TRAIN,
            "freeze": "model.layers[0].trainable = False",
            "thaw": "model.layers[0].trainable = True",
            "training": """\
%%tf_function training
for epoch in range(3):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
print(f"loss {float(loss):.4f}")
""",
            "look": "len(model.trainable_variables), model.layers[0].get_weights()[0].round(3)",
            "on": "%tf_auto on",
            "off": "%tf_auto off",
            "automatic": """\
for epoch in range(6):
    if epoch == 3:
        model.layers[0].trainable = False
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
print(f"loss {float(loss):.4f}", len(model.trainable_variables))
""",
            "halfway": """\
%%tf_function halfway
for epoch in range(6):
    if epoch == 3:
        model.layers[0].trainable = False
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
print(f"loss {float(loss):.4f}", len(model.trainable_variables))
""",
        },
        actions=[
            run("imports", "data", "model", "step", "train", "training"),
            run("train", "training", "look"),
            run("freeze", stale={"train", "training", "look"}),
            run("train", retraces=1, because="…trainable…True…False"),
            run("training", retraces=1, because="…trainable…True…False"),
            run("look", "train", "training"),
            run("thaw", stale={"train", "training", "look"}),
            run("train", "training", "look"),
            run("freeze", stale={"train", "training", "look"}),
            run("train", "training", "look"),
            run("thaw", stale={"train", "training", "look"}),
            run("halfway", retraces=1, stale=set()),  # it ends with what the others have read
            run("look"),
            run("train", "training", "look"),
            run("thaw", stale={"train", "training", "look"}),  # from here `halfway` begins anyway
            run("halfway", "look", stale=set()),
            run("model", stale={"train", "training", "halfway", "freeze", "thaw", "look"}),
            run("train", "training", retraces=2),
            run("freeze", "train", "training", retraces=2, stale={"halfway", "thaw", "look"}),
            run("look"),
            run("model", "on", stale={"train", "training", "halfway", "freeze", "thaw", "look"}),
            run("automatic", "look", retraces=1, because="…trainable…True…False"),
            run("off", "automatic", "look"),
        ],
    ),
    Hour(
        "constants in a dict and in a dataclass, edited",
        cells={
            "imports": IMPORTS,
            "data": DATA,
            "config": 'config = {"rate": 0.1, "clip": 1.0, "layers": [4, 1]}',
            "settings": """\
import dataclasses

@dataclasses.dataclass
class Settings:
    decay: float = 0.0
    power: int = 2

settings = Settings()
""",
            "weights": "w = tf.Variable(tf.zeros([3, 1]))",
            "step": """\
@nbfn.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(x @ w - y) ** settings.power)
        loss += settings.decay * tf.reduce_sum(w**2)
    gradient = tf.clip_by_value(tape.gradient(loss, w), -config["clip"], config["clip"])
    w.assign_sub(config["rate"] * gradient)
    return loss
""",
            "train": TRAIN,
            "slower": 'config["rate"] = 0.05',
            "decayed": "settings.decay = 0.1",
            "look": "w.numpy().round(3)",
        },
        actions=[
            run_all(retraces=0, stale={"train"}),
            run(
                "train",
                retraces=1,
                because=("…`config['rate']` was 0.1, is 0.05", "…decay…0.0…0.1"),
            ),
            run("train", "look"),
            run("config", stale={"train", "slower"}),
            run("train", retraces=1, because="…`config['rate']` was 0.05, is 0.1"),
            run("look", "train"),
            edit("config", '"clip": 1.0', '"clip": 0.5'),
            run("config", stale={"train", "slower"}),
            run("train", retraces=1, because="…`config['clip']` was 1.0, is 0.5"),
            run("settings", stale={"train", "decayed", "slower"}),
            run("train", retraces=1, because="global `settings` is another Settings"),
            run("decayed", stale={"train", "slower"}),
            run("train", "look", retraces=1, because="…`settings.decay` was 0.0, is 0.1"),
            edit("settings", "power: int = 2", "power: int = 4"),
            run("settings", stale={"train", "decayed", "slower"}),
            run("train", retraces=1, because="global `settings` is another Settings"),
            run("slower", stale={"train", "decayed"}),
            run("train", retraces=1),
            beside('config["layers"].append(2)'),
            run("train", "look", times=3),
        ],
    ),
]


@pytest.mark.parametrize("hour", HOURS, ids=str)
def test_hour(hour: Hour, forks: Forks) -> None:
    play(hour, forks)
