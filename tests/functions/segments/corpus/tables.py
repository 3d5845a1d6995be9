"""Tables of uneven, sparse or grouped data."""

from __future__ import annotations

from tests.functions.segments.corpus.story import Story

STORIES = [
    Story(
        "ragged rows",
        """
        rows = tf.ragged.constant([[3.0, 1.0], [], [5.0, 9.0, 2.0]])
        """,
        """
        lengths = rows.row_lengths()
        means = tf.reduce_mean(rows, axis=1)
        padded = rows.to_tensor(default_value=-1.0)
        doubled = rows * 2
        longer = tf.concat([rows, tf.ragged.constant([[1.0], [2.0], [3.0]])], axis=1)
        for row in longer:
            print(row.numpy().tolist(), end="; ")
        print()
        rows = doubled[:, :2]
        rows
        """,
    ),
    Story(
        "a sparse matrix",
        """
        sparse = tf.sparse.SparseTensor([[0, 1], [2, 0]], [4.0, 5.0], [3, 3])
        """,
        """
        dense = tf.sparse.to_dense(sparse)
        product = tf.sparse.sparse_dense_matmul(sparse, tf.ones((3, 2)))
        scaled = sparse * 2.0
        both = tf.sparse.add(sparse, scaled)
        print(both.indices.numpy().tolist(), both.values.numpy())
        tf.sparse.reduce_sum(both, axis=1), dense + product[:, :1]
        """,
    ),
    Story(
        "groups summed by segment",
        """
        sales = tf.constant([10.0, 20.0, 5.0, 7.0, 8.0])
        shops = tf.constant(["n", "s", "n", "w", "s"])
        """,
        """
        names, index = tf.unique(shops)
        totals = tf.math.unsorted_segment_sum(sales, index, tf.size(names))
        means = tf.math.unsorted_segment_mean(sales, index, num_segments=len(names))
        order = tf.argsort(index, stable=True)
        largest = tf.math.segment_max(tf.gather(sales, order), tf.gather(index, order))
        report = {n.decode(): (float(t), float(m)) for n, t, m in zip(names.numpy(), totals, means)}
        for shop in sorted(report):
            print(shop, *report[shop])
        largest
        """,
    ),
    Story(
        "categories as columns",
        """
        colours = ["red", "green", "red", "blue"]
        sizes = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
        """,
        """
        categories = sorted(set(colours))
        codes = tf.constant([categories.index(c) for c in colours])
        encoded = tf.one_hot(codes, depth=len(categories))
        table = tf.concat([encoded, sizes[:, None]], axis=1)
        by_category = tf.transpose(encoded) @ sizes[:, None]
        print(categories, table.shape)
        dict(zip(categories, by_category.numpy().ravel().tolist()))
        """,
    ),
    Story(
        "sorted, ranked and the first of each",
        """
        scores = tf.constant([[3, 9, 4], [8, 1, 8]])
        """,
        """
        ordered = tf.sort(scores, axis=1, direction="DESCENDING")
        values, places = tf.math.top_k(scores, k=2)
        ranks = tf.argsort(tf.argsort(scores, axis=1), axis=1)
        cumulated = tf.cumsum(scores, axis=1, exclusive=True)
        where = tf.where(scores == 8)
        padded = tf.pad(scores, [[0, 0], [1, 0]], constant_values=-1)
        print(places.numpy().tolist(), where.numpy().tolist())
        values, ranks, cumulated, padded
        """,
    ),
    Story(
        "two tables joined in Python",
        """
        people = {"id": tf.constant([1, 2, 3]), "age": tf.constant([30.0, 40.0, 50.0])}
        visits = {"id": tf.constant([3, 1, 3]), "cost": tf.constant([7.0, 8.0, 9.0])}
        """,
        """
        matches = tf.cast(visits["id"][:, None] == people["id"][None, :], tf.float32)
        visits["age"] = tf.linalg.matvec(matches, people["age"])
        joined = list(zip(*(visits[key].numpy().tolist() for key in ("id", "age", "cost"))))
        spent = {}
        for person, age, cost in joined:
            spent[person] = spent.get(person, 0.0) + cost
        print(spent, len(visits))
        tf.tensordot(visits["age"], visits["cost"], 1)
        """,
    ),
    Story(
        "windows over a series",
        """
        series = tf.constant([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
        """,
        """
        window = 3
        frames = tf.signal.frame(series, window, 1)
        smooth = tf.reduce_mean(frames, axis=-1)
        growth = series[1:] / series[:-1]
        lagged = tf.stack([series[window - k - 1:len(series) - k] for k in range(window)], axis=1)
        outliers = [i for i, g in enumerate(growth) if g > 2.5]
        print(smooth.numpy(), outliers)
        lagged
        """,
    ),
    Story(
        "rows scattered into a variable",
        """
        memory = tf.Variable(tf.zeros((4, 2)))
        cursor = 0
        """,
        """
        fresh = tf.constant([[1.0, 1.0], [2.0, 2.0]])
        places = [(cursor + i) % 4 for i in range(2)]
        memory.scatter_nd_update([[p] for p in places], fresh * (cursor + 1))
        memory[3, 1].assign(-1.0)
        cursor = (cursor + 2) % 4
        slices = tf.IndexedSlices(fresh, tf.constant(places), dense_shape=(4, 2))
        print(cursor, tf.convert_to_tensor(slices).shape)
        memory
        """,
    ),
]
