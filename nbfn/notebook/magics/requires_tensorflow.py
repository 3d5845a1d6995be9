"""Makes magics report a missing TensorFlow in one line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics

from nbfn.errors import without_tensorflow


class RequiresTensorFlowMagics(Magics):
    """Magics that report in one line if TensorFlow is missing or cannot be imported."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        # After `super().__init__`, which replaces the names in the tables by bound methods.
        for table in self.magics.values():
            for name, magic in table.items():
                table[name] = _explain_missing(magic)


def _explain_missing(magic: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(magic)
    def run(*arguments: Any) -> Any:
        __tracebackhide__ = True
        try:
            return magic(*arguments)
        except Exception as error:
            replacement = without_tensorflow(error)
            if replacement is None:
                raise
            raise UsageError(str(replacement)) from None

    return run
