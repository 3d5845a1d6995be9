"""The kernels of all hours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness import forked_kernels
from tests.hours.playing.kernels import Forks


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    address = forked_kernels.address_of("hours")
    if address is None:
        pytest.skip("the kernels are forked")
    with Forks(address) as made:
        yield made
