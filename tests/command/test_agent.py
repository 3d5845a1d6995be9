"""What the command does in a kernel, beside the cells."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import tensorflow as tf
from IPython.core.interactiveshell import InteractiveShell

import nbfn
from nbfn.command.agent import Agent
from nbfn.command.collected import CollectedRecords
from nbfn.protocol import PROTOCOL
from nbfn.site import current_cell
from tests.harness.shells import bare_shell


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    with bare_shell() as made:
        yield made


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


def test_of_a_function_that_a_helper_drops_the_kernel_has_nothing_left() -> None:
    agent, known = Agent(), CollectedRecords()
    shared, own = tf.Variable(1.0, name="shared"), tf.Variable(1.0, name="own")

    def helper() -> None:
        step = nbfn.function(lambda x: x * shared + own)
        for n in (1, 2):
            step(tf.ones([n]))

    helper()
    gc.collect()
    stays = nbfn.function(lambda x: x * shared)
    stays(tf.ones([1]))
    known.take(agent.take_changes())
    (dropped,) = known.state.functions.keys() - known.now.functions.keys()
    for name in ("traces", "retraces"):
        assert dropped in {each.function for each in getattr(known.state, name).values()}
        assert dropped not in {each.function for each in getattr(known.now, name).values()}
    names = {each.name for each in known.now.variables.values()}
    assert ("shared" in names, "own" in names) == (True, False)
    assert "own" in {each.name for each in known.state.variables.values()}
