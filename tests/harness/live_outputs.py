"""A plugin of pytest: nbval does not compare outputs that go on changing after their cell.

nbval sees such an output as it was first, and the notebook has it as it was last.
"""

from __future__ import annotations

from typing import Any

import pytest

from nbfn import protocol


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if hasattr(item, "compare_outputs"):
            item.compare_outputs = _but_for_live(item.compare_outputs)


def _but_for_live(compare: Any) -> Any:
    def compared(test: list[Any], ref: list[Any], skip_compare: Any = None) -> Any:
        return compare(_lasting(test), _lasting(ref), skip_compare)

    return compared


def _lasting(outputs: list[Any]) -> list[Any]:
    return [each for each in outputs if protocol.MIME_TYPE not in each.get("data", {})]
