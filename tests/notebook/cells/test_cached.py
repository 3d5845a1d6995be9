"""Results that functions keep of their calls, and what threads keep apart."""

from __future__ import annotations

import pytest

from tests.notebook.sides import assert_the_same

CASES = [
    (
        "@functools.lru_cache\ndef scale(k): return tf.ones(2) * k",
        "z = x + scale(3)",
        "[z, scale(3), scale.cache_info().currsize]",
    ),
    (
        "@functools.cache\ndef scale(*key): return [tf.ones(2) * key[0], 1]\nscale(2.0, 'b')",
        "z = x + scale(3)[0]",
        "[z, scale(3), scale(2.0, 'b')]",
    ),
    (
        "class B:\n    @functools.lru_cache\n    def scale(s, k): return tf.ones(2) * k\nb = B()",
        "z = x + b.scale(3)",
        "[z, b.scale(3)]",
    ),
    (
        "class B:\n    @functools.cached_property\n    def ones(self): return tf.ones(2)\nb = B()",
        "z = x + b.ones",
        "[z, b.ones]",
    ),
    (
        "import threading\nof_thread = threading.local()\nof_thread.count = 0",
        "of_thread.count += 1\nof_thread.last = x * 2",
        "[of_thread.count, of_thread.last]",
    ),
    (
        "seen = []\n@functools.cache\ndef note(k):\n    seen.append(k)\n    return k",
        "z = x + note(3)",
        "[z, seen, note.cache_info().currsize]",
    ),
]


@pytest.mark.parametrize(("setup", "cell", "probe"), CASES)
def test_a_cell_leaves_it_as_an_eager_one_does(shell, setup: str, cell: str, probe: str) -> None:
    assert_the_same(shell, setup, cell, probe)


def test_what_was_kept_before_a_trace_stays_if_the_trace_adds_no_tensors(run) -> None:
    run("import functools, tensorflow as tf\nx = tf.constant(1.0)")
    run("@functools.cache\ndef square(k): return k * k\nsquare(2)")
    run("%%tf_function\nz = x * square(3)")
    assert run("square(2), square.cache_info().hits, float(z)").result == (4, 1, 9.0)
