"""Loading and unloading nbfn leaves one of each hook, and none."""

from __future__ import annotations

import comm

from nbfn.notebook.channel import TARGET
from nbfn.site import current_cell


def hooks(shell) -> int:
    callbacks = [*shell.events.callbacks["pre_run_cell"], *shell.events.callbacks["post_run_cell"]]
    return sum("nbfn" in getattr(each, "__module__", "") for each in callbacks)


def test_loading_twice_is_loading_once(shell) -> None:
    shell.run_cell("%reload_ext nbfn").raise_error()
    assert hooks(shell) == 2
    assert TARGET in comm.get_comm_manager().targets


def test_unloading_takes_everything_back(shell) -> None:
    shell.run_cell("%unload_ext nbfn").raise_error()
    assert hooks(shell) == 0
    assert TARGET not in comm.get_comm_manager().targets
    assert shell.find_cell_magic("tf_function") is None
    shell.run_cell("%load_ext nbfn").raise_error()
    assert hooks(shell) == 2


def test_unloading_leaves_no_cell_running(shell) -> None:
    shell.run_cell("%unload_ext nbfn").raise_error()
    assert current_cell() is None
    shell.run_cell("%load_ext nbfn").raise_error()
    assert current_cell() is None


def test_help_shows_the_options(shell) -> None:
    text = shell.find_cell_magic("tf_function").__doc__
    assert "--max-traces" in text
    assert "name of the function that the cell becomes" in text
