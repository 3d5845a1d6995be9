"""`nbfn.nn` for ``import nbfn.nn as nn``, which needs a file: it is the package `nbfn.modules`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nbfn import modules

if TYPE_CHECKING:
    from nbfn.modules import *  # noqa: F403, which names type checkers find

sys.modules[__name__] = modules
