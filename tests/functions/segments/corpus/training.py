"""Training: loops that print, tapes, optimizers, metrics, schedules, checkpoints."""

from __future__ import annotations

from tests.functions.segments.corpus.story import Story

_DATA = """
X = tf.random.stateless_normal((32, 4), seed=(1, 1))
Y = tf.reduce_sum(X * [1.0, -2.0, 0.5, 0.0], axis=1, keepdims=True) + 0.3
"""

_MODEL = (
    _DATA
    + """
model = tf.keras.Sequential([
    tf.keras.layers.Input((4,)),
    tf.keras.layers.Dense(8, activation="tanh"),
    tf.keras.layers.Dense(1),
])
optimizer = tf.keras.optimizers.SGD(0.05)
loss_of = tf.keras.losses.MeanSquaredError()
"""
)

STORIES = [
    Story(
        "linear regression with weights assigned by hand",
        _DATA
        + """
w = tf.Variable(tf.zeros((4, 1))); b = tf.Variable([0.0])
history = []
""",
        """
        rate = 0.1
        for step_number in range(5):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(X @ w + b - Y))
            dw, db = tape.gradient(loss, [w, b])
            w.assign_sub(rate * dw)
            b.assign_sub(rate * db)
            history.append(float(loss))
            print(f"step {step_number}: loss {loss:.5f}")
        print(len(history), "steps so far")
        w.numpy().ravel()
        """,
    ),
    Story(
        "the same loop without a word",
        _DATA
        + """
w = tf.Variable(tf.zeros((4, 1))); b = tf.Variable([0.0])
""",
        """
        for _ in range(8):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(X @ w + b - Y))
            dw, db = tape.gradient(loss, [w, b])
            w.assign_sub(0.1 * dw)
            b.assign_sub(0.1 * db)
        loss
        """,
    ),
    Story(
        "a model of Keras trained by a loop of one's own",
        _MODEL + "\nhistory = {'loss': [], 'norm': []}",
        """
        for epoch in range(3):
            with tf.GradientTape() as tape:
                predictions = model(X, training=True)
                loss = loss_of(Y, predictions)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            history["loss"].append(loss.numpy())
            history["norm"].append(tf.linalg.global_norm(gradients).numpy())
            if epoch % 2 == 0:
                print("epoch", epoch, "loss", round(float(loss), 4))
        history["loss"][-1] < history["loss"][0]
        """,
    ),
    Story(
        "batches of a data set and metrics",
        _MODEL
        + """
batches = tf.data.Dataset.from_tensor_slices((X, Y)).batch(10)
mean_loss = tf.keras.metrics.Mean(name="loss")
error = tf.keras.metrics.MeanAbsoluteError()
""",
        """
        mean_loss.reset_state()
        error.reset_state()
        for x, y in batches:
            with tf.GradientTape() as tape:
                predictions = model(x, training=True)
                loss = loss_of(y, predictions)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            mean_loss.update_state(loss)
            error.update_state(y, predictions)
        print(f"loss {mean_loss.result():.4f}, error {error.result().numpy():.4f}")
        """,
    ),
    Story(
        "early stopping with patience",
        _DATA
        + """
w = tf.Variable(tf.zeros((4, 1)))
best, patience, waited = float("inf"), 2, 0
""",
        """
        for epoch in range(12):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(X @ w - Y))
            w.assign_sub(0.6 * tape.gradient(loss, w))
            if loss < best - 1e-2:
                best, waited = loss, 0
                kept = w.numpy().copy()
            else:
                waited += 1
                if waited >= patience:
                    print("stopped in epoch", epoch)
                    break
        else:
            print("all epochs")
        w.assign(kept)
        epoch, float(best)
        """,
    ),
    Story(
        "a checkpoint saved and restored",
        _DATA
        + """
import os, tempfile
w = tf.Variable(tf.zeros((4, 1)), name="w")
counter = tf.Variable(0)
folder = tempfile.mkdtemp()
checkpoint = tf.train.Checkpoint(w=w, counter=counter)
manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
""",
        """
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(X @ w - Y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        counter.assign_add(1)
        path = manager.save()
        good = w.numpy()
        w.assign(tf.fill(w.shape, 7.0))
        checkpoint.restore(path).assert_consumed()
        print(os.path.basename(path), int(counter), np.array_equal(good, w.numpy()))
        len(manager.checkpoints)
        """,
    ),
    Story(
        "a schedule of rates, printed as it falls",
        _MODEL
        + """
schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=2, decay_rate=0.5)
scheduled = tf.keras.optimizers.SGD(schedule, momentum=0.9)
""",
        """
        rates = []
        for i in range(4):
            with tf.GradientTape() as tape:
                loss = loss_of(Y, model(X))
            gradients = tape.gradient(loss, model.trainable_variables)
            scheduled.apply(gradients, model.trainable_variables)
            rate = schedule(scheduled.iterations)
            rates.append(round(float(rate), 5))
        print(" > ".join(map(str, rates)))
        scheduled.iterations
        """,
    ),
    Story(
        "a rate set by hand between the epochs",
        _MODEL,
        """
        for epoch in range(4):
            if epoch == 2:
                optimizer.learning_rate = optimizer.learning_rate * 0.1
                print("rate is now", f"{optimizer.learning_rate.numpy():.4f}")
            with tf.GradientTape() as tape:
                loss = loss_of(Y, model(X, training=True))
            optimizer.apply_gradients(
                zip(tape.gradient(loss, model.trainable_weights), model.trainable_weights)
            )
        tf.round(loss * 100) / 100
        """,
    ),
    Story(
        "gradients clipped by their norm",
        _MODEL,
        """
        with tf.GradientTape() as tape:
            loss = 100 * loss_of(Y, model(X))
        gradients = tape.gradient(loss, model.trainable_variables)
        clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
        if norm > 1.0:
            print(f"clipped from {norm:.3f}")
        optimizer.apply_gradients(zip(clipped, model.trainable_variables))
        largest = max(float(tf.reduce_max(tf.abs(each))) for each in clipped)
        [each.shape.as_list() for each in clipped], round(largest, 5)
        """,
    ),
    Story(
        "a persistent tape",
        """
        x = tf.constant(3.0)
        v = tf.Variable(2.0)
        """,
        """
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x * v
            z = y * y
        dz = tape.gradient(z, x)
        dy = tape.gradient(y, x)
        dv = tape.gradient(z, v)
        unconnected = tape.gradient(y, tf.constant(1.0))
        print(dz.numpy(), dy.numpy(), dv.numpy(), unconnected)
        del tape
        dz / dy
        """,
    ),
    Story(
        "tapes in one another",
        """
        x = tf.Variable(1.5)
        def f(t):
            return t ** 3 - 2 * t
        """,
        """
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = f(x)
            first = inner.gradient(y, x)
        second = outer.gradient(first, x)
        x.assign_sub(first / second)
        print(f"f' = {first:.4f}, f'' = {second:.4f}, x = {x.numpy():.4f}")
        """,
    ),
    Story(
        "a tape that several statements write to",
        """
        w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        x = tf.constant([[1.0, -1.0]])
        """,
        """
        with tf.GradientTape() as tape:
            hidden = x @ w
            hidden = tf.nn.relu(hidden + 2.0)
            a, b = tf.split(hidden, 2, axis=1)
            loss = tf.reduce_sum(a * b) + tf.reduce_sum(tf.square(w))
        wrt_hidden, wrt_w = tape.gradient(loss, [hidden, w])
        jacobian_free = tape.watched_variables()[0].shape
        wrt_hidden, wrt_w, jacobian_free
        """,
    ),
    Story(
        "a jacobian and a hessian",
        """
        x = tf.Variable([1.0, 2.0, 3.0])
        """,
        """
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                y = tf.stack([x[0] * x[1], tf.sin(x[2]), tf.reduce_sum(x)])
            jacobian = tape.jacobian(y, x)
            size = tf.reduce_sum(tf.square(jacobian))
        of_size = outer.gradient(size, x)
        print(np.round(jacobian.numpy(), 3))
        of_size
        """,
    ),
    Story(
        "an optimizer made in the cell",
        _DATA
        + """
w = tf.Variable(tf.zeros((4, 1)))
""",
        """
        adam = tf.keras.optimizers.Adam(0.1)
        trace = []
        for i in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.abs(X @ w - Y))
            adam.apply_gradients([(tape.gradient(loss, w), w)])
            trace.append(round(float(loss), 4))
        print(trace, int(adam.iterations))
        """,
    ),
    Story(
        "gradients accumulated over small batches",
        _MODEL,
        """
        accumulated = [tf.zeros_like(v) for v in model.trainable_variables]
        parts = 4
        for part in range(parts):
            chunk = slice(part * 8, (part + 1) * 8)
            with tf.GradientTape() as tape:
                loss = loss_of(Y[chunk], model(X[chunk], training=True)) / parts
            gradients = tape.gradient(loss, model.trainable_variables)
            accumulated = [total + each for total, each in zip(accumulated, gradients)]
        optimizer.apply_gradients(zip(accumulated, model.trainable_variables))
        print("norm", f"{tf.linalg.global_norm(accumulated):.5f}")
        """,
    ),
    Story(
        "a loss class of one's own",
        _MODEL
        + """
class Huber(tf.keras.losses.Loss):
    def __init__(self, delta=1.0):
        super().__init__()
        self.delta = delta
        self.calls = 0

    def call(self, y_true, y_pred):
        self.calls += 1
        error = tf.abs(y_true - y_pred)
        small = 0.5 * error ** 2
        return tf.reduce_mean(tf.where(error < self.delta, small, self.delta * error), axis=-1)

huber = Huber(0.5)
""",
        """
        with tf.GradientTape() as tape:
            loss = huber(Y, model(X))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        print("call number", huber.calls)
        loss
        """,
    ),
    Story(
        "fit in the cell, then a look at the history",
        _MODEL + "\nmodel.compile(optimizer, 'mse', metrics=['mae'])",
        """
        result = model.fit(X, Y, epochs=2, batch_size=16, shuffle=False, verbose=0)
        losses = [round(each, 4) for each in result.history["loss"]]
        score = model.evaluate(X, Y, verbose=0)
        print(sorted(result.history), losses)
        tf.reduce_mean(model.predict(X, verbose=0) - Y)
        """,
    ),
    Story(
        "callbacks in a list",
        _MODEL
        + """
model.compile(optimizer, "mse")
class Noting(tf.keras.callbacks.Callback):
    def __init__(self, into):
        super().__init__()
        self.into = into

    def on_epoch_end(self, epoch, logs=None):
        self.into.append((epoch, round(logs["loss"], 4)))

notes = []
""",
        """
        callbacks = [Noting(notes), tf.keras.callbacks.TerminateOnNaN()]
        model.fit(X, Y, epochs=2, batch_size=32, shuffle=False, verbose=0, callbacks=callbacks)
        for epoch, loss in notes[-2:]:
            print(f"{epoch}: {loss}")
        """,
    ),
    Story(
        "a progress bar that is written over",
        _DATA
        + """
import sys
w = tf.Variable(tf.zeros((4, 1)))
""",
        r"""
        total = 10
        for i in range(total):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((X @ w - Y) ** 2)
            w.assign_sub(0.05 * tape.gradient(loss, w))
            done = "=" * (i + 1) + "." * (total - i - 1)
            print(f"\r[{done}] {i + 1}/{total} loss: {loss:.4f}", end="", flush=True)
        print()
        sys.stderr.write("finished\n")
        """,
    ),
    Story(
        "dropout and batch normalisation",
        _DATA
        + """
net = tf.keras.Sequential([
    tf.keras.layers.Input((4,)), tf.keras.layers.Dense(8), tf.keras.layers.BatchNormalization(),
    tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1),
])
adam = tf.keras.optimizers.Adam(0.01)
""",
        """
        for i in range(2):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((net(X, training=True) - Y) ** 2)
            gradients = tape.gradient(loss, net.trainable_variables)
            adam.apply_gradients(zip(gradients, net.trainable_variables))
        evaluated = net(X, training=False)
        print("loss", float(loss) > 0, evaluated.shape)
        """,
    ),
    Story(
        "a classifier with accuracy by hand",
        """
        X = tf.random.stateless_normal((40, 2), seed=(5, 6))
        y = tf.cast(X[:, 0] * X[:, 1] > 0, tf.int32)
        W1 = tf.Variable(tf.random.stateless_normal((2, 8), (1, 2)))
        b1 = tf.Variable(tf.zeros(8))
        W2 = tf.Variable(tf.random.stateless_normal((8, 2), (3, 4)))
        params = [W1, b1, W2]
        def forward(inputs):
            return tf.nn.tanh(inputs @ W1 + b1) @ W2
        """,
        """
        for it in range(6):
            with tf.GradientTape() as tape:
                logits = forward(X)
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
                loss = tf.reduce_mean(losses)
            for p, g in zip(params, tape.gradient(loss, params)):
                p.assign_sub(0.5 * g)
            if it % 3 == 2:
                hits = tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), y)
                accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))
                print(f"{it:3d} {loss.numpy():.4f} {accuracy.numpy():.0%}")
        confusion = tf.math.confusion_matrix(y, tf.argmax(forward(X), axis=1))
        confusion
        """,
    ),
    Story(
        "a training step that is a function of the notebook",
        _MODEL
        + """
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

losses = []
""",
        """
        for epoch in range(3):
            for start in range(0, 32, 16):
                losses.append(train_step(X[start:start + 16], Y[start:start + 16]))
        print(len(losses), "steps")
        tf.stack(losses[-2:])
        """,
    ),
    Story(
        "moving averages of the weights",
        _MODEL + "\nshadow = [tf.Variable(v, trainable=False) for v in model.trainable_variables]",
        """
        decay = 0.9
        for i in range(3):
            with tf.GradientTape() as tape:
                loss = loss_of(Y, model(X))
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
            for average, variable in zip(shadow, model.trainable_variables):
                average.assign(decay * average + (1 - decay) * variable)
        drift = sum(float(tf.norm(a - v)) for a, v in zip(shadow, model.trainable_variables))
        round(drift, 4)
        """,
    ),
    Story(
        "gradients with respect to the inputs",
        _MODEL,
        """
        x = tf.identity(X[:3])
        for i in range(3):
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(x)
                score = tf.reduce_sum(model(x))
            saliency = tape.gradient(score, x)
            x += 0.1 * tf.sign(saliency)
        print(tape.watched_variables(), saliency.shape)
        tf.reduce_mean(tf.abs(x - X[:3]))
        """,
    ),
    Story(
        "recording stopped in the middle of a tape",
        """
        v = tf.Variable(2.0)
        """,
        """
        with tf.GradientTape() as tape:
            y = v * 3.0
            with tape.stop_recording():
                unseen = v * v
            z = y + tf.stop_gradient(unseen)
        g = tape.gradient(z, v)
        v.assign_add(g * 0.01)
        g, unseen
        """,
    ),
    Story(
        "a resumed run that counts its epochs",
        _MODEL + "\nlog = []\nepochs_done = 0",
        """
        for epoch in range(epochs_done, epochs_done + 2):
            with tf.GradientTape() as tape:
                loss = loss_of(Y, model(X))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            log.append({"epoch": epoch, "loss": float(loss)})
        epochs_done = epoch + 1
        print(f"{epochs_done} epochs, best {min(each['loss'] for each in log):.4f}")
        log[-1]
        """,
    ),
]
