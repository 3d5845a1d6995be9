"""Guards tell code by what it does: its instructions and its constants, not its lines."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.state.bytecode.digest import _known, digest


def code_of(text: str) -> Any:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(text, names)
    return names["h"].__code__


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a * 2", "a + 2"),
        ("a > 3", "a < 3"),
        ("a * -1", "a * -2"),
        ("a * 1", "a * 1.0"),
        ("a * 1", "a * True"),
        ("a * 0.0", "a * -0.0"),
        ("a in (1, 2)", "a in (1, 2.0)"),
        ("a in {1, 2}", "a in {1, 3}"),
        ("(lambda b: b * 2)(a)", "(lambda b: b + 2)(a)"),
        ("(lambda: (lambda b: b * 2)(a))()", "(lambda: (lambda b: b - 2)(a))()"),
        ("a.real", "a.imag"),
    ],
)
def test_code_that_does_something_else_has_another_digest(old: str, new: str) -> None:
    first, second = code_of(f"def h(a): return {old}"), code_of(f"def h(a): return {new}")
    again = code_of(f"\n\n\ndef h(a):\n    return {old}")
    assert digest(first) != digest(second)
    assert digest(first) == digest(again)


def test_defaults_and_kinds_of_arguments_are_distinguished() -> None:
    codes = [code_of(f"def h({a}): return b") for a in ("a, b", "a, *, b", "a, b, /", "a, *b")]
    assert len({digest(each) for each in codes}) == 4


def test_a_handler_of_exceptions_counts() -> None:
    bare = code_of("def h(a):\n    a = 1\n    return a")
    moved = bare.replace(co_exceptiontable=b"\x82\x01\x05\x00")
    assert digest(bare) != digest(moved)


@pytest.mark.parametrize(
    ("old", "new", "results"),
    [
        ("def h(a): return a * 2", "def h(a): return a + 2", [6.0, 5.0]),
        ("def h(a): return a > 3", "def h(a): return a < 4", [0.0, 1.0]),
        ("h = lambda a: a < 0", "h = lambda a: a > 0", [0.0, 1.0]),
        ("def h(a): return a * -1", "def h(a): return a * -2", [-3.0, -6.0]),
        (
            "def g(a): return a * 2\ndef h(a): return g(a)",
            "def g(a): return a + 2",
            [6.0, 5.0],
        ),
        (
            "class C:\n    def m(self, a): return a * 2\nc = C()\ndef h(a): return c.m(a)",
            "def m(self, a): return a + 2\nC.m = m",
            [6.0, 5.0],
        ),
    ],
)
def test_a_helper_that_is_defined_again(old: str, new: str, results: list[float]) -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf}
    exec(f"def f(x): return tf.cast(h(x), tf.float32)\n{old}", space)
    f = nbfn.function(space["f"])
    x = tf.constant(3.0)
    found = [float(f(x))]
    exec(new, space)
    found.append(float(f(x)))
    assert found == results
    exec(new, space)
    f(x)
    assert (len(f.traces), f.recorder.made, f.hits) == (1, 2, 1)


def test_digests_keep_no_code() -> None:
    code = code_of("def h(a): return a * 2")
    digest(code)
    key = id(code)
    assert key in _known._entries
    del code
    gc.collect()
    assert key not in _known._entries


def test_a_walk_through_a_large_library_of_the_users_ends() -> None:
    number = 3000
    lines = [f"def h{i}(x): return x * k{i} if i == {i} else h{i + 1}(x)" for i in range(number)]
    names: dict[str, Any] = {"__name__": "__main__", "i": 0, f"h{number}": None}
    names |= {f"k{i}": 2.0 for i in range(number)}
    exec("\n".join(lines), names)
    f = nbfn.function(names["h0"], autograph=False)
    assert float(f(tf.constant(1.0))) == 2.0
    assert len(f.recorder.guards.fingerprints()) < 2000
    names["k0"] = 3.0
    assert float(f(tf.constant(1.0))) == 3.0


def test_code_that_is_replaced_in_a_function_of_a_container() -> None:
    def first(x: Any) -> Any:
        return x + 1

    steps = [first]

    @nbfn.function
    def run(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    x = tf.constant(1.0)
    found = [float(run(x))]
    first.__code__ = (lambda x: x * 10).__code__
    found.append(float(run(x)))
    assert found == [2.0, 10.0]


class Registry(type):
    def __getattr__(cls, name: str) -> Any:
        return {"rate": 2.0}[name]


def test_a_metaclass_that_answers_with_an_error(recwarn: Any) -> None:
    class Entry(metaclass=Registry):
        pass

    entry = Entry()
    entry.size = 3.0  # type: ignore[attr-defined]
    f = nbfn.function(lambda x: x * entry.size, autograph=False)  # type: ignore[attr-defined]
    found = [float(f(tf.constant(1.0)))]
    entry.size = 4.0  # type: ignore[attr-defined]
    assert [*found, float(f(tf.constant(1.0)))] == [3.0, 4.0]
    assert not [each for each in recwarn if issubclass(each.category, nbfn.NbfnWarning)]
