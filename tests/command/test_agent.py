"""What the command does in a kernel, beside the cells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbfn.notebook.extension import unload
from nbfn.protocol import PROTOCOL
from nbfn.site import current_cell


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(
        config=Config({"HistoryManager": {"enabled": False}}), user_ns={"__name__": "__main__"}
    )
    yield made
    unload(made)
    InteractiveShell.clear_instance()


def test_loading_nbfn_beside_the_cells_is_no_cell_and_leaves_no_name(
    shell: InteractiveShell,
) -> None:
    names = set(shell.user_ns)
    asked = "__import__('nbfn.command.agent', fromlist=['_']).begin()"
    answer = shell.user_expressions({"it": asked})["it"]
    assert answer["data"]["application/json"]["protocol"] == PROTOCOL
    assert current_cell() is None
    assert set(shell.user_ns) == names
    assert shell.execution_count == 1
    shell.run_cell("%load_ext nbfn", store_history=True).raise_error()
    assert current_cell() is None
