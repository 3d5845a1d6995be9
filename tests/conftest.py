"""Shared by all tests: quiet TensorFlow, and a shell of its own for each test that asks for one."""

from __future__ import annotations

import gc
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import pytest

from nbfn import errors
from tests.programs.wheel import environment, wheel

__all__ = ["environment", "wheel"]


@pytest.fixture(autouse=True, scope="module")
def _frozen() -> None:
    """Has the collector look at what the module's tests make only.

    Else each ``gc.collect()``, also that of ``f.free()``, walks TensorFlow and all that earlier
    modules have left: half a second each, and minutes in tests that free things by chance.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _untold() -> None:
    """Each test is told of failures as a fresh process is."""
    errors._told.clear()
