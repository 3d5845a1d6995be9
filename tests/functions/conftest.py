"""Shared by the tests of functions: a process that has two devices."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest


@pytest.fixture(scope="session")
def on_two_devices() -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """Calls functions of test files in a process of their own, with two logical CPUs."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=_begin) as pool:
        yield lambda work: pool.submit(work).result(300)


def _begin() -> None:
    import tensorflow as tf

    import nbfn.functions  # noqa: F401 # must not start the runtime, which would fix the devices

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
