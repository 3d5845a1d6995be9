"""``with tf.device`` of a device that does not exist, in plain cells and cells in segments."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn import _tensorflow
from nbfn.functions.traced.missing_devices import missing_devices


@pytest.fixture
def warned(run: Callable[[str], Any]) -> Callable[[str], list[tuple[str, int]]]:
    """Runs a cell; each warning of nbfn with its line."""

    def warned_(cell: str) -> list[tuple[str, int]]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            run(cell)
        return [
            (str(each.message), each.lineno)
            for each in found
            if issubclass(each.category, nbfn.NbfnWarning)
        ]

    return warned_


def test_it_is_said_once_for_each_device_at_its_line(warned) -> None:
    cell = 'with tf.device("CPU:0"):\n    x = tf.ones([2])\nwith tf.device("{}"):\n    y = x * 2'
    ((text, line),) = warned(cell.format("GPU:3"))
    assert text.startswith("the device GPU:3 is requested but does not exist, so this runs elsew")
    assert line == 3
    assert warned(cell.format("GPU:3")) == warned(cell.format("/device:GPU:3")) == []
    assert warned("with tf.device('CPU:0'), tf.device('GPU:3'):\n    z = tf.ones([])") == []
    ((text, _),) = warned("%%tf_function\n" + cell.format("GPU:4"))
    assert "GPU:4" in text


def test_devices_that_are_there_or_of_other_machines_are_not_named(warned) -> None:
    assert warned("with tf.device('CPU'):\n    x = tf.ones([])") == []
    assert warned("with tf.device(None):\n    x = tf.ones([])") == []
    assert list(missing_devices(["/job:worker/replica:0/task:0/device:GPU:5"])) == []


def test_an_error_that_tensorflow_raises_is_enough(warned, monkeypatch) -> None:
    monkeypatch.setattr(tf.config, "get_soft_device_placement", lambda: False)
    assert warned("with tf.device('GPU:6'):\n    pass") == []


def test_without_nbfn_nothing_is_said(shell, warned) -> None:
    shell.run_cell("%unload_ext nbfn").raise_error()
    assert warned("with tf.device('GPU:9'):\n    x = tf.ones([])") == []


def test_without_the_cache_of_scopes_nothing_is_said(monkeypatch) -> None:
    from tensorflow.python.eager import context

    monkeypatch.delattr(context, "_device_parsing_cache")
    assert _tensorflow.entered_devices() == []
