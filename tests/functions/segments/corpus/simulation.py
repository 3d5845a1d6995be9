"""Simulations: walks, solvers, automata, samplers, rollouts."""

from __future__ import annotations

from tests.functions.segments.corpus.story import Story

STORIES = [
    Story(
        "random walks with stateless draws",
        """
        position = tf.zeros((5, 2))
        t = 0
        """,
        """
        track = [position]
        for _ in range(6):
            move = tf.random.stateless_normal((5, 2), seed=(7, t))
            position = position + move
            track.append(position)
            t += 1
        path = tf.stack(track)
        print(t, path.shape, f"{tf.reduce_mean(tf.norm(position, axis=1)):.4f}")
        """,
    ),
    Story(
        "Euler's method for an oscillator",
        """
        x, velocity = tf.constant(1.0), tf.constant(0.0)
        dt = 0.05
        """,
        """
        for i in range(40):
            velocity = velocity - dt * x
            x = x + dt * velocity
        energy = 0.5 * (x ** 2 + velocity ** 2)
        print(f"x {x:.4f} v {velocity:.4f} E {energy:.4f}")
        """,
    ),
    Story(
        "Runge and Kutta with a function for the slope",
        """
        def slope(t, y):
            return tf.stack([y[1], -y[0] + 0.1 * tf.sin(t)])
        y0 = tf.constant([1.0, 0.0])
        """,
        """
        h, t, y = tf.constant(0.1), tf.constant(0.0), y0
        times, states = [t], [y]
        while t < 1.0:
            k1 = slope(t, y)
            k2 = slope(t + h / 2, y + h / 2 * k1)
            k3 = slope(t + h / 2, y + h / 2 * k2)
            k4 = slope(t + h, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            t = t + h
            times.append(float(t))
            states.append(y)
        print(len(times), "points up to", round(times[-1], 3))
        tf.stack(states)[-1]
        """,
    ),
    Story(
        "the game of internal",
        """
        board = tf.constant([[0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0],
                             [0, 0, 0, 0, 0]])
        generation = 0
        """,
        """
        shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
        neighbours = tf.add_n([tf.roll(board, shift, axis=(0, 1)) for shift in shifts])
        alive = (neighbours == 3) | ((board == 1) & (neighbours == 2))
        board = tf.cast(alive, tf.int32)
        generation += 1
        print("generation", generation)
        for row in board.numpy():
            print("".join(".#"[cell] for cell in row))
        """,
    ),
    Story(
        "an elementary automaton in rows",
        """
        rule = tf.constant([int(bit) for bit in f"{110:08b}"[::-1]])
        width = 16
        """,
        """
        cells = tf.one_hot(width - 2, width, dtype=tf.int32)
        rows = []
        for _ in range(6):
            rows.append("".join("█" if c else " " for c in cells.numpy()))
            index = 4 * tf.roll(cells, 1, 0) + 2 * cells + tf.roll(cells, -1, 0)
            cells = tf.gather(rule, index)
        print("\\n".join(rows))
        tf.reduce_sum(cells)
        """,
    ),
    Story(
        "Collatz with `while` on a tensor",
        """
        start = tf.constant(27)
        """,
        """
        n, steps, highest = start, 0, start
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            highest = tf.maximum(highest, n)
            steps += 1
        print(f"{start} took {steps} steps and rose to {highest}")
        """,
    ),
    Story(
        "rewards of a rollout in Python's lists",
        """
        weights = tf.Variable([[0.5], [-0.3]])
        goal = tf.constant([1.0, -1.0])
        """,
        """
        state = tf.constant([[0.0, 0.5]])
        states, actions, rewards = [], [], []
        for moment in range(8):
            action = tf.tanh(state @ weights)
            state = state * 0.9 + tf.concat([action, -action], axis=1) * 0.1
            reward = -tf.reduce_sum((state - goal) ** 2)
            states.append(state); actions.append(action); rewards.append(reward)
            if reward > -0.5:
                break
        returns, running = [], 0.0
        for reward in reversed(rewards):
            running = reward + 0.9 * running
            returns.insert(0, running)
        weights.assign_add([[0.01], [0.01]])
        print(len(rewards), f"{returns[0]:.4f}")
        tf.squeeze(tf.stack(actions))[:3]
        """,
    ),
    Story(
        "pi by a generator of random numbers",
        """
        generator = tf.random.Generator.from_seed(3)
        inside, total = 0, 0
        """,
        """
        points = generator.uniform((500, 2))
        inside += int(tf.reduce_sum(tf.cast(tf.norm(points, axis=1) < 1, tf.int32)))
        total += 500
        estimate = 4 * inside / total
        print(f"{total} points: {estimate:.4f}")
        """,
    ),
    Story(
        "draws of the cell after a seed is set",
        """
        scale = tf.constant(2.0)
        """,
        """
        tf.random.set_seed(11)
        noise = tf.random.normal((3,)) * scale
        more = tf.random.uniform((2,), 0, 10, dtype=tf.int32)
        shuffled = tf.random.shuffle(tf.range(5))
        mean = tf.reduce_mean(noise)
        noise, more, shuffled
        """,
    ),
    Story(
        "draws of the cell that go on from run to run",
        """
        samples = []
        """,
        """
        batch = tf.random.normal((4,), mean=1.0)
        samples.extend(batch.numpy().tolist())
        jitter = np.random.rand()
        average = tf.reduce_mean(samples)
        print(len(samples), f"{average:.4f} {jitter:.4f}")
        """,
    ),
    Story(
        "helpers that draw",
        """
        def noisy(x, scale=0.1):
            return x + scale * tf.random.normal(x.shape)
        def thinned(x):
            return tf.nn.dropout(x, 0.5) if tf.reduce_sum(x) > -100 else x
        """,
        """
        x = tf.ones((4, 3))
        y = noisy(x) + tf.random.uniform((3,))
        z = thinned(y)
        order = tf.random.shuffle(tf.range(4))
        rows = tf.gather(z, order)
        print(y.shape, len(rows), z.dtype.name)
        rows
        """,
        draws=True,
    ),
    Story(
        "a sampler that accepts and rejects",
        """
        def log_density(x):
            return -0.5 * tf.reduce_sum(x ** 2)
        x = tf.constant([1.0, -1.0])
        accepted = 0
        """,
        """
        chain = []
        for i in range(10):
            proposal = x + 0.8 * tf.random.stateless_normal((2,), seed=(i, accepted))
            u = tf.random.stateless_uniform((), seed=(accepted, i))
            if tf.math.log(u) < log_density(proposal) - log_density(x):
                x = proposal
                accepted += 1
            chain.append(x)
        print("accepted", accepted)
        tf.reduce_mean(tf.stack(chain), axis=0)
        """,
    ),
    Story(
        "a Markov chain until it settles",
        """
        P = tf.constant([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]])
        """,
        """
        p = tf.constant([[1.0, 0.0, 0.0]])
        count = 0
        while True:
            following = p @ P
            change = tf.reduce_max(tf.abs(following - p))
            p = following
            count += 1
            if change < 1e-3 or count >= 60:
                break
        print(count, np.round(p.numpy(), 3).tolist())
        """,
    ),
    Story(
        "heat spreads through a rod, with a picture every few steps",
        """
        rod = tf.concat([tf.ones(4), tf.zeros(12)], axis=0)
        """,
        """
        for moment in tf.range(12):
            left, right = tf.roll(rod, 1, 0), tf.roll(rod, -1, 0)
            change = 0.25 * (left - 2 * rod + right)
            rod = tf.tensor_scatter_nd_add(rod, [[i] for i in range(1, 15)], change[1:-1])
            if moment % 4 == 0:
                print("".join(" .:-=+*#%@"[int(9 * min(1.0, float(r)))] for r in rod))
        tf.reduce_sum(rod)
        """,
    ),
    Story(
        "a sequence collected in a TensorArray",
        """
        sequence = tf.constant([1.0, 2.0, 3.0, 4.0])
        """,
        """
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
        memory = tf.constant(0.0)
        for i in range(4):
            memory = 0.5 * memory + sequence[i]
            array = array.write(i, memory)
        collected = array.stack()
        print(int(array.size()), float(array.read(2)))
        collected
        """,
    ),
    Story(
        "prey and predators until somebody dies out",
        """
        prey, predators = tf.Variable(10.0), tf.Variable(5.0)
        """,
        """
        rows = []
        for day in range(15):
            births, eaten = 0.1 * prey, 0.02 * prey * predators
            prey.assign_add(births - eaten)
            predators.assign_add(0.5 * eaten - 0.1 * predators)
            if prey < 1 or predators < 1:
                print("somebody died out on day", day)
                break
            if day % 5 == 0:
                rows.append((day, round(float(prey), 2), round(float(predators), 2)))
        for row in rows:
            print("%3d %8.2f %8.2f" % row)
        """,
    ),
]
