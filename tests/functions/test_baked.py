"""What a function bakes into its traces is marked, and a change is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn

CODE = """
import math

class Options:
    rate = 1.0

options = Options()
number, text, items, table, array = 1, "a", [1, {2}], {"a": [1]}, np.zeros(3)
variable = tf.Variable(1.0)

def deep(x): return x * number

def helper(x): return deep(x) + math.pi

def f(x):
    inner = lambda: items
    [text, table, array, options.rate, variable, inner()]
    return helper(x)
"""


@pytest.fixture
def namespace() -> dict[str, Any]:
    names = {"np": np, "tf": tf, "__name__": "__main__"}
    exec(CODE, names)
    names["f"] = nbfn.function(names["f"], autograph=False)
    names["f"](tf.constant(1.0))
    return names


def test_nothing_has_changed(namespace) -> None:
    assert namespace["f"].changed_globals() == []
    namespace["variable"].assign(5.0)
    namespace["number"] = 1
    namespace["items"] = [1, {2}]
    exec("def deep(x): return x * number", namespace)
    assert set(namespace["f"].changed_globals()) <= {"helper"}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("text = 'b'", "text"),
        ("text = b'a'", "text"),
        ("items[1].add(3)", "items"),
        ("table['a'].append(2)", "table"),
        ("array[0] = 5", "array"),
        ("options.rate = 2.0", "options"),
        ("options = Options()", "options"),
        ("variable = tf.Variable(1.0)", "variable"),
        ("def helper(x): return deep(x)", "helper"),
        ("def deep(x): return x * 2", "helper"),
        ("number = 2", "helper"),
        ("del text", "text"),
    ],
)
def test_a_change_is_named(namespace, change: str, name: str) -> None:
    exec(change, namespace)
    assert namespace["f"].changed_globals() == [name]


def test_recursion_and_cycles_end() -> None:
    names: dict[str, Any] = {"nbfn": nbfn, "__name__": "__main__"}
    exec("def a(x): return b(x)\ndef b(x): return a(x)\nloop = []\nloop.append(loop)", names)
    exec("def f(x): return (x, loop, a, f)[0]", names)
    f = nbfn.function(names["f"], autograph=False)
    f(tf.constant(1))
    assert f.changed_globals() == []
