"""A shell of IPython for a test."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbfn.notebook.extension import unload

_Shell = TypeVar("_Shell", bound=InteractiveShell)


@contextmanager
def bare_shell(kind: type[_Shell] = InteractiveShell) -> Iterator[_Shell]:
    """A shell without nbfn, which is unloaded at the end if the test has loaded it."""
    kind.clear_instance()
    shell = kind.instance(
        config=Config({"HistoryManager": {"enabled": False}}), user_ns={"__name__": "__main__"}
    )
    try:
        yield shell
    finally:
        unload(shell)
        kind.clear_instance()
        atexit.unregister(shell.atexit_operations)  # which keeps the shell
