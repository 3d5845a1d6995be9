"""Cells as people write them, that do the same traced as run eagerly."""

from __future__ import annotations

SETUP = """
import dataclasses, functools, itertools, json, logging, math, os, random, re, datetime
import keras
import numpy as np
from nbfn import nn

x = tf.random.normal([8, 4])
labels = tf.constant([0, 1, 0, 1, 1, 0, 1, 0])
targets = tf.random.normal([8, 1])
n, lr, name, verbose, history, metrics, names = 3, 0.1, "run", False, [], {}, ["a", "b"]
w, b = tf.Variable(tf.random.normal([4, 1])), tf.Variable(0.0)
step = tf.Variable(0, dtype=tf.int64)
adam, sgd = keras.optimizers.Adam(0.01), keras.optimizers.SGD(0.1)
model = keras.Sequential(
    [keras.layers.Dense(8, activation="relu"), keras.layers.Dropout(0.2), keras.layers.Dense(2)]
)
model(x)
entry = keras.Input([4])
functional = keras.Model(entry, keras.layers.Dense(1)(keras.layers.Dense(3)(entry)))
cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
mse = keras.losses.MeanSquaredError()
accuracy, mean = keras.metrics.SparseCategoricalAccuracy(), keras.metrics.Mean()
batches = tf.data.Dataset.from_tensor_slices((x, labels)).shuffle(8).batch(4)
numbers = tf.data.Dataset.range(5)
endless = iter(numbers.repeat())

class Classifier(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = keras.layers.Dense(4), keras.layers.Dense(2)

    def call(self, z, training=False):
        return self.out(tf.nn.relu(self.hidden(z)))

classifier = Classifier()
classifier(x)

class Linear(tf.Module):
    def __init__(self, k):
        super().__init__()
        self.k, self.scale, self.debug = tf.Variable(tf.ones([4, k])), 2.0, False

    def __call__(self, z):
        if self.debug:
            print("called", z)
        return z @ self.k * self.scale

linear = Linear(2)

class Net(nn.Module):
    width: int = 4

    @nn.compact
    def __call__(self, z, train=False):
        z = nn.relu(nn.Dense(self.width)(z))
        return nn.Dense(2)(nn.Dropout(0.1)(z, training=train))

net = Net()
params = net.init(nn.key(0), x)
bound = net.bind(params)

def loss_of(predicted, true):
    return tf.reduce_mean(tf.square(predicted - true))

def train_step(z, t, verbose=False):
    with tf.GradientTape() as tape:
        loss = loss_of(z @ w + b, t)
    if verbose:
        print("loss", loss)
    sgd.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
    return loss

@tf.function
def compiled(z):
    print("tracing")
    return z * 2

def checked(z):
    assert z.shape.rank == 2, f"rank of {z} is {z.shape.rank}"
    try:
        return z * 1
    except ValueError as error:
        print(error)
        raise

@dataclasses.dataclass
class Config:
    rate: float = 0.1
    layers: tuple = (1, 2)

config = Config()
generator = tf.random.Generator.from_seed(1)
"""

CELLS = [
    "loss = train_step(x, targets)",
    "loss = train_step(x, targets, verbose=False)",
    "def one(z):\n    with tf.GradientTape() as tape:\n        l = mse(targets, functional(z))\n"
    "    return l, tape.gradient(l, functional.trainable_variables)\n"
    "loss, gradients = one(x)\n"
    "adam.apply_gradients(zip(gradients, functional.trainable_variables))\nloss",
    "predicted = functional(x)\nerror = mse(targets, predicted)\nerror",
    "logits = model(x, training=True)\nloss = cross_entropy(labels, logits)",
    "out = classifier(x, training=True)\ntf.argmax(out, axis=-1)",
    "xb, yb = x[:4], labels[:4]\ntotal = tf.constant(0.0)\nfor xb, yb in batches:\n"
    "    total += cross_entropy(yb, model(xb))\ntotal",
    "item = tf.constant(0, tf.int64)\nsum_ = item\nfor item in numbers:\n    sum_ += item",
    "total = batches.reduce(tf.constant(0.0), lambda a, e: a + tf.reduce_sum(e[0]))",
    "mapped = numbers.map(lambda q: q * 2).batch(2)\nfirst = next(iter(mapped))",
    "value = next(endless)",
    "out = linear(x)\ntf.reduce_mean(out)",
    "logits = bound(x)\nprobabilities = tf.nn.softmax(logits)",
    "out = net.apply(params, x)",
    "mean.update_state(x)\naccuracy.update_state(labels, model(x))\nresult = accuracy.result()",
    "tf.print('mean', tf.reduce_mean(x), output_stream='file:///dev/null')\nm = tf.reduce_mean(x)",
    "step.assign_add(1)\nw.assign_sub(lr * tf.ones_like(w))\nb.assign(0.0)\ntwice = step * 2",
    "noise = tf.random.normal([8, 4])\nz = x + noise\ng = generator.normal([3])",
    "z = x\nfor i in range(n):\n    z = tf.nn.relu(z) * lr",
    "z = x\nfor i in range(x.shape[0]):\n    z = z + i",
    "z = tf.zeros([4])\nfor row in tf.range(8):\n    z += x[row]",
    "if tf.reduce_sum(x) > 0:\n    z = x\nelse:\n    z = -x\nz",
    "count = tf.constant(0)\nwhile count < 10:\n    count += 1\ncount",
    "size = n * 2\ntitle = f'{name}-{n}-{size:03d}'\nz = x * size",
    "rows = x.shape[0]\ntext = f'{rows} rows of {x.dtype.name}, {x.shape}'\nz = x[:1]",
    "parts = [x * i for i in range(3)]\nby_name = {each: x for each in names}\nz = tf.add_n(parts)",
    "history.append(tf.reduce_mean(x))\nmetrics['loss'] = tf.reduce_sum(x)",
    "out = compiled(x)",
    "z = checked(x)",
    "z = x * config.rate\nfor width in config.layers:\n    z = z * width",
    "summed = functools.partial(tf.reduce_sum, axis=0)\nz = summed(x)",
    "left, right = tf.split(x, 2, axis=1)\nz = tf.concat([left, right], 1)",
    "def norm(t):\n    return tf.sqrt(tf.reduce_sum(t * t))\nz = norm(x)",
    "z = tf.map_fn(lambda r: r * 2, x)\nq = tf.vectorized_map(lambda r: r + 1, x)",
    "tf.debugging.assert_greater(n, 1, message=f'n is {n}')\nz = x",
    "z = math.sqrt(2.0) * x\nupper = name.upper()\nlength = len(names)",
    "if verbose:\n    print('x', x)\nz = x * 2",
    "z = tf.strings.format('{}', x)\nt = tf.strings.as_string(x)",
    "pieces = re.split(',', 'a,b')\ntext = json.dumps({'a': 1})\nz = x",
    "path = os.path.join('a', 'b')\nlogger = logging.getLogger('quiet')\nz = x",
    "flags = [v > 0 for v in [1, -1]]\nbig = max(1, 2) if flags else 0\n"
    "answer = 'yes' if n > 2 else 'no'\nz = x * big",
    "with tf.device('/CPU:0'):\n    z = x @ tf.transpose(x)\nwith tf.name_scope('s'):\n    z += 1",
    "try:\n    z = x * 2\nexcept ValueError as error:\n    print(error)\nz",
    "if n > 100 or lr > 1:\n    raise ValueError(f'bad {x}')\nz = x",
    "draws = np.random.RandomState(0)\nother = random.Random(1)\nz = x * draws.rand()",
    "z = tf.py_function(lambda v: print('', end='') or v * 2, [x], tf.float32)",
    "z = keras.random.normal((2,))\nkernel = keras.initializers.GlorotUniform(seed=1)((2, 2))",
    "pairs = list(zip(names, [1, 2]))\ntotal = sum([1, 2])\nz = x * total\nnames_ = sorted(names)",
    "delta = datetime.timedelta(days=1)\nz = x",
    "log = str(n) + repr(names) + '%d' % n + '{}'.format(lr)\nz = x",
    "one, two = float(n), int(lr)\nz = x * one",
    "def never(a):\n    print(a)\n    return a\nz = x",
]
