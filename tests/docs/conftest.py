"""A shell for each page, in a folder of its own."""

from __future__ import annotations

import atexit
from collections.abc import Iterator

import keras
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbfn.functions.retraces import definitions
from nbfn.functions.segments.times import SegmentTimes


@pytest.fixture
def shell(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.chdir(tmp_path)
    keras.utils.clear_session(free_memory=False)  # whose models and layers are numbered on
    monkeypatch.setattr(definitions, "_seen", {})  # pages use the same names
    for name in ("is_slower_as_graph", "is_known_to_be_short"):  # on a busy machine
        monkeypatch.setattr(SegmentTimes, name, lambda _: False)
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(
        config=Config({"HistoryManager": {"enabled": False}}), user_ns={"__name__": "__main__"}
    )
    yield made
    made.run_cell("%reload_ext nbfn\n%tf_stance default\n%tf_watch --stop").raise_error()
    made.run_cell("%unload_ext nbfn").raise_error()
    InteractiveShell.clear_instance()
    atexit.unregister(made.atexit_operations)  # which keeps the shell, and collects all garbage
