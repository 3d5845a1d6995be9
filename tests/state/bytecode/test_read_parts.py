"""Guards guard what was read, and not the container that it was read from."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions import guards

THREE = tf.constant(3.0)

CODE = """
import numpy as np

CFG = {"lr": 2.0, "steps": 0}
BIG = [1.0, 2.0, 3.0]
ARR = np.ones([2, 3])
STEP = 0
LR = 2.0

class Model:
    def __init__(self):
        self.cfg = {"lr": 2.0, "steps": 0}
        self.big = [1.0, 2.0]
        self.arr = np.ones([2, 3])

model = Model()
"""


def traced(body: str, **also: Any) -> tuple[dict[str, Any], Any]:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf, **also}
    exec(f"{CODE}\ndef f(x):\n    {body}", space)
    return space, nbfn.function(space["f"], autograph=False)


@pytest.mark.parametrize(
    ("body", "other", "read"),
    [
        ("return x * CFG['lr']", "CFG['steps'] += 1", "CFG['lr'] = 3.0"),
        ("return x * CFG.get('lr')", "CFG['steps'] += 1", "CFG['lr'] = 3.0"),
        ("return x * CFG.get('lr', 1.0)", "CFG['steps'] += 1", "del CFG['lr']"),
        ("return x * model.cfg['lr']", "model.cfg['steps'] += 1", "model.cfg['lr'] = 3.0"),
        ("return x * model.cfg.get('lr')", "model.cfg['steps'] += 1", "model.cfg['lr'] = 3.0"),
        ("return x * len(BIG)", "BIG[0] += 1.0", "BIG.append(1.0)"),
        ("return x * len(model.big)", "model.big[0] += 1.0", "model.big.append(1.0)"),
        ("return x * BIG[0]", "BIG.append(1.0)", "BIG[0] = 3.0"),
        ("return x / ARR.shape[0]", "ARR += 1.0", "ARR = np.ones([3, 3])"),
        ("return x / ARR.ndim", "ARR += 1.0", "ARR = np.ones([3])"),
        ("return x / len(ARR)", "ARR += 1.0", "ARR = np.ones([3, 3])"),
        ("return x / model.arr.shape[0]", "model.arr += 1.0", "model.arr = np.ones([3, 3])"),
    ],
)
def test_parts(body: str, other: str, read: str) -> None:
    space, f = traced(body)
    before = float(f(THREE))
    for _ in range(3):
        exec(other, space)
        f(THREE)
    assert len(f.traces) == 1
    exec(read, space)
    now = float(f(THREE))
    assert (len(f.traces), now) == (2, float(space["f"](THREE)))
    assert now != before
    assert "CFG" not in body or "['lr']" in str(f.retraces[-1])


def test_a_part_that_stays_costs_no_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    space, f = traced("return x * CFG.get('lr') * len(BIG) * ARR.shape[0] * LR")
    space["BIG"].extend([1.0] * 1000)
    f(THREE)
    f(THREE)
    walks = []
    known = guards.state_of
    monkeypatch.setattr(guards, "state_of", lambda *a: walks.append(a) or known(*a))
    f(THREE)
    assert not walks
    space["BIG"].append(1.0)
    f(THREE)
    assert walks


@pytest.mark.parametrize(
    "body",
    [
        "cfg = CFG; return x * cfg['lr'] + CFG['lr']",
        "return x * CFG['lr'] * len(list(CFG.values()))",
        "k = 'lr'; return x * CFG[k]",
        "return x * CFG['lr'] + sum(v for v in CFG.values())",
    ],
)
def test_what_is_read_as_a_whole_counts_as_a_whole(body: str) -> None:
    space, f = traced(body)
    f(THREE)
    space["CFG"]["lr"] = 3.0
    assert float(f(THREE)) == float(space["f"](THREE))
    assert len(f.traces) == 2


def test_closures() -> None:
    cfg, big = {"lr": 2.0, "steps": 0}, [1.0, 2.0]

    @nbfn.function(autograph=False)
    def f(x: Any) -> Any:
        return x * cfg["lr"] * len(big)

    f(THREE)
    cfg["steps"], big[0] = 1, 5.0
    assert (float(f(THREE)), len(f.traces)) == (12.0, 1)
    cfg["lr"] = 3.0
    assert (float(f(THREE)), len(f.traces)) == (18.0, 2)


@pytest.mark.parametrize(
    "body",
    [
        "log.debug('%s', STEP)",
        "log.info(f'{STEP} of {len(BIG)}', extra=None)",
        "logging.error('step %d', STEP)",
        "print(STEP, end='')",
        "assert x.dtype == tf.float32, f'{STEP}'",
    ],
)
def test_what_is_only_shown_does_not_count(body: str) -> None:
    also = {"log": logging.getLogger("tests"), "logging": logging}
    space, f = traced(f"{body}\n    return x * LR", **also)
    f(THREE)
    space["STEP"] = 1
    f(THREE)
    assert len(f.traces) == 1
    space["LR"] = 3.0
    assert (float(f(THREE)), len(f.traces)) == (9.0, 2)


def test_a_method_named_like_those_of_loggers_counts() -> None:
    space, f = traced("return loss.error(x, STEP)")
    exec("class Loss:\n    def error(self, x, y): return x * y\nloss = Loss()", space)
    f(THREE)
    space["STEP"] = 2
    assert (float(f(THREE)), len(f.traces)) == (6.0, 2)


def test_a_name_that_the_code_writes_is_exempt() -> None:
    count = 0

    @nbfn.function(autograph=False)
    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        return x + 0.0

    for _ in range(4):
        f(THREE)
        count += 10
    assert len(f.traces) == 1


@pytest.mark.parametrize("kind", ["def", "lambda", "comprehension"])
def test_a_docstring_is_no_code(kind: str) -> None:
    texts = {
        "def": "def helper(x):\n    {}\n    return x * 2.0",
        "lambda": "helper = lambda x: x * len({})",
        "comprehension": "def helper(x): return x * [len({}) for _ in range(1)][0]",
    }
    space, f = traced("return helper(x)")
    traces = []
    for text in ('"a"', '"ab"'):
        exec(texts[kind].format(text), space)
        f(THREE)
        traces.append(f.recorder.made)
    assert traces == ([1, 1] if kind == "def" else [1, 2])


def test_a_length_is_named_as_it_is_written() -> None:
    items = [1.0, 2.0]
    f = nbfn.function(lambda x: x * len(items))
    f(tf.constant(1.0))
    items.append(3.0)
    f(tf.constant(1.0))
    assert f.retraces[0].causes[0].path == "len(items)"
