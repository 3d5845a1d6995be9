"""Rewrites a call in the user's source with some of its arguments changed."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Collection, Mapping, Sequence

from nbfn.code import copy_of_tree
from nbfn.site import Site

# Parsing this much takes about a second.
_MAX_CHARACTERS = 300_000

_METHODS = ("", ".explain", ".run", ".values")
"""Suffixes of the callee: the function, or a method with the same arguments."""


def rewritten_call(
    site: Site,
    name: str,
    parameters: Sequence[str],
    changes: Mapping[str, str],
    without: Collection[str] = (),
) -> str | None:
    """Returns the text of a call with some arguments wrapped.

    Args:
        site: Where the call is.
        name: The callee, such as ``step`` or ``model.step``; calls of its methods that take the
            same arguments, such as ``step.explain``, also match.
        parameters: The names of its parameters, in order.
        changes: For each parameter, a text with ``{}`` for the argument.
        without: Keywords that are left out.

    Returns:
        The new call; None if the call or one of the arguments is not found.
    """
    if site.file is None or site.span is None:
        return None
    for found in _calls("".join(linecache.getlines(site.file))):
        span = (found.lineno, found.end_lineno, found.col_offset, found.end_col_offset)
        if span == site.span and ast.unparse(found.func) in (name + each for each in _METHODS):
            break
    else:
        return None
    call = copy_of_tree(found)
    call.func = ast.Name(name)
    call.keywords = [each for each in call.keywords if each.arg not in without]
    for parameter, change in changes.items():
        if not _change(call, parameters, parameter, change):
            return None
    return ast.unparse(call)


def _change(call: ast.Call, parameters: Sequence[str], parameter: str, change: str) -> bool:
    """Changes one argument; False if it is not in the call."""
    for keyword in call.keywords:
        if keyword.arg == parameter:
            keyword.value = _changed_argument(keyword.value, change)
            return True
    position = parameters.index(parameter) if parameter in parameters else len(call.args)
    if position >= len(call.args) or any(
        isinstance(argument, ast.Starred) for argument in call.args[: position + 1]
    ):
        return False
    call.args[position] = _changed_argument(call.args[position], change)
    return True


def _changed_argument(argument: ast.expr, change: str) -> ast.expr:
    return ast.parse(change.format(f"({ast.unparse(argument)})"), mode="eval").body


@functools.lru_cache(maxsize=8)
def _calls(source: str) -> tuple[ast.Call, ...]:
    if len(source) > _MAX_CHARACTERS:
        return ()
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Call))
