"""Python numbers are by value, and tensors only where nobody can tell."""

from __future__ import annotations

import pytest

SETUP = """
rate = 0.1; i = 1; s = tf.constant(2.0); v = tf.Variable([1.0, 2.0])
size = tf.constant(2, tf.int64)
def kind(n): return n * x if isinstance(n, int) else x
def double(n): return n * n
"""


@pytest.mark.parametrize(
    ("cell", "between"),
    [
        ("y = x * float(1)\nz = tf.cast(i * i * 1_000_003, tf.float64)", "i = i * 50_021"),
        ("y = kind(i)", "i += 1"),
        ("y = x * double(i)", "i += 100_000"),
        ("y = x * i / 3\nz = tf.range(i)", "i += 1"),
        ("y = s * 3\nz = x * s", "s = np.float32(s)"),
        ("y = x * rate if rate > 0.05 else x", "rate = rate / 2"),
        ("y = x + i // 2", "i += 1"),
        ("y = x * i\nz = i", "i = i + 0.5"),
        ("y = tf.fill([i], 1.0)", "i += 1"),
        ("y = tf.fill([2], rate)", "rate = 2.0 if rate == 0.1 else 3"),
        ("y = tf.range(size)", "size = 2"),
        ("y = tf.fill([2], s)", "s = 3"),
        ("y = tf.reshape(tf.range(12), [i, -1])", "i += 1"),
        ("y = [x, x][i % 2]\nz = tf.sin(y)", "i += 1"),
        ("y = tf.constant(i) * 2\nz = tf.constant(rate)", "i += 1; rate = rate / 3"),
        ("y = tf.reduce_sum(tf.ones([2, 2]), axis=i)", "i = 0"),
        ("for n in range(6):\n    y = x * n\n    z = n * n * 100_000\nprint(z)", "pass"),
        ("for n in range(4 * 10**9, 0, -5 * 10**8):\n    y = tf.sin(x)\n    x = y", "pass"),
        ("for n in range(6 * 10**9, 0, -10**9):\n    y = tf.sin(x)\n    x = y", "pass"),
    ],
)
def test_a_number_that_changes_is_what_it_is_in_a_plain_cell(
    notebook, cell: str, between: str
) -> None:
    notebook(SETUP, cell, between=between)


def test_a_rate_that_decays_becomes_a_tensor(notebook) -> None:
    cell = (
        "for n in range(8):\n    rate = 0.1 / (n + 1)\n"
        "    v.assign_sub(rate * v)\n    y = v * 1.0\nprint(y)"
    )
    step = notebook(SETUP, cell)["step"]
    (function,) = step.functions
    assert len(function.traces) == 2, "one by value, and one that takes a tensor"
    assert "rate: float32[]" in str(function.traces[-1].signature)
    assert function.hits >= 6 + 8 + 8


def test_after_three_values_it_is_python(notebook) -> None:
    step = notebook(SETUP, "for n in range(8):\n    y = x * kind(n)\n    print(n)")["step"]
    assert sum(len(each.traces) for each in step.functions) <= 3


@pytest.mark.parametrize("of", ["x * kind(n)", "x * double(n * 100_000)", "x + n // 2", "x * n"])
def test_the_number_of_a_loop_that_is_one_graph(notebook, of: str) -> None:
    notebook(SETUP, f"y = x\nfor n in range(50):\n    y = y + {of}\nprint(n)")
