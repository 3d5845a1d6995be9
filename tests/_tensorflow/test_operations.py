"""Finding all tf.functions of the process, before they are traced again."""

from __future__ import annotations

import sys

import tensorflow as tf

import nbfn
from nbfn._tensorflow import ScopedFunction
from nbfn._tensorflow.tracing.operation_callbacks import _functions


def test_functions_are_found_without_a_call_for_each_object() -> None:
    plain, own = tf.function(lambda x: x), nbfn.function(lambda x: x)
    many: list[list[int]] = [[] for _ in range(50_000)]
    calls: list[None] = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: calls.append(None))
    try:
        found = _functions(ScopedFunction)
    finally:
        sys.setprofile(before)
    assert any(each is plain for each in found)
    assert not any(each is own for each in found)
    assert len(calls) < len(many)
