"""A cell as somebody wrote it, with the notebook above it."""

from __future__ import annotations

import textwrap
from dataclasses import KW_ONLY, dataclass

_IMPORTS = """\
import numpy as np
import tensorflow as tf
tf.keras.utils.set_random_seed(1)
"""


@dataclass(frozen=True)
class Story:
    """A cell and what ran before it.

    Attributes:
        name: What it is about.
        setup: The cell that ran first; the imports of every notebook are put before it.
        cell: The cell that is run several times.
        draws: A called layer or function draws random numbers, so that values are not compared.
        seconds: The cell takes the time, so that its floats are not compared.
        packages: What must be installed for it.
    """

    name: str
    setup: str
    cell: str
    _: KW_ONLY
    draws: bool = False
    seconds: bool = False
    packages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "setup", _IMPORTS + textwrap.dedent(self.setup).strip() + "\n")
        object.__setattr__(self, "cell", textwrap.dedent(self.cell).strip() + "\n")
