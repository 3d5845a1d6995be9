"""A notebook's training, the same on one device and under a strategy; prints JSON.

``python steps.py HOW NUMBER FOLDER``; HOW is ``one``, ``mirrored`` or ``workers`` (with TF_CONFIG).
"""

from __future__ import annotations

import json
import sys
import warnings

import keras
import numpy as np
import tensorflow as tf

import nbfn
from nbfn import nn

HOW, NUMBER, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]
(CPU,) = tf.config.list_physical_devices("CPU")
if HOW == "mirrored":
    logical = [tf.config.LogicalDeviceConfiguration()] * NUMBER
    tf.config.set_logical_device_configuration(CPU, logical)
STRATEGY = {
    "one": lambda: None,
    "mirrored": lambda: tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(NUMBER)]),
    "workers": tf.distribute.MultiWorkerMirroredStrategy,
}[HOW]()
SIZES = [64, 64, 64, 29, 64]


class Classifier(nn.Module):
    hidden_size: int
    classes: int

    def setup(self):
        self.hidden = nn.Dense(self.hidden_size)
        self.out = nn.Dense(self.classes)

    def __call__(self, images):
        return self.out(nn.relu(self.hidden(images)))


random = np.random.default_rng(0)
images_of_all = tf.constant(random.normal(size=(320, 64)).astype(np.float32))
labels_of_all = tf.constant(random.integers(0, 10, 320).astype(np.int32))
classifier = Classifier(hidden_size=32, classes=10)
variables = classifier.init(nn.key(0), images_of_all[:1])

session = nbfn.session(strategy=STRATEGY)
with session.scope():
    model = classifier.bind(variables)
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)
    plain = classifier.bind(variables)
    rate = tf.Variable(0.5)
    third = classifier.bind(variables)
    sgd = keras.optimizers.SGD(0.5)
    sgd.build(third.trainable_variables)
    late = keras.optimizers.Adam()


@nbfn.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.reduce_mean(losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


def loss_and_gradients(net, images, labels):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, net(images))
        loss = tf.reduce_mean(losses)
    return loss, tape.gradient(loss, net.trainable_variables)


@nbfn.function
def step_by_hand(images, labels):
    loss, gradients = loss_and_gradients(plain, images, labels)
    for gradient, variable in zip(gradients, plain.trainable_variables, strict=True):
        variable.assign_sub(rate * gradient)
    return loss


@nbfn.function
def step_of_sgd(images, labels):
    loss, gradients = loss_and_gradients(third, images, labels)
    sgd.apply_gradients(zip(gradients, third.trainable_variables, strict=True))
    return loss


@nbfn.function
def predict(images):
    return {"scores": tf.nn.softmax(model(images))}


@nbfn.function
def summed(images, labels):
    return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images)))


def train(step):
    batches = (tf.split(each[: sum(SIZES)], SIZES) for each in (images_of_all, labels_of_all))
    return [float(session.run(step, *batch)) for batch in zip(*batches, strict=True)]


def error_of(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except nbfn.NbfnError as error:
        return f"{type(error).__name__}: {error}"
    except tf.errors.InvalidArgumentError as error:
        return error.message
    return None


@nbfn.function
def right(images, labels):
    guesses = tf.argmax(model(images), -1, tf.int32)
    return tf.reduce_sum(tf.cast(guesses == labels, tf.int32))


@nbfn.function
def reduces_itself(images):
    replica = tf.distribute.get_replica_context()
    return replica.all_reduce("MEAN", tf.reduce_mean(model(images)))


@nbfn.function
def within(images):
    def on_replica():
        return tf.distribute.get_replica_context().all_reduce("SUM", images + 1.0)

    return STRATEGY.reduce("MEAN", STRATEGY.run(on_replica), axis=None)


outside = keras.optimizers.Adam()


def step_with(unbuilt):
    @nbfn.function
    def step(images):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(images))
        gradients = tape.gradient(loss, model.trainable_variables)
        unbuilt.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return step


first = images_of_all[:64], labels_of_all[:64]
found = {}
with warnings.catch_warnings(record=True) as reported:
    warnings.simplefilter("always")
    found["adam"] = train(train_step)
    found["by_hand"] = train(step_by_hand)
    found["sgd"] = train(step_of_sgd)
    scores = session.run(predict, first[0])["scores"]
    found["scores"] = scores.numpy().tolist()
    found["sum"] = float(summed(*first))
    found["plain"] = np.allclose(predict(first[0])["scores"], scores, atol=1e-5)
found["reported"] = [str(each.message) for each in reported if each.category is nbfn.NbfnWarning]
found["iterations"] = int(optimizer.iterations.numpy())
found["calls"] = [train_step.calls, train_step.hits, len(train_step.traces)]
found["causes"] = [cause.sentence for each in train_step.retraces for cause in each.causes]
found["under"] = {
    each.name: [getattr(trace.context.strategy, "label", None) for trace in each.traces]
    for each in (train_step, predict, summed)
}
if HOW == "mirrored":
    placement = session.run(train_step.run, *first).placement
    found["devices"] = placement.devices
    found["mean_of_sums"] = float(session.run(summed, *first))
    found["right"] = error_of(session.run, right, *first)
    found["outside"] = error_of(session.run, step_with(outside), first[0])
    found["late"] = error_of(session.run, step_with(late), first[0])
    session.run(reduces_itself, first[0])
    found["own_collectives"] = error_of(nbfn.export, f"{FOLDER}/own", reduces_itself)
    found["step"] = error_of(nbfn.export, f"{FOLDER}/step", train_step)
    within(first[0])
    found["within"] = error_of(nbfn.export, f"{FOLDER}/within", within)
    proven = nbfn.export(f"{FOLDER}/mirrored{NUMBER}", predict)
    found["verified"] = [str(each) for each in proven.verified]
    found["preflight"] = [str(each) for each in nbfn.preflight(predict)]
    nbfn.session(strategy=None)
    found["after"] = session.run(predict, first[0][:3])["scores"].shape.as_list()
if HOW == "workers":
    export = nbfn.export(f"{FOLDER}/model", predict)
    found["exported"] = str(export.path)
    found["verified"] = [str(each) for each in export.verified]
if HOW == "one":
    found["strategy_error"] = error_of(nbfn.session, strategy="mirrored")
sys.stdout.write(json.dumps(found) + "\n")
