"""A module of the user's beside the notebook, with autoreload on."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ABOVE = "# A line.\n\n\n# And another."
"""Moves what stands below it, so that IPython patches the changed functions only."""

_names = itertools.count(1)


def values(shell: Any, expression: str) -> Any:
    """The tensors that an expression gives in the notebook, as Python's numbers."""
    return [each.numpy().tolist() for each in eval(expression, shell.user_ns)]


class Beside:
    """A module in a file, edited as in an editor.

    Attributes:
        name: The module's name.
        path: Its file.
    """

    def __init__(self, folder: Path, run: Callable[[str], Any]) -> None:
        self._run = run
        self.name = f"beside_{next(_names)}"
        self.path = folder / f"{self.name}.py"
        self._time = time.time_ns()

    def write(self, text: str, at_once: bool = False) -> None:
        """Saves the file, which is newer than ever before.

        Args:
            text: What it holds from now on.
            at_once: Whether IPython has not seen yet what it held before, and so must reload all.
        """
        if not at_once:
            self._run("None")
        self.path.write_text(text)
        self._time += 10**10
        os.utime(self.path, ns=(self._time, self._time))

    def line_of(self, text: str) -> int:
        """The number of the first line that holds a text."""
        lines = self.path.read_text().splitlines()
        return next(i for i, line in enumerate(lines, 1) if text in line)


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: Any, run: Callable[[str], Any]) -> Iterator[Beside]:
    monkeypatch.syspath_prepend(str(tmp_path))
    made = Beside(tmp_path, run)
    run("%load_ext autoreload\n%autoreload 2")
    yield made
    run("%autoreload 0")
    sys.modules.pop(made.name, None)
