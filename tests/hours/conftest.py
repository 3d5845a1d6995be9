"""The process that the kernels of all hours are forked from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hours.playing.kernels import Forks


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    with Forks() as made:
        yield made
