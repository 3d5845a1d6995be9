"""Optimisation and algebra by hand."""

from __future__ import annotations

from tests.functions.segments.corpus.story import Story

STORIES = [
    Story(
        "Newton's method",
        """
        def f(x):
            return x ** 3 - x - 2
        """,
        """
        x = tf.constant(1.5)
        for i in range(10):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            slope = tape.gradient(y, x)
            following = x - y / slope
            if abs(following - x) < 1e-6:
                print("settled after", i, "steps")
                break
            x = following
        x, y
        """,
    ),
    Story(
        "descent with a line search",
        """
        A = tf.constant([[3.0, 0.5], [0.5, 1.0]])
        def energy(x):
            return 0.5 * tf.tensordot(x, tf.linalg.matvec(A, x), 1) - tf.reduce_sum(x)
        x = tf.constant([2.0, -2.0])
        """,
        """
        for iteration in range(4):
            gradient = tf.linalg.matvec(A, x) - 1.0
            size, tries = 1.0, 0
            square = tf.reduce_sum(gradient ** 2)
            while energy(x - size * gradient) > energy(x) - 0.5 * size * square:
                size *= 0.5
                tries += 1
                if tries > 8:
                    break
            x = x - size * gradient
            print(iteration, size, tries, f"{energy(x):.5f}")
        x
        """,
    ),
    Story(
        "the largest eigenvalue by powers",
        """
        M = tf.constant([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
        """,
        """
        vector = tf.ones((3, 1))
        eigenvalue = 0.0
        for i in range(50):
            image = M @ vector
            vector = image / tf.norm(image)
            previous, eigenvalue = eigenvalue, tf.squeeze(tf.transpose(vector) @ M @ vector)
            if abs(eigenvalue - previous) < 1e-4:
                break
        print(f"{eigenvalue:.3f} in {i + 1} steps")
        exact = tf.linalg.eigvalsh(M)[-1]
        bool(abs(exact - eigenvalue) < 1e-2)
        """,
    ),
    Story(
        "k-means",
        """
        clouds = [tf.random.stateless_normal((10, 2), (1, k)) + 4.0 * k for k in range(3)]
        points = tf.concat(clouds, 0)
        """,
        """
        k = 3
        centres = tf.gather(points, [0, 12, 25])
        for iteration in range(10):
            distances = tf.norm(points[:, None] - centres[None], axis=-1)
            nearest = tf.argmin(distances, axis=1)
            moved = tf.stack([
                tf.reduce_mean(tf.boolean_mask(points, nearest == j), axis=0) for j in range(k)
            ])
            shift = float(tf.reduce_max(tf.abs(moved - centres)))
            centres = moved
            if shift == 0.0:
                break
        sizes = tf.math.bincount(tf.cast(nearest, tf.int32))
        print("iterations", iteration, "sizes", sizes.numpy())
        """,
    ),
    Story(
        "regression by the normal equations",
        """
        rng = np.random.default_rng(1)
        X = rng.normal(size=(40, 3))
        y = X @ [1.0, 2.0, 3.0] + 0.01 * rng.normal(size=40)
        """,
        """
        design = tf.concat([tf.ones((40, 1), tf.float64), X], axis=1)
        target = tf.constant(y)[:, tf.newaxis]
        gram = tf.matmul(design, design, transpose_a=True)
        beta = tf.linalg.solve(gram, tf.matmul(design, target, transpose_a=True))
        residual = target - design @ beta
        spread = target - tf.reduce_mean(target)
        r2 = 1 - tf.reduce_sum(residual ** 2) / tf.reduce_sum(spread ** 2)
        same = tf.linalg.lstsq(design, target)
        for name, value in zip(["intercept", *"abc"], tf.squeeze(beta)):
            print(f"{name:>10} {value.numpy():+.3f}")
        assert r2 > 0.99 and np.allclose(beta, same, atol=1e-6)
        r2
        """,
    ),
    Story(
        "principal components",
        """
        data = tf.random.stateless_normal((20, 4), (2, 2)) * [3.0, 1.0, 0.5, 0.1]
        """,
        """
        centred = data - tf.reduce_mean(data, 0)
        s, u, v = tf.linalg.svd(centred)
        explained = s ** 2 / tf.reduce_sum(s ** 2)
        kept = int(np.searchsorted(np.cumsum(explained), 0.9)) + 1
        scores = tf.abs(u[:, :kept] * s[:kept])
        print(kept, [f"{e:.1%}" for e in explained.numpy()])
        scores.shape
        """,
    ),
    Story(
        "two losses weighed against each other in a grid",
        """
        w = tf.constant([0.5, -1.0])
        """,
        """
        results = {}
        for alpha in (0.0, 0.1, 1.0):
            for power in [1, 2]:
                penalty = tf.reduce_sum(tf.abs(w) ** power)
                results[alpha, power] = float(tf.reduce_sum((w - 1.0) ** 2) + alpha * penalty)
        best = min(results, key=results.get)
        print("best", best, results[best])
        results
        """,
    ),
    Story(
        "conjugate gradients",
        """
        A = tf.constant([[4.0, 1.0], [1.0, 3.0]]); b = tf.constant([[1.0], [2.0]])
        """,
        """
        x = tf.zeros_like(b)
        r = b - A @ x
        p = r
        rs = tf.reduce_sum(r * r)
        for k in range(len(b)):
            Ap = A @ p
            alpha = rs / tf.reduce_sum(p * Ap)
            x = x + alpha * p
            r = r - alpha * Ap
            rs_new = tf.reduce_sum(r * r)
            print(k, tf.sqrt(rs_new).numpy() < 1e-3)
            if tf.sqrt(rs_new) < 1e-5:
                break
            p = r + (rs_new / rs) * p
            rs = rs_new
        x
        """,
    ),
    Story(
        "simulated annealing in Python around tensors",
        """
        import random
        random.seed(5)
        cost = lambda route: float(tf.reduce_sum(tf.norm(tf.gather(cities, route)
            - tf.gather(cities, route[1:] + route[:1]), axis=1)))
        cities = tf.random.stateless_uniform((6, 2), (8, 9))
        route = list(range(6))
        """,
        """
        temperature = 1.0
        current = cost(route)
        for trial in range(15):
            i, j = sorted(random.sample(range(6), 2))
            candidate = route[:i] + route[i:j + 1][::-1] + route[j + 1:]
            change = cost(candidate) - current
            if change < 0 or random.random() < np.exp(-change / temperature):
                route, current = candidate, current + change
            temperature *= 0.9
        print(route, round(current, 4))
        """,
    ),
]
