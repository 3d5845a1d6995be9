"""A shell for each page, in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator

import keras
import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbfn.functions.retraces import definitions
from nbfn.functions.segments.speed import SegmentTimes
from tests.harness.shells import bare_shell


@pytest.fixture
def shell(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.chdir(tmp_path)
    keras.utils.clear_session(free_memory=False)  # whose models and layers are numbered on
    monkeypatch.setattr(definitions, "_seen", {})  # pages use the same names
    for name in ("is_slower_as_graph", "is_known_to_be_short"):  # on a busy machine
        monkeypatch.setattr(SegmentTimes, name, lambda _: False)
    with bare_shell() as made:
        yield made
        made.run_cell("%reload_ext nbfn\n%tf_stance default\n%tf_watch --stop").raise_error()
