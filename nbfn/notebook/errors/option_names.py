"""Translates keyword arguments in messages to options of ``%%tf_function``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from nbfn.errors import NbfnError

_SWITCHES = {
    "local_state=True": "--local-state",
    "jit_compile=True": "--jit",
    "autograph=False": "--no-autograph",
    "reduce_retracing=True": "--relax",
    "input_signature=": "--signature",
}
_CHOICE = re.compile(r"\b(on_stale|on_limit|max_traces)(?:(=)(\"?)(\w+)\3)?(?!\w)")
_KEYWORD = re.compile("|".join([_CHOICE.pattern, *map(re.escape, _SWITCHES)]))


def as_options(text: str) -> str:
    """Replaces Python's keyword arguments in a message by options of ``%%tf_function``."""
    for keyword, option in _SWITCHES.items():
        text = text.replace(keyword, option)
    return _CHOICE.sub(_option, text)


def _option(found: re.Match[str]) -> str:
    name = f"--{found[1].replace('_', '-')}"
    return f"{name} {found[4]}" if found[2] else name


def names_option(text: str) -> str | None:
    """Returns the first option that a message mentions as a keyword argument."""
    found = _KEYWORD.search(text)
    return None if found is None else as_options(found[0])


@contextmanager
def named_as_options(function: str) -> Iterator[None]:
    """Translates keyword arguments in errors about a cell's function to options.

    Args:
        function: The function's name. Errors about other functions are not changed.
    """
    __tracebackhide__ = True
    try:
        yield
    except NbfnError as error:
        if error.args and isinstance(error.args[0], str) and f"`{function}`" in error.args[0]:
            error.args = (as_options(error.args[0]), *error.args[1:])
        raise
