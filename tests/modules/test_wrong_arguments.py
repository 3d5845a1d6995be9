"""An argument of another kind raises an error that names what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from nbfn import nn


class Rates(nn.Spec):
    rate: int = 3


class NoInitializer(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        return x * self.param("scale", 3, [2])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(lambda: nn.compact(3), "method", id="compact"),  # type: ignore[type-var]
        pytest.param(lambda: nn.nowrap(3), "method", id="nowrap"),  # type: ignore[type-var]
        pytest.param(lambda: nn.share_scope(3, 4), "modules", id="share_scope"),
        pytest.param(lambda: Rates.from_superset(3), "mapping", id="from_superset"),  # type: ignore[arg-type]
        pytest.param(lambda: Rates.from_json(None), "JSON", id="from_json"),  # type: ignore[arg-type]
        pytest.param(
            lambda: NoInitializer().init(nn.key(0), tf.ones([2])), "initializer", id="param"
        ),
    ],
)
def test_what_was_expected_is_named(call: Callable[[], object], expected: str) -> None:
    with pytest.raises((TypeError, nn.SpecError), match=expected):
        call()
