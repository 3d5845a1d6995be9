"""`nbfn.nn` for ``import nbfn.nn as nn``, which needs a file: it is the package `nbfn.modules`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from nbfn import modules
from nbfn.modules import activations, errors, initializers

if TYPE_CHECKING:
    from nbfn.modules import *  # noqa: F403, which names type checkers find

sys.modules[__name__] = modules
# Else `import nbfn.nn.initializers` would load the file a second time, with other classes.
for each in (activations, errors, initializers):
    sys.modules[each.__name__.replace(modules.__name__, __name__)] = each
