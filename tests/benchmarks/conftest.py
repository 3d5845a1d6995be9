"""The browser and the conditions in which benchmarks run, equal for what is compared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import tensorflow as tf

from nbfn.functions.calls.stack_room import with_room
from tests.browser.conftest import browser as browser
from tests.browser.conftest import context as context
from tests.browser.conftest import lab as lab
from tests.browser.conftest import server as server


def pytest_configure(config: pytest.Config) -> None:
    """Gives TensorFlow one thread for operations, as it has on a machine with one processor.

    With two threads on one processor a hit takes 130 µs instead of 60. By default there are as
    many as processors at the first operation, which a module may run before the benchmarks begin.
    """
    if config.getoption("benchmark_only"):
        tf.config.threading.set_inter_op_parallelism_threads(1)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> bool:
    """Runs a benchmark where no chunk of CPython's stack ends: it would cost up to 20 µs a call.

    The calls of a group are not equally deep, so an end may lie in one and not in the other.
    """
    marker = pyfuncitem.get_closest_marker("benchmark")
    group = str(marker.kwargs.get("group", "")) if marker is not None else ""
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    if group.startswith("hit"):
        with _on_one_processor():
            with_room(lambda: pyfuncitem.obj(**arguments))
    else:
        with_room(lambda: pyfuncitem.obj(**arguments))
    return True


@contextmanager
def _on_one_processor() -> Iterator[None]:
    """Keeps all threads on one processor: waking another one takes as long as a hit itself."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    _bind({min(before)})
    try:
        yield
    finally:
        _bind(before)


def _bind(processors: set[int]) -> None:
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(thread), processors)
        except ProcessLookupError:  # it has ended
            continue
