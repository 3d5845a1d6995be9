"""Offers to find where NaN or infinity comes from, below a cell that shows such a result."""

from __future__ import annotations

import ast
import sys
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

MAX_ITEMS = 100
"""Maximum number of items of a result that are looked at."""


def offer_numerics(shell: InteractiveShell, result: Any) -> None:
    """Displays a button for ``%tf_numerics`` if a cell ends with a call that gave NaN or infinity.

    Only where the call is of a function that nbfn observes, and the cell displays its result.
    """
    call = _last_call(getattr(result.info, "raw_cell", None))
    if result.result is None or call is None or "nbfn.functions" not in sys.modules:
        return
    from nbfn.functions.calls.value_summary import is_finite
    from nbfn.notebook.magics.line_arguments import named_value, show
    from nbfn.views.pages.results import not_finite_outline

    # Before the function is looked up: that reads attributes of the user's objects once more.
    if is_finite(_items(result.result)):
        return
    try:
        function = named_value(shell, ast.unparse(call.func))
    except UsageError:  # a function that nbfn does not observe
        return
    if hasattr(function, "numerics"):
        show(not_finite_outline(ast.unparse(call)))


def _items(value: Any) -> list[Any]:
    """Returns a value, or the items of a small container: it may be any result of a cell."""
    if isinstance(value, dict):
        value = list(value.values())
    items = list(value) if isinstance(value, list | tuple) and len(value) <= MAX_ITEMS else [value]
    return [each for each in items if not isinstance(each, list | tuple | dict)]


def _last_call(source: Any) -> ast.Call | None:
    """Returns the call that a cell of plain Python ends with."""
    try:
        last = ast.parse(source).body[-1]
    except (SyntaxError, TypeError, ValueError, IndexError):  # magics are no Python
        return None
    is_call = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
    return last.value if is_call else None
