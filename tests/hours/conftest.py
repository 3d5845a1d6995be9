"""The process that the kernels of all hours are forked from."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.hours.playing.kernels import Forks


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    if not hasattr(os, "fork"):
        pytest.skip("the kernels are forked")
    with Forks() as made:
        yield made
