"""A with-block that warns if it is created without ``with``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from nbfn.site import warn


class WithBlock:
    """The with-block that `stance` and `expect_traces` return.

    `call` is the source text of the call that made it; `enter` makes the context manager.
    """

    def __init__(self, call: str, enter: Callable[[], AbstractContextManager[None]]) -> None:
        self._call = call
        self._enter = enter
        self._entered: list[AbstractContextManager[None]] = []
        self._used = False

    def __enter__(self) -> None:
        self._used = True
        block = self._enter()
        block.__enter__()
        self._entered.append(block)

    def __exit__(self, *error: Any) -> bool | None:
        return self._entered.pop().__exit__(*error)

    def __call__(self, function: Any) -> Any:
        """Decorates a function: each call runs in a block of its own, on its thread."""
        self._used = True

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self._enter():
                return function(*args, **kwargs)

        return inside

    def __repr__(self) -> str:
        self._used = True  # the text shown is the warning
        return f"<{self._advice()}>"

    def _advice(self) -> str:
        return f"{self._call} does nothing by itself; write `with {self._call}:`"

    def __del__(self) -> None:
        if not (self._used or sys.is_finalizing()):
            warn(self._advice())
