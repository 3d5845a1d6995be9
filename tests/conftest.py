"""Shared by all tests: quiet TensorFlow, and a shell of its own for each test that asks for one."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import pytest

import nbfn
from nbfn import errors
from tests.harness import forked_kernels
from tests.programs.wheel import environment, wheel

__all__ = ["environment", "wheel"]
pytest_plugins = ["tests.harness.messages"]

ROOT = Path(__file__).parents[1]
LONG = (
    "notebooks",
    *("tests/browser/test_faults.py", "tests/browser/test_panel.py"),
    "tests/functions/segments/test_as_people_write.py",
    *("tests/browser/test_commands.py", "tests/browser", "tests/hours"),
    *("tests/functions/segments/generated", "tests/command/test_run.py"),
    *("tests/sessions/cluster", "tests/sessions/export", "tests/views/test_totals.py"),
)
"""Files and folders whose tests take longest."""


def pytest_configure(config: pytest.Config) -> None:
    """Starts what kernels are forked from; the other processes of the run find it by its name."""
    if not hasattr(config, "workerinput") and forked_kernels.are_wanted():
        config.add_cleanup(forked_kernels.ForkingProcesses().stop)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Has the longest files begin first, so that no process has one left when the others end."""

    def place(item: pytest.Item) -> int:
        path = item.path.as_posix().removeprefix(f"{ROOT.as_posix()}/")
        return next((n for n, each in enumerate(LONG) if path.startswith(each)), len(LONG))

    items.sort(key=place)


@pytest.fixture(autouse=True, scope="module")
def _frozen() -> None:
    """Has the collector look at what the module's tests make only.

    Else each ``gc.collect()``, also that of ``f.free()``, walks TensorFlow and all that earlier
    modules have left: half a second each, and minutes in tests that free things by chance.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _kept_for_exports() -> None:
    """Keeps the process that verifies exports for other modules' exports.

    It is kept for a minute by default, and a new one has to import TensorFlow.
    """
    module = sys.modules.get("nbfn.sessions.export.export")
    if module is not None:
        module.export.__kwdefaults__["keep_process"] = 3600.0


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what the test makes is listed: no functions, cells or looks of tests before it."""
    from nbfn.functions.recording import registry
    from nbfn.functions.segments import cell
    from nbfn.sessions.contents.cells import cells
    from nbfn.sessions.messages import environment

    monkeypatch.setattr(registry, "_live", weakref.WeakValueDictionary())
    monkeypatch.setattr(cell, "_live", weakref.WeakValueDictionary())
    monkeypatch.setattr(environment, "PATIENCE", 0)
    monkeypatch.setattr(environment, "_read_at", {})
    cells.clear()


@pytest.fixture(autouse=True)
def _unreported() -> None:
    """Lets each test report failures as a new process does."""
    errors._reported.clear()


_OWN = str(Path(nbfn.__file__).parent)
_converted: set[object] = set()


@pytest.fixture(autouse=True)
def _unconverted() -> Iterator[None]:
    """No test has AutoGraph convert a function of nbfn's own that the user's code calls.

    It converts one that is itself given to a bare ``tf.function``, and nothing that this one calls.
    """
    yield
    api = sys.modules.get("tensorflow.python.autograph.impl.api")
    if api is not None:
        new = set(api._TRANSPILER._cache._cache) - _converted
        _converted.update(new)
        own = [code for code in new if code.co_filename.startswith(_OWN)]
        assert not [code for code in own if not _is_given(api, code)]


def _is_given(api: Any, code: object) -> bool:
    ways = api._TRANSPILER._cache._cache[code]
    return all(options.user_requested for options in ways)
