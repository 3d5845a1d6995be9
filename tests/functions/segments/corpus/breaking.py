"""Cells made to break an engine that traces parts of them."""

from __future__ import annotations

from tests.functions.segments.corpus.story import Story

_X = """
x = tf.constant([1.0, 2.0, 3.0])
"""

STORIES = [
    Story(
        "one object under several names",
        _X,
        """
        a = x * 2
        b = a
        pair = [a, b, a + 1]
        c = x
        d = tf.identity(x)
        nested = {"a": a, "pair": pair}
        also = nested["pair"]
        a is b, c is x, d is x, also is pair, pair[0] is pair[1]
        """,
    ),
    Story(
        "an alias kept while the name moves on",
        _X,
        """
        y = x
        x += 1
        z = y
        y = y * 2
        numbers = values = [x]
        numbers += [y]
        print(len(values), x is y)
        z
        """,
    ),
    Story(
        "a helper that reads a name which the cell binds again",
        _X
        + """
def scaled():
    return x * 10
""",
        """
        x = x * 2
        y = scaled()
        x = x + 1
        z = scaled() + y
        z
        """,
    ),
    Story(
        "a helper of a helper that reads names of the cell",
        _X
        + """
offset = tf.constant(1.0)
class Model:
    def __call__(self, value):
        return self.shifted(value)
    def shifted(self, value):
        return value + offset * factor
model = Model()
""",
        """
        factor = 2.0
        first = model(x)
        factor = factor + 1
        offset = offset * 2
        second = model(x)
        apply = lambda f, v: f(v)
        third = apply(model, second)
        first, third
        """,
    ),
    Story(
        "an inverse that nobody uses",
        """
        K = tf.constant([[1.0, 2.0], [2.0, 4.0]])
        x = tf.constant([1.0, 2.0])
        """,
        """
        y = x * 2
        tf.linalg.inv(K)
        z = y + 1
        """,
    ),
    Story(
        "an inverse that is possible in the first run only",
        """
        K = tf.constant([[1.0, 2.0], [2.0, 5.0]])
        """,
        """
        inverse = tf.linalg.inv(K)
        K = K - [[0.0, 0.0], [0.0, 1.0]]
        determinant = tf.linalg.det(K)
        print("determinant", f"{determinant:.1f}")
        """,
    ),
    Story(
        "a mistake in the syntax",
        _X,
        """
        y = x * 2
        for value in y
            print(value)
        """,
    ),
    Story(
        "an index that runs out in the middle of a loop",
        """
        table = tf.constant([10.0, 20.0, 30.0])
        total = tf.constant(0.0)
        """,
        """
        for i in range(5):
            total = total + tf.gather(table, i)
            print(i, float(total))
        done = True
        """,
    ),
    Story(
        "a division by zero in the third run",
        _X + "\nepoch = 0",
        """
        y = x * 2
        epoch += 1
        ratio = 10 / (3 - epoch)
        z = y * ratio
        print(f"{ratio:.2f}")
        """,
    ),
    Story(
        "shapes that do not fit",
        _X + "\nW = tf.ones((4, 2))",
        """
        y = tf.sin(x)
        z = y[None] @ W
        w = z + 1
        """,
    ),
    Story(
        "a layer given the wrong shape",
        """
        layer = tf.keras.layers.Dense(2)
        layer.build((None, 3))
        x = tf.ones((1, 3))
        """,
        """
        good = layer(x)
        bad = layer(tf.ones((1, 4)))
        never = good + bad
        """,
    ),
    Story(
        "a Python number that is another in every run",
        _X + "\nstep_number = 0",
        """
        step_number = step_number + 1
        y = x * step_number
        decayed = 0.5 ** step_number
        rate = tf.constant(0.1) * decayed
        schedule = [step_number * k for k in range(2)]
        print(step_number, type(step_number).__name__)
        y, rate
        """,
    ),
    Story(
        "whole numbers too large for int32",
        """
        x = tf.constant([1.0, 2.0])
        i = 70000
        """,
        """
        square = i * i
        i = i + 1
        y = x * float(square)
        big = 2 ** 40 + i
        as_text = str(square)
        square, big, y
        """,
    ),
    Story(
        "helpers that ask for the class of a number",
        _X
        + """
def power(value, n):
    if isinstance(n, int):
        return value ** n
    return value * n
def describe(n):
    return "int" if isinstance(n, int) else type(n).__name__
""",
        """
        results = []
        for n in (1, 2, 2.0, np.int64(2), tf.constant(2.0)):
            results.append(power(x, n))
            print(describe(n), end=" ")
        for n in range(4):
            last = power(x, n)
        last, results[-1]
        """,
    ),
    Story(
        "a list that goes through a helper and comes back",
        _X
        + """
def extended(items, value):
    items.append(value)
    return items
def first(items):
    return items[0]
kept = [x]
""",
        """
        same = extended(kept, x * 2)
        head = first(kept)
        again = extended([], x)
        again.append(head)
        same is kept, head is x, len(kept), again[1] is x
        """,
    ),
    Story(
        "arrays changed in place by a helper",
        """
        buffer = np.zeros((3, 2), np.float32)
        def record(row, value):
            buffer[row] = value
            return buffer.sum()
        """,
        """
        total = record(0, 1.0)
        before = tf.constant(buffer)
        buffer[1] += 2
        after = tf.constant(buffer)
        view = buffer[:, 0]
        view[2] = total
        shared = tf.convert_to_tensor(buffer)
        buffer *= 0.5
        difference = after - before
        difference, shared, buffer.sum()
        """,
    ),
    Story(
        "a layer frozen between two loops",
        """
        x = tf.ones((2, 3))
        layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
        norm = tf.keras.layers.BatchNormalization()
        net = tf.keras.Sequential([tf.keras.layers.Input((3,)), layer, norm])
        """,
        """
        counts = []
        for trainable in (True, False, True):
            layer.trainable = trainable
            for _ in range(2):
                with tf.GradientTape() as tape:
                    y = tf.reduce_sum(net(x, training=True) ** 2) + tf.reduce_sum(layer(x))
                gradients = tape.gradient(y, net.trainable_variables)
                counts.append(sum(g is not None for g in gradients))
                for variable, gradient in zip(net.trainable_variables, gradients):
                    if gradient is not None:
                        variable.assign_sub(0.01 * gradient)
        norm.trainable = False
        frozen = net(x, training=True)
        norm.trainable = True
        counts, frozen
        """,
    ),
    Story(
        "a rate of dropout that changes",
        """
        x = tf.ones((4, 5))
        dropout = tf.keras.layers.Dropout(0.5, seed=3)
        """,
        """
        dropout.rate = 0.0
        same = dropout(x, training=True)
        dropout.rate = 1.0 - 1e-7
        gone = dropout(x, training=True)
        dropout.rate = 0.5
        half = dropout(x, training=True)
        off = dropout(x, training=False)
        print(float(tf.reduce_sum(same)), float(tf.reduce_sum(gone)), off.shape, half.shape)
        """,
    ),
    Story(
        "layers whose settings change from round to round",
        """
        x = tf.constant([[1.0, -2.0, 3.0]])
        dropout = tf.keras.layers.Dropout(0.5, seed=3)
        dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
        """,
        """
        sums = []
        for rate, activation in [(0.0, tf.nn.relu), (0.0, tf.tanh), (1 - 1e-7, None), (0.0, abs)]:
            dropout.rate = rate
            dense.activation = activation or tf.identity
            y = dense(dropout(x, training=True))
            sums.append(round(float(tf.reduce_sum(y)), 4))
        print(sums)
        """,
    ),
    Story(
        "what a helper reads changes from round to round",
        _X
        + """
rate, weights = 1.0, [tf.constant(1.0)]
class settings:
    power = 1
def helper(value):
    return value ** settings.power * rate + weights[-1]
""",
        """
        results = []
        for i in range(4):
            y = helper(x)
            results.append(y)
            if i % 2:
                rate = rate * 0.5
            else:
                weights[-1] = weights[-1] + 1.0
            settings.power = 1 + i % 3
        for y in results:
            print(y.numpy())
        rate
        """,
    ),
    Story(
        "a new object in every round, at an address of before",
        _X
        + """
class Scale(tf.Module):
    def __init__(self, by):
        super().__init__()
        self.by = by
    def __call__(self, value):
        return value * self.by
""",
        """
        totals = []
        for k in range(5):
            scale = Scale(float(k))
            function = lambda value, k=k: value + k
            y = function(scale(x))
            totals.append(float(tf.reduce_sum(y)))
            del scale, function
        totals
        """,
    ),
    Story(
        "losses of regularizers",
        """
        x = tf.random.stateless_normal((4, 3), (1, 2))
        layer = tf.keras.layers.Dense(2, kernel_regularizer=tf.keras.regularizers.L2(0.1))
        activity = tf.keras.layers.Dense(2, activity_regularizer="l1")
        """,
        """
        y = layer(x)
        penalty = tf.add_n(layer.losses)
        z = activity(y)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(x) ** 2) + sum(layer.losses)
        gradient = tape.gradient(loss, layer.kernel)
        layer.kernel.assign_sub(0.1 * gradient)
        print(len(layer.losses), len(activity.losses), f"{penalty:.4f}")
        activity.losses[0]
        """,
    ),
    Story(
        "a model that adds losses",
        """
        class Penalised(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
                self.seen = []
            def call(self, inputs):
                outputs = self.dense(inputs)
                self.add_loss(0.01 * tf.reduce_mean(outputs ** 2))
                self.seen.append(inputs.shape[0])
                return outputs
        model = Penalised()
        x = tf.ones((2, 3))
        """,
        """
        y = model(x)
        once = len(model.losses)
        z = model(x * 2)
        loss = tf.reduce_sum(z) + sum(model.losses)
        print(once, len(model.losses), model.seen[-2:])
        loss
        """,
    ),
    Story(
        "losses that a model keeps, added in a statement of their own",
        """
        class Penalised(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones")
            def call(self, inputs):
                outputs = self.dense(inputs)
                self.add_loss(0.1 * tf.reduce_mean(outputs ** 2))
                return outputs
        model = Penalised()
        x = tf.ones((2, 3))
        optimizer = tf.keras.optimizers.SGD(0.1)
        """,
        """
        history = []
        for turn in range(5):
            with tf.GradientTape() as tape:
                y = model(x)
                loss = tf.reduce_mean((y - 1.0) ** 2)
                loss += sum(model.losses)
            weights = model.trainable_variables
            gradients = tape.gradient(loss, weights)
            optimizer.apply_gradients(zip(gradients, weights))
            history.append(float(loss))
        print([round(each, 4) for each in history])
        """,
    ),
    Story(
        "variables made in the cell",
        _X,
        """
        v = tf.Variable(x)
        other = tf.Variable(2.0, name="other", trainable=False)
        v.assign_add(tf.ones(3) * other)
        weights = [tf.Variable(tf.zeros(2)) for _ in range(2)]
        weights[0].assign([1.0, 2.0])
        layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
        y = layer(v[None])
        read = v.read_value()
        v.assign(read * 2)
        print(v.name, other.name, layer.name, len(layer.weights))
        y + read[0]
        """,
    ),
    Story(
        "totals that begin as Python's numbers",
        _X
        + """
def losses():
    for i in range(3):
        yield tf.reduce_sum(x) * i
""",
        """
        total, count, best = 0.0, 0, None
        for loss in losses():
            total += loss
            count += 1
            best = loss if best is None else tf.minimum(best, loss)
        whole = 0
        for i in range(3):
            whole += tf.constant(i)
        running = 0
        for value in [1, 2.5, tf.constant(1.0)]:
            running = running + value
        total / count, best, whole, running
        """,
    ),
    Story(
        "dtypes that change from run to run",
        """
        value = tf.constant([1, 2, 3])
        """,
        """
        value = value * 2
        half = value / 4
        if value.dtype == tf.int32:
            value = tf.cast(value, tf.float32)
        elif value.dtype == tf.float32:
            value = tf.cast(value, tf.float64)
        else:
            value = value[:2]
        print(value.dtype.name, half.dtype.name, value.shape)
        """,
    ),
    Story(
        "shapes that grow from run to run",
        """
        data = tf.ones((2, 3))
        """,
        """
        data = tf.concat([data, data[:1] * 2], axis=0)
        rows = data.shape[0]
        scaled = data / rows
        ones = tf.ones(rows)
        middle = scaled[rows // 2]
        print(rows, type(rows).__name__, tuple(scaled.shape))
        tf.reduce_sum(scaled, axis=0), ones
        """,
    ),
    Story(
        "operators of a user's class that print",
        _X
        + """
class Loud:
    made = 0
    def __init__(self, value):
        self.value = value
        Loud.made += 1
    def __add__(self, other):
        print("adding")
        return Loud(self.value + getattr(other, "value", other))
    __radd__ = __add__
    def __mul__(self, other):
        print("multiplying by", other)
        return Loud(self.value * other)
    def __eq__(self, other):
        print("comparing")
        return bool(tf.reduce_all(self.value == other.value))
    def __len__(self):
        print("measuring")
        return len(self.value)
    def __bool__(self):
        print("asked")
        return True
    def __call__(self, value):
        print("called")
        return self.value + value
loud = Loud(x)
""",
        """
        more = loud + x
        more += loud
        scaled = more * 2
        same = scaled == scaled
        total = tf.reduce_sum(loud(x))
        if scaled:
            size = len(scaled)
        print(Loud.made, same, size)
        total
        """,
    ),
    Story(
        "items and attributes that count their reads",
        _X
        + """
class Counting:
    def __init__(self, items):
        self.items, self.reads = items, 0
    def __getitem__(self, index):
        self.reads += 1
        return self.items[index]
    def __getattr__(self, name):
        if name.startswith("w"):
            self.__dict__["asked"] = self.__dict__.get("asked", 0) + 1
            return self.items[int(name[1:])]
        raise AttributeError(name)
    def __iter__(self):
        self.reads += 100
        return iter(self.items)
    def __contains__(self, value):
        self.reads += 1000
        return True
data = Counting([x, x + 1, x + 2])
""",
        """
        y = data[0] + data[-1]
        z = y * data.w1
        total = tf.add_n([each for each in data])
        found = x in data
        print(data.reads, data.asked, found)
        z, total
        """,
    ),
    Story(
        "helpers with a cache of Python's",
        _X
        + """
import functools
@functools.lru_cache
def matrix(n):
    print("made for", n)
    return tf.eye(n) * 2
@functools.cache
def constants():
    return {"scale": tf.constant(3.0)}
size = 2
""",
        """
        a = matrix(3)
        b = matrix(3)
        y = tf.linalg.matvec(a, x) * constants()["scale"]
        size += 1
        c = matrix(size)
        a is b, matrix.cache_info().misses, c.shape
        """,
    ),
    Story(
        "helpers that are chosen by the type of their argument",
        _X
        + """
import functools
class Counts:
    seen = 0
    @functools.singledispatchmethod
    def twice(self, value):
        return value
    @twice.register(tf.Tensor)
    def _(self, value):
        self.seen += 1
        return value * 2
@functools.singledispatch
def shown(value):
    return value
@shown.register(tf.Tensor)
def _(value):
    print("a tensor")
    return value + 1
@functools.singledispatch
def halved(value):
    return value / 2
@halved.register(list)
def _(value):
    return [halved(each) for each in value]
counts = Counts()
""",
        """
        y = shown(x)
        z = counts.twice(y)
        w = halved([y, z])
        counts.seen, w
        """,
    ),
    Story(
        "a variable passed by its name and read as a global",
        """
        v = tf.Variable(1.0)
        def bump(variable, by):
            variable.assign_add(by)
            return v * 2
        def read():
            return v + 0.0
        """,
        """
        before = read()
        doubled = bump(v, 1.0)
        again = bump(variable=v, by=doubled)
        after = read()
        alias = v
        alias.assign_sub(0.5)
        final = read()
        sequence = [float(each) for each in (before, doubled, again, after, final)]
        sequence
        """,
    ),
    Story(
        "variables in lists, bound to another in the middle",
        """
        u, v = tf.Variable(1.0), tf.Variable(10.0)
        current = u
        """,
        """
        current.assign_add(1.0)
        seen = current + 0.0
        current = v if current is u else u
        current.assign_add(1.0)
        pool = [u, v]
        for variable in pool:
            variable.assign(variable * 2)
        seen, u + v
        """,
    ),
    Story(
        "numbers of NumPy and of Python beside tensors",
        _X,
        """
        total = np.sum(x)
        mean = np.mean(x * 2)
        scalar = np.float32(0.5)
        y = x * scalar
        product = scalar * 3
        count = np.int64(2) + 1
        size = x.shape[0] * 2
        number = float(tf.reduce_sum(x)) + 1
        whole = int(tf.reduce_max(x))
        flag = bool(tf.reduce_any(x > 2))
        index = np.argmax(x)
        item = x.numpy().item(1)
        kinds = [type(each).__name__ for each in (total, mean, product, count, size, index, item)]
        kinds, y
        """,
    ),
    Story(
        "truth of tensors",
        _X + "\nflag = tf.constant(True)",
        """
        if flag:
            y = x + 1
        if not tf.reduce_all(x > 5) and flag:
            flag = tf.logical_not(flag)
        else:
            flag = tf.constant(True)
        z = x if tf.reduce_sum(x) > 3 else -x
        chosen = [v for v in x if v > 1]
        while tf.reduce_sum(z) < 20:
            z = z * 2
        try:
            if x > 1:
                print("all?")
        except ValueError as problem:
            print("no:", str(problem)[:30])
        z, flag, len(chosen)
        """,
    ),
    Story(
        "views of dicts and sets of numbers",
        """
        params = {"a": tf.constant(1.0), "b": tf.constant(2.0)}
        """,
        """
        keys, values = params.keys(), params.values()
        total = tf.add_n(list(values))
        params["c"] = total
        numbers = {int(value) for value in values}
        numbers |= {7}
        shapes = {value.shape for value in values}
        sizes = frozenset(tf.size(value).numpy().item() for value in values)
        print(sorted(keys), len(shapes), sorted(numbers))
        params.pop("c")
        """,
    ),
    Story(
        "assertions of TensorFlow whose result nobody uses",
        _X + "\nlimit = tf.constant(8.0)",
        """
        tf.debugging.assert_positive(x)
        x = x * 2
        tf.debugging.assert_less(tf.reduce_max(x), limit * 2, message="too far")
        y = tf.debugging.check_numerics(x, "not a number")
        tf.debugging.assert_shapes([(x, ("n",)), (y, ("n",))])
        tf.ensure_shape(y, (3,))
        """,
    ),
    Story(
        "a value that stops being a number",
        """
        x = tf.constant([1e30, 1.0])
        """,
        """
        x = x * 1e5
        ratio = x / x
        bad = tf.reduce_any(tf.math.is_nan(ratio))
        if bad:
            print("lost in", ratio.numpy())
        checked = tf.debugging.check_numerics(ratio, "ratio")
        """,
    ),
    Story(
        "Python called from TensorFlow",
        _X
        + """
calls = []
def noted(value):
    calls.append(value.shape)
    return value * 2
""",
        """
        y = tf.py_function(noted, [x], tf.float32)
        z = tf.numpy_function(lambda value: np.sort(value)[::-1].copy(), [y], tf.float32)
        mapped = tf.map_fn(noted, x)
        summed = tf.foldl(lambda a, b: a + b, x)
        chosen = tf.cond(summed > 3, lambda: noted(x), lambda: x)
        looped = tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [tf.constant(0)])
        print(len(calls), looped[0].numpy())
        z, mapped, chosen
        """,
    ),
    Story(
        "tf.print, and where it writes",
        _X + "\nimport sys",
        """
        tf.print("sum", tf.reduce_sum(x))
        y = x * 2
        tf.print("y:", y, summarize=1)
        print("from Python")
        tf.print("z", y[0], "end", sep="|")
        z = y + 1
        z
        """,
    ),
    Story(
        "settings of TensorFlow changed on the way",
        _X
        + """
traced = []
@tf.function
def compiled(value):
    traced.append(tf.executing_eagerly())
    return value * 2
""",
        """
        a = compiled(x)
        tf.config.run_functions_eagerly(True)
        b = compiled(x)
        tf.config.run_functions_eagerly(False)
        c = compiled(x)
        tf.random.set_seed(4)
        d = tf.random.uniform((2,))
        print(len(traced), traced[-1], tf.config.functions_run_eagerly(), tf.executing_eagerly())
        a + b + c, d
        """,
    ),
    Story(
        "functions of TensorFlow made in the cell",
        _X,
        """
        @tf.function
        def cubed(value):
            print("tracing")
            return value ** 3

        y = cubed(x)
        y = cubed(y)
        z = cubed(tf.constant(2.0))
        concrete = cubed.get_concrete_function(tf.TensorSpec((None,)))
        concrete(x) - tf.function(lambda value: value)(x), z
        """,
    ),
    Story(
        "a gradient that is not there",
        """
        v = tf.Variable([1.0, 2.0, 3.0])
        """,
        """
        with tf.GradientTape() as tape:
            whole = tf.cast(v, tf.int32)
            y = tf.reduce_sum(tf.cast(whole, tf.float32))
        missing = tape.gradient(y, v)
        with tf.GradientTape() as tape:
            z = v[1] * 2
        sliced = tape.gradient(z, v)
        with tf.GradientTape() as tape:
            rounded = tf.reduce_sum(tf.round(v))
        gradient = tape.gradient(rounded, v)
        try:
            tape.gradient(rounded, v)
        except RuntimeError as problem:
            print(str(problem)[:40])
        missing, sliced, gradient
        """,
    ),
    Story(
        "gradients of one's own",
        _X
        + """
@tf.custom_gradient
def clipped(value):
    def backwards(upstream):
        seen.append("backwards")
        return tf.clip_by_value(upstream, -0.1, 0.1)
    return value * 1.0, backwards
seen = []
""",
        """
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(clipped(x) ** 2)
        gradient = tape.gradient(y, x)
        value, pull = 2.0, lambda g: g * 3
        print(len(seen), pull(value))
        gradient
        """,
    ),
    Story(
        "names of functions and modules bound to something else",
        _X + "\nmean = tf.reduce_mean\nact = tf.nn.relu",
        """
        y = act(x - 2)
        act = tf.nn.sigmoid if act is tf.nn.relu else tf.nn.relu
        z = act(x - 2)
        sum = mean(x)
        list = [sum, z]
        from tensorflow import math as m
        w = m.add(y, z)
        del sum, list
        list(range(2)), w
        """,
    ),
    Story(
        "a function defined again in every run",
        _X + "\nversion = 0",
        """
        version += 1
        def model(value, version=version):
            return value * version
        y = model(x)
        def outer():
            inner = x * version
            return tf.reduce_sum(inner)
        z = outer()
        functions = {"model": model}
        functions["model"](z), y
        """,
    ),
    Story(
        "attributes of a module that is trained by hand",
        """
        class Linear(tf.Module):
            def __init__(self, size):
                super().__init__(name="linear")
                self.w = tf.Variable(tf.ones((size, 1)))
                self.scale = 1.0
                self.calls = 0
                self.outputs = []
            def __call__(self, value):
                self.calls += 1
                return value @ self.w * self.scale
        linear = Linear(3)
        x = tf.ones((2, 3))
        """,
        """
        first = linear(x)
        linear.scale = linear.scale * 0.5
        second = linear(x)
        linear.outputs.append(second)
        linear.bias = tf.Variable(1.0)
        third = linear(x) + linear.bias
        setattr(linear, "last", third)
        linear.w.assign_sub(0.1 * tf.ones((3, 1)))
        print(linear.calls, len(linear.variables), linear.name)
        first - second, getattr(linear, "last") is third
        """,
    ),
    Story(
        "an optimizer whose settings change",
        """
        w = tf.Variable([1.0, -1.0])
        opt = tf.keras.optimizers.SGD(0.1, momentum=0.5)
        """,
        """
        gradient = 2 * w
        opt.apply([gradient], [w])
        opt.momentum = 0.0
        opt.apply([gradient], [w])
        opt.learning_rate.assign(0.01)
        opt.clipnorm = 0.1
        opt.apply([100 * gradient], [w])
        opt.momentum, opt.clipnorm = 0.5, None
        opt.learning_rate = 0.1
        print(int(opt.iterations), np.round(w.numpy(), 4))
        """,
    ),
    Story(
        "what is read while it is written",
        """
        v = tf.Variable([1.0, 2.0])
        """,
        """
        before = v.value()
        old = v + 0
        v.assign(v * 2)
        new = v + 0
        view = v[0]
        array = v.numpy()
        v.assign_add(new)
        array[0] = -1
        late = tf.identity(v)
        v.assign(tf.zeros(2)) if v[0] > 100 else v.assign_sub([0.5, 0.5])
        before, old, new, view, late
        """,
    ),
    Story(
        "an iterator that goes on in the next run",
        """
        stream = iter(tf.data.Dataset.range(100).batch(3))
        letters = iter("abcdefghi")
        counter = __import__("itertools").count()
        """,
        """
        batch = next(stream)
        letter = next(letters)
        number = next(counter)
        both = batch * number
        following = stream.get_next()
        print(letter, number, batch.numpy())
        tf.concat([both, following], axis=0)
        """,
    ),
    Story(
        "an iterator that ends",
        """
        stream = iter([tf.constant(1.0), tf.constant(2.0)])
        total = tf.constant(0.0)
        """,
        """
        total = total + next(stream)
        print(total.numpy())
        """,
    ),
    Story(
        "values that come from the environment",
        _X
        + """
import os
settings = {"scale": 2.0, "names": ["a"]}
class config:
    depth = 1
""",
        """
        y = x * settings["scale"] * config.depth
        config.depth += 1
        settings["scale"] = settings["scale"] + 1
        settings["names"].append(str(config.depth))
        os.environ["SCALE"] = str(settings["scale"])
        z = x * float(os.environ["SCALE"])
        globals()["made"] = y + z
        made
        """,
    ),
    Story(
        "an error in a helper in the second run",
        _X
        + """
runs = 0
def guarded(value):
    global runs
    runs += 1
    if runs == 2:
        raise RuntimeError(f"run {runs} fails")
    return value * 2
""",
        """
        y = x + 1
        z = guarded(y)
        w = z - 1
        print(w.numpy())
        """,
    ),
    Story(
        "a variable assigned, then an error",
        """
        v = tf.Variable(0.0)
        table = tf.constant([1.0, 2.0])
        """,
        """
        v.assign_add(1.0)
        y = v * 2
        z = tf.gather(table, tf.cast(v, tf.int32))
        v.assign_add(z)
        """,
    ),
    Story(
        "results that nobody keeps",
        _X + "\nv = tf.Variable(tf.zeros(3))",
        """
        x * 2
        tf.reduce_sum(x)
        v.assign_add(x)
        (x, [x + 1])
        lambda: x
        "a string"
        v.assign_sub(x / 2);
        """,
    ),
    Story(
        "a functional model built of layers that are there",
        """
        hidden = tf.keras.layers.Dense(3, kernel_initializer="ones")
        top = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
        inputs = tf.keras.Input((2,))
        def head(h):
            return top(hidden(h))
        """,
        """
        x = hidden(inputs)
        y = head(inputs) + top(x)
        nodes = len(hidden._inbound_nodes)
        names = [each.name for each in (x, y)]
        after = tf.keras.Input((2,)).name
        names, after, nodes
        """,
    ),
    Story(
        "strings and bytes of tensors",
        """
        words = tf.constant(["b", "a"])
        """,
        """
        joined = words + "!"
        first = joined[0].numpy()
        text = first.decode()
        ordered = tf.sort(tf.strings.to_number(["2", "1"]))
        words = tf.concat([words, [text]], axis=0)
        lookup = {w.numpy().decode(): i for i, w in enumerate(words)}
        print(text, lookup)
        ordered
        """,
    ),
    Story(
        "tensors as keys, and compared by identity",
        _X,
        """
        y = x + 1
        by_reference = {x.ref(): "x", y.ref(): "y"}
        found = by_reference[y.ref()]
        z = y
        identical = [each is y for each in (x, y, z, tf.identity(y))]
        elementwise = y == z
        members = any(each is x for each in (z, x))
        print(found, identical, members)
        elementwise
        """,
    ),
]
