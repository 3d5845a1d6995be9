"""The network of `nets`, initialised and bound."""

from __future__ import annotations

from typing import Any

import pytest

from nbfn import nn
from tests.modules.nets import Net, X


@pytest.fixture
def variables() -> dict[str, Any]:
    return Net().init(nn.key(0), X)


@pytest.fixture
def net(variables: Any) -> Net:
    return Net().bind(variables)
