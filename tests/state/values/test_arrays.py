"""Guards see each element of an array or a buffer, up to a size."""

from __future__ import annotations

import itertools
from array import array
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.state.values.arrays import (
    WHOLE,
    content_of_array,
    content_of_buffer,
)

ONE = tf.constant(1.0)


def changed(values: Any, index: Any, value: Any = 5) -> None:
    values[index] = value


@pytest.mark.parametrize(
    ("value", "index"),
    [
        (np.zeros(50_000), 137),
        (np.zeros([300, 300], np.float32), (1, 137)),
        (np.zeros([1001, 1003], np.uint8), (1000, 1002)),
        (np.zeros(100_001, bool), 100_000),
        (np.zeros([1000, 200])[:, ::2], (137, 3)),
        (np.zeros([1000, 200]).T, (3, 137)),
        (np.zeros([40, 50, 60]).transpose(2, 0, 1), (3, 5, 7)),
        (np.zeros(20_000, [("a", "f4"), ("b", "i8")]), 137),
        (np.zeros(100_000, "datetime64[s]"), 137),
        (np.ma.array(np.zeros(50_000)), 137),
        (np.array([None] * 300), 250),
        (bytearray(200_000), 137),
        (array("d", [0.0] * 50_000), 137),
        (memoryview(bytearray(200_000)), 137),
        ([0.0] * 6_000, 5_000),
        (dict.fromkeys(range(4_500), 0.0), 4_000),
    ],
)
def test_one_element(value: Any, index: Any) -> None:
    held = SimpleNamespace(value=[value])
    runs = itertools.count()  # no two graphs are the same
    f = nbfn.function(
        lambda x: x + next(runs) if held.value[0] is not None else -x, autograph=False
    )
    for _ in range(3):
        f(ONE)
    assert (len(f.traces), f.hits) == (1, 2)
    changed(value, index, (1, 1) if isinstance(value, np.ndarray) and value.dtype.names else 5)
    f(ONE)
    assert len(f.traces) == 2


@pytest.mark.parametrize(
    ("first", "second"), [((1, 0), (137, 0)), ((5, 3), (5, 200)), ((0, 0), (299, 255))]
)
def test_elements_that_change_places_or_move(first: Any, second: Any) -> None:
    values = np.arange(300 * 256).reshape(300, 256)
    before = content_of_array(values)
    values[first], values[second] = values[second], values[first]
    assert content_of_array(values) != before
    values[first], values[second] = values[second], values[first]
    assert content_of_array(values) == before
    values[first] += 1
    values[second] -= 1
    assert content_of_array(values) != before
    generator = np.random.default_rng(0)
    generator.shuffle(values)
    assert content_of_array(values) != before


def test_the_mask_of_an_array() -> None:
    values: Any = np.ma.array(np.ones(50_000), mask=np.zeros(50_000, bool))
    f = nbfn.function(lambda x: x * float(values.sum()), autograph=False)
    assert float(f(ONE)) == 50_000.0
    values[137] = np.ma.masked
    assert float(f(ONE)) == 49_999.0


def test_of_a_very_large_array_elements_spread_over_it_count() -> None:
    values = np.zeros(WHOLE // 4 + 1000, np.float32)
    before = content_of_array(values)
    values[-1] = 1
    assert content_of_array(values) != before
    values[:] = 1
    assert len(content_of_array(values)[0]) < 1 << 17


def test_a_buffer_can_grow_and_be_released() -> None:
    value = bytearray(100_000)
    before = content_of_buffer(value)
    value.append(1)
    assert content_of_buffer(value) != before
    view = memoryview(value)
    view.release()
    assert content_of_buffer(view) is None
