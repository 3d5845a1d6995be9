"""Looking at data: slices, shapes, dtypes, frames, and what stands at the end of a cell."""

from __future__ import annotations

from tests.functions.segments.corpus.story import Story

STORIES = [
    Story(
        "first look at a tensor",
        """
        x = tf.reshape(tf.range(24, dtype=tf.float32), (2, 3, 4))
        """,
        """
        print(x.shape, x.dtype, x.ndim)
        print("first row", x[0, 0].numpy())
        middle = x[:, 1:, ::2]
        print(f"middle has shape {middle.shape} and mean {tf.reduce_mean(middle):.3f}")
        middle
        """,
    ),
    Story(
        "columns standardised one after the other",
        """
        rng = np.random.default_rng(0)
        data = rng.normal(size=(50, 3)).astype(np.float32) * [1.0, 10.0, 0.1]
        """,
        """
        table = tf.constant(data, tf.float32)
        mean, variance = tf.nn.moments(table, axes=[0])
        standardised = (table - mean) / tf.sqrt(variance + 1e-6)
        for column in range(table.shape[1]):
            low, high = table[:, column].numpy().min(), table[:, column].numpy().max()
            print(f"column {column}: {low:8.3f} … {high:8.3f}, mean {float(mean[column]):+.4f}")
        assert standardised.shape == table.shape
        standardised[:2]
        """,
    ),
    Story(
        "a frame of results",
        """
        import pandas as pd
        w = tf.linspace(-1.0, 1.0, 5)
        """,
        """
        losses = tf.square(w - 0.3)
        frame = pd.DataFrame({"w": w.numpy(), "loss": losses.numpy()})
        best = frame.loc[frame.loss.idxmin()]
        frame["relative"] = frame.loss / frame.loss.max()
        display(frame.describe())
        frame.sort_values("loss").head(3)
        """,
        packages=("pandas",),
    ),
    Story(
        "rows of a table by hand",
        """
        features = tf.constant([[5.1, 3.5], [4.9, 3.0], [6.2, 2.9], [5.9, 3.0]])
        labels = ["a", "a", "b", "b"]
        """,
        """
        groups = {}
        for label, row in zip(labels, features):
            groups.setdefault(label, []).append(row)
        means = {label: tf.reduce_mean(tf.stack(rows), axis=0) for label, rows in groups.items()}
        print("{:<6}|{:>8}|{:>8}".format("label", "length", "width"))
        for label, mean in means.items():
            print("{:<6}|{:>8.2f}|{:>8.2f}".format(label, *mean.numpy()))
        means["b"] - means["a"]
        """,
    ),
    Story(
        "histogram with bars of text",
        """
        values = tf.random.stateless_normal((200,), seed=(1, 2))
        """,
        """
        counts = tf.histogram_fixed_width(values, [-3.0, 3.0], nbins=6)
        top = tf.reduce_max(counts)
        for index, count in enumerate(counts):
            bar = "#" * int(20 * count / top)
            print(f"{-3 + index:+d} {bar} {count}")
        counts.numpy().tolist()
        """,
    ),
    Story(
        "dtypes mixed and cast",
        """
        ints = tf.constant([1, 2, 3])
        floats = tf.constant([0.5, 0.25, 0.125])
        """,
        """
        try:
            ints + floats
        except Exception as problem:
            print(type(problem).__name__, "because of the dtypes")
        mixed = tf.cast(ints, tf.float32) + floats
        half = tf.cast(mixed, tf.float16)
        exact = tf.cast(mixed, tf.float64) / 3
        flags = mixed > 1.6
        kinds = [each.dtype.name for each in (ints, mixed, half, exact, flags)]
        kinds, tf.where(flags, mixed, 0.0)
        """,
    ),
    Story(
        "NumPy and tensors side by side",
        """
        grid = np.linspace(0.0, 1.0, 5)
        weights = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0], tf.float64)
        """,
        """
        product = grid * weights.numpy()
        as_tensor = weights * grid
        back = np.asarray(as_tensor)
        total = np.sum(as_tensor)
        same = np.allclose(product, as_tensor)
        print(type(total).__name__, type(back).__name__, same)
        grid[0] = grid[0] + 0.5
        np.dot(back, grid), tf.tensordot(as_tensor, grid, 1)
        """,
    ),
    Story(
        "slices and masks of images of digits",
        """
        images = tf.reshape(tf.range(3 * 6 * 6), (3, 6, 6))
        """,
        """
        corner = images[..., :2, :2]
        diagonal = tf.linalg.diag_part(images)
        even = tf.boolean_mask(images, images % 2 == 0)
        last = images[-1]
        patch = last[tf.newaxis, 1:-1, 1:-1, tf.newaxis]
        rows = tf.gather(images, [2, 0])
        points = tf.gather_nd(images, [[0, 1, 2], [2, 5, 5]])
        print(corner.shape, diagonal.shape, len(even), patch.shape)
        points.numpy(), int(rows[0, 0, 0])
        """,
    ),
    Story(
        "shapes as numbers",
        """
        batch = tf.ones((8, 5, 3))
        """,
        """
        size, steps, width = batch.shape
        flat = tf.reshape(batch, (size * steps, width))
        total = size * steps * width
        dynamic = tf.shape(batch)[0]
        rank = len(batch.shape)
        shape = batch.shape
        print(size, type(size).__name__, rank, type(dynamic).__name__, tuple(shape))
        flat.shape.as_list(), total // size, shape.num_elements()
        """,
    ),
    Story(
        "a correlation matrix printed in full",
        """
        table = tf.random.stateless_normal((30, 4), seed=(3, 4))
        """,
        """
        centred = table - tf.reduce_mean(table, axis=0)
        covariance = tf.matmul(centred, centred, transpose_a=True) / (table.shape[0] - 1)
        spread = tf.sqrt(tf.linalg.diag_part(covariance))
        correlation = covariance / (spread[:, None] * spread[None, :])
        with np.printoptions(precision=2, suppress=True):
            print(correlation.numpy())
        strongest = tf.reduce_max(tf.abs(correlation - tf.eye(4)))
        round(float(strongest), 4)
        """,
    ),
    Story(
        "several outputs displayed on the way",
        """
        from IPython.display import HTML, Markdown, display
        x = tf.constant([1.0, 4.0, 9.0])
        """,
        """
        root = tf.sqrt(x)
        display(root)
        display(Markdown(f"**mean** {tf.reduce_mean(root):.2f}"))
        doubled = root * 2
        display(HTML("<b>done</b>"), {"doubled": doubled.numpy().tolist()})
        doubled;
        """,
    ),
    Story(
        "a result that is dropped by a semicolon, and the one before",
        """
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        """,
        """
        y = tf.linalg.det(x)
        z = tf.transpose(x) @ x
        tf.linalg.trace(z);
        """,
    ),
    Story(
        "a data set peeked into",
        """
        numbers = tf.data.Dataset.from_tensor_slices((np.arange(10.0), np.arange(10) % 2))
        """,
        """
        batches = numbers.map(lambda x, y: (x * 2, y)).batch(4)
        for x, y in batches.take(1):
            print(x.numpy(), y.numpy())
        sums = [float(tf.reduce_sum(x)) for x, _ in batches]
        count = batches.cardinality().numpy()
        first = next(iter(batches))
        longest = max(len(x) for x, y in batches)
        print(batches.element_spec[0], count, longest)
        first[1]
        """,
    ),
    Story(
        "Python's own statistics of tensors",
        """
        import math
        import statistics
        values = tf.constant([3.0, 1.0, 2.0, 5.0, 4.0])
        """,
        """
        as_list = values.numpy().tolist()
        middle = statistics.median(as_list)
        spread = statistics.pstdev(as_list)
        by_tensor = tf.math.reduce_std(values)
        close = math.isclose(spread, float(by_tensor), rel_tol=1e-5)
        smallest, largest = min(values), max(values)
        ordered = sorted(values, key=float, reverse=True)
        print(middle, close, smallest.numpy(), largest.numpy(), [int(each) for each in ordered])
        """,
    ),
    Story(
        "shell lines and magics between the statements",
        """
        x = tf.range(5)
        """,
        """
        !echo "before"
        total = tf.reduce_sum(x)
        words = !echo one two
        %precision 3
        print(words[0].split(), int(total))
        float(total) / 7
        """,
    ),
]
