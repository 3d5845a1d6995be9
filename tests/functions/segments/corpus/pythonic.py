"""What Python has, in cells that also compute."""

from __future__ import annotations

from tests.functions.segments.corpus.story import Story

_X = """
x = tf.constant([1.0, 2.0, 3.0])
"""

STORIES = [
    Story(
        "errors of TensorFlow caught",
        _X,
        """
        results = []
        for other in (tf.ones(3), tf.ones(2), "text", None):
            try:
                results.append(tf.reduce_sum(x + other))
            except (tf.errors.InvalidArgumentError, TypeError, ValueError) as problem:
                results.append(type(problem).__name__)
            else:
                print("fine with", other.shape)
            finally:
                print("tried", len(results))
        results
        """,
    ),
    Story(
        "a traceback printed by the cell",
        _X
        + """
import traceback, warnings
def failing(value):
    warnings.warn("about to fail")
    raise ValueError(f"no {value.shape}")
""",
        """
        y = x * 2
        try:
            failing(y)
        except ValueError:
            traceback.print_exc()
            text = traceback.format_exc().splitlines()[-1]
        warnings.warn("and on")
        z = y + 1
        text
        """,
    ),
    Story(
        "a class defined and used",
        _X,
        """
        class Running:
            count = 0

            def __init__(self, start):
                self.total = start
                self._seen = []

            def add(self, value):
                self.total = self.total + value
                self._seen.append(value)
                Running.count += 1
                return self

        running = Running(tf.zeros(3))
        running.add(x).add(x * 2)
        mean = running.total / len(running._seen)
        print(Running.count, mean.numpy())
        """,
    ),
    Story(
        "dataclasses that hold tensors",
        _X
        + """
from dataclasses import dataclass, field, replace
@dataclass
class State:
    position: tf.Tensor
    velocity: tf.Tensor
    log: list = field(default_factory=list)
state = State(x, tf.ones(3))
""",
        """
        for i in range(3):
            state.position = state.position + 0.1 * state.velocity
            state.log.append(float(state.position[0]))
        frozen = replace(state, velocity=-state.velocity)
        print(f"{state.position[0]:.2f} after {len(state.log)} moves")
        frozen.log is state.log, frozen.velocity
        """,
    ),
    Story(
        "closures and counters",
        _X,
        """
        def make_counter():
            count = 0
            def counted(value):
                nonlocal count
                count += 1
                return value * count
            return counted

        counted = make_counter()
        first = counted(x)
        second = counted(x)
        adders = [lambda value, k=k: value + k for k in range(3)]
        late = [lambda value: value + k for k in range(3)]
        k = 10
        adders[1](x), late[0](x), second - first
        """,
    ),
    Story(
        "generators that yield tensors",
        _X,
        """
        def halves(value, least=0.2):
            while tf.reduce_max(value) > least:
                yield value
                value = value / 2

        stream = halves(x)
        head = next(stream)
        rest = list(stream)
        squares = (float(tf.reduce_sum(each ** 2)) for each in rest)
        largest = next(squares)
        half_used = halves(x)
        next(half_used)
        print(len(rest), largest)
        sum(tf.reduce_sum(each) for each in half_used)
        """,
    ),
    Story(
        "comprehensions of every kind",
        _X,
        """
        squares = [value ** 2 for value in x]
        by_name = {name: value + 1 for name, value in zip("abc", x)}
        large = {int(value) for value in x if value > 1.5}
        table = [[float(a * b) for b in x] for a in x]
        flat = [cell for row in table for cell in row if cell % 2]
        total = sum(value for value in x)
        print(flat, sorted(large), any(value > 2 for value in x), all(value > 2 for value in x))
        squares, by_name["b"], total
        """,
    ),
    Story(
        "helpers with effects on what is around them",
        _X
        + """
log, calls = [], 0
def watched(value, label="value"):
    global calls
    calls += 1
    log.append((label, float(tf.reduce_sum(value))))
    return value * 1.5
""",
        """
        y = watched(x)
        z = watched(y, label="again") + watched(tf.ones(3))
        print(calls, log[-1])
        z
        """,
    ),
    Story(
        "context managers",
        _X
        + """
import contextlib
events = []
@contextlib.contextmanager
def section(name):
    events.append("enter " + name)
    try:
        yield name.upper()
    finally:
        events.append("leave " + name)
""",
        """
        with section("outer") as outer, section("inner"):
            y = x * 2
            with tf.name_scope("scope"), tf.device("CPU:0"):
                z = tf.exp(-y)
            with contextlib.suppress(ZeroDivisionError):
                w = 1 / 0
                z = None
        print(outer, events[-4:])
        z
        """,
    ),
    Story(
        "dicts and lists of tensors changed in place",
        _X
        + """
params = {"w": tf.ones((3,)), "b": [tf.zeros(()), tf.ones(())]}
queue = [x, x + 1]
""",
        """
        params["w"] = params["w"] - 0.1 * x
        params["b"][0] += 1.0
        params.setdefault("steps", []).append(len(queue))
        queue.append(queue.pop(0) * 2)
        queue[0], queue[-1] = queue[-1], queue[0]
        del queue[1:-1]
        params.update(scale=tf.reduce_max(params["w"]))
        older = params.pop("old", None)
        params["old"] = params["w"]
        for name, value in params.items():
            print(name, type(value).__name__)
        older
        """,
    ),
    Story(
        "unpacking, stars, swaps, chains",
        _X,
        """
        a, b, c = x
        first, *others = tf.unstack(x * 2)
        (low, high), label = (tf.reduce_min(x), tf.reduce_max(x)), "range"
        a, b = b, a
        left = right = tf.add(a, c)
        [p, q], *_ = [(a, b), (b, c)]
        _, (indices, *_) = "x", tf.meshgrid(x, x)
        pair = a, *others
        print(label, float(low), float(high), left is right, p is a, len(pair))
        """,
    ),
    Story(
        "walrus, conditional expressions, chained comparisons",
        _X,
        """
        if (total := tf.reduce_sum(x)) > 5 and (n := len(x)) == 3:
            mean = total / n
        values = [y for v in x if (y := float(v) * 2) > 2.5]
        sign = "positive" if mean > 0 else "negative"
        inside = 1 < mean < 3
        fallback = None or total
        clipped = tf.minimum(x, 2.0) if inside else x
        not inside, sign, values, clipped
        """,
    ),
    Story(
        "names deleted and bound again",
        _X + "\ntemporary = tf.zeros(3)",
        """
        big = tf.ones((100, 100)) * x[0]
        trace = tf.linalg.trace(big)
        del big
        temporary = x if "temporary" in globals() else tf.zeros(3)
        shape = temporary.shape
        del temporary
        try:
            print(temporary)
        except NameError as problem:
            print(problem)
        trace, shape
        """,
    ),
    Story(
        "assertions that hold and one that does not",
        _X,
        """
        y = x / tf.norm(x)
        assert abs(tf.norm(y) - 1) < 1e-6, "it has unit length"
        assert y.shape == (3,)
        print("so far so good")
        z = y * 2
        assert tf.reduce_all(z < 1), f"too large: {tf.reduce_max(z):.3f}"
        never = z
        """,
    ),
    Story(
        "a file written and read",
        _X
        + """
import json, os, tempfile
folder = tempfile.mkdtemp()
""",
        """
        path = os.path.join(folder, "log.jsonl")
        y = x * 2
        with open(path, "a") as file:
            for index, value in enumerate(y):
                file.write(json.dumps({"index": index, "value": float(value)}) + "\\n")
        with open(path) as file:
            records = [json.loads(line) for line in file]
        np.save(os.path.join(folder, "y.npy"), y)
        loaded = np.load(os.path.join(folder, "y.npy"))
        print(len(records), records[-1], file.closed)
        tf.reduce_sum(loaded - y)
        """,
    ),
    Story(
        "the time taken",
        _X + "\nimport time, datetime",
        """
        start = time.perf_counter()
        y = x
        for _ in range(5):
            y = tf.tanh(y) * 2
        elapsed = time.perf_counter() - start
        rate = 5 / elapsed
        print(f"{elapsed:.6f} s, {rate:.1f} per second")
        assert elapsed < 60
        y
        """,
        seconds=True,
    ),
    Story(
        "itertools and functools",
        _X
        + """
import functools, itertools, operator
def scaled(value, factor, offset=0.0):
    return value * factor + offset
""",
        """
        double = functools.partial(scaled, factor=2.0)
        grid = {pair: double(x, offset=sum(pair)) for pair in itertools.product((0, 1), repeat=2)}
        product = functools.reduce(operator.mul, x)
        running = list(itertools.accumulate(x, tf.add))
        pairs = [float(b - a) for a, b in itertools.pairwise(x)]
        numbered = itertools.count(5)
        labels = [f"{next(numbered)}:{v:.1f}" for v in itertools.islice(itertools.cycle(x), 4)]
        composed = functools.reduce(lambda f, g: lambda v: g(f(v)), [tf.sin, tf.abs, double])
        print(labels, pairs, sorted(map(int, running)))
        grid[1, 1], product, composed(x)
        """,
    ),
    Story(
        "a match statement",
        _X
        + """
def parse(command):
    match command:
        case {"op": "scale", "by": by}:
            return lambda v: v * by
        case ("shift", amount) | ["move", amount]:
            return lambda v: v + amount
        case str() as name:
            return getattr(tf, name)
commands = [{"op": "scale", "by": 3.0}, ("shift", -1.0), "abs"]
""",
        """
        y = -x
        for command in commands:
            y = parse(command)(y)
            match y.shape.as_list():
                case [3]:
                    kind = "vector"
                case [rows, columns]:
                    kind = f"matrix {rows} by {columns}"
                case _:
                    kind = "other"
        print(kind, y.numpy())
        """,
    ),
    Story(
        "decorators",
        _X
        + """
import functools
def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        result = function(*args, **kwargs)
        print(function.__name__, "->", result.shape)
        return result
    wrapper.calls = 0
    return wrapper
@logged
def outer(a, b):
    return a[:, None] * b[None, :]
""",
        """
        @logged
        def inner(a, b):
            return tf.reduce_sum(a * b)

        matrix = outer(x, x + 1)
        number = inner(x, x)
        twice = outer(x, b=tf.ones(2))
        outer.calls, inner.calls, tf.linalg.trace(matrix) - number
        """,
    ),
    Story(
        "texts in every format",
        _X + "\nname = 'x'",
        """
        s = tf.reduce_sum(x)
        print("%s has sum %.2f" % (name, s))
        print("{0} {1:>8.3f} {0!r}".format(name, float(s)))
        print(f"{s.numpy()=:.1f} {x.shape=} {len(x):03d} {name:*^7}")
        print("a", "b", s, sep="-", end="!\\n")
        text = f"{x}"
        long = f'''sum: {s:g}
        shape: {x.shape}'''
        text, long.splitlines()[-1].strip(), str(s), repr(x[0])
        """,
    ),
    Story(
        "an enum, a named tuple and a default dict",
        _X
        + """
import collections, enum
class Mode(enum.Enum):
    TRAIN = 1
    TEST = 2
Batch = collections.namedtuple("Batch", "inputs mode")
by_mode = collections.defaultdict(list)
counter = collections.Counter()
recent = collections.deque(maxlen=3)
""",
        """
        for batch in (Batch(x, Mode.TRAIN), Batch(x * 2, Mode.TEST), Batch(x * 3, Mode.TRAIN)):
            by_mode[batch.mode].append(tf.reduce_mean(batch.inputs))
            counter[batch.mode.name] += 1
            recent.append(batch._replace(inputs=batch.inputs[:1]))
        for mode, means in by_mode.items():
            print(mode.name, len(means), float(sum(means)))
        counter.most_common(1), recent[-1].inputs
        """,
    ),
    Story(
        "recursion and a cache of one's own",
        _X + "\ncache = {}",
        """
        def power(base, n):
            if n == 0:
                return tf.ones_like(base)
            if n not in cache:
                cache[n] = power(base, n - 1) * base
            return cache[n]

        def depth(tree):
            return 1 + max(map(depth, tree)) if isinstance(tree, list) else 0

        cubed = power(x, 3)
        tree = [x, [x, [x]]]
        print(sorted(cache), depth(tree))
        tf.nest.flatten(tree)[-1] - cubed
        """,
    ),
    Story(
        "the same loop with `enumerate`, `zip`, `range`, `while` and `else`",
        _X,
        """
        ys = []
        for i, (a, b) in enumerate(zip(x, x[1:])):
            if i == 0:
                continue
            ys.append(a * b)
        else:
            ys.append(tf.constant(-1.0))
        i = 0
        while i < 3:
            i += 1
            if tf.reduce_sum(x) > 100:
                break
        else:
            print("never above a hundred", i)
        for j in range(2, 0, -1):
            x = x + j
        x, ys
        """,
    ),
    Story(
        "arithmetic of Python alone",
        """
        n, ratio, words = 7, 2.5, ["a", "b"]
        """,
        """
        n = n + 1
        quotient, rest = divmod(n, 3)
        average = n / 2
        power = n ** 20
        flag = n % 2 == 0 and not rest
        words = words + [str(n)]
        label = words[-1] * 2
        part = ratio.as_integer_ratio()
        nothing = None
        n, average, power, flag, label
        """,
    ),
    Story(
        "a cell that ends in a loop over strings of results",
        _X + "\nmetrics = {'a': 0.0}",
        """
        metrics["a"] = 0.5 * metrics["a"] + 0.5 * float(tf.reduce_mean(x))
        metrics["b"] = tf.reduce_max(x)
        lines = []
        for key in sorted(metrics):
            lines.append(f"{key}={metrics[key]:.4f}")
        print(", ".join(lines))
        """,
    ),
    Story(
        "descriptors, properties and slots",
        _X
        + """
class Vector:
    __slots__ = ("_data", "reads")
    def __init__(self, data):
        self._data, self.reads = data, 0
    @property
    def length(self):
        self.reads += 1
        return tf.norm(self._data)
    @length.setter
    def length(self, value):
        self._data = self._data * (value / tf.norm(self._data))
    @staticmethod
    def zero():
        return Vector(tf.zeros(3))
    @classmethod
    def of(cls, *numbers):
        return cls(tf.constant(numbers))
vector = Vector(x)
""",
        """
        before = vector.length
        vector.length = 2.0
        after = vector.length
        other = Vector.of(3.0, 4.0)
        nothing = Vector.zero()
        print(vector.reads, other.length.numpy(), nothing.reads)
        before, after
        """,
    ),
]
