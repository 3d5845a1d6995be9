"""AutoGraph around the user's functions that nbfn calls where TensorFlow would not convert them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.autograph import conversion
from nbfn._tensorflow.base import internal

_ag_ctx = internal("autograph.core.ag_ctx")
_api = internal("autograph.impl.api")

_autograph: Any = getattr(getattr(tf, "__internal__", None), "autograph", None)
_KNOWN = all(hasattr(_autograph, name) for name in ("control_status_ctx", "tf_convert"))


def converting(fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Calls the user's function converted, whatever is said of the code around the call.

    Where TensorFlow does not let one say so, it is called as it is.
    """
    if _ag_ctx is None:
        return fn(*args, **kwargs)
    with _ag_ctx.ControlStatusCtx(_ag_ctx.Status.UNSPECIFIED):
        return Conversion(by_default=True).call(fn, args, kwargs)


class Conversion:
    """Whether AutoGraph converts code at the place where this was made.

    Where TensorFlow does not tell, functions are called as they are.
    """

    def __init__(self, by_default: bool = False) -> None:
        """Looks at the code that runs now on this thread.

        Args:
            by_default: Whether to convert where nothing says so, as a tf.function does.
        """
        self._by_default = by_default
        self._context = _autograph.control_status_ctx() if _KNOWN else None

    def call(self, fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Calls the user's function as if it were called at that place, on this thread."""
        if self._context is None:
            return fn(*args, **kwargs)
        name = getattr(self._context.status, "name", "")
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._context)
            if name == "ENABLED" or (name == "UNSPECIFIED" and self._by_default):
                called = _autograph.tf_convert(_called, self._context, user_requested=True)
                return called(fn, args, dict(kwargs))
            return fn(*args, **kwargs)


def _called(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    # Converted itself, so that conversion is on also below functions that are never converted.
    return fn(*args, **kwargs)


def origins(code: CodeType) -> set[tuple[str, int]]:
    """File and line of what AutoGraph made code from.

    Returns:
        Those lines that are known; none if AutoGraph did not make it, or does not tell.
    """
    own = {line for _, _, line in code.co_lines() if line is not None}
    found: set[tuple[str, int]] = set()
    try:
        for made in _conversions():
            if getattr(made.module, "__file__", None) == code.co_filename:
                for place, origin in made.source_map.items():
                    if place.lineno in own:
                        found.add((origin.loc.filename, origin.loc.lineno))
    except (AttributeError, RuntimeError):
        return set()
    return found


def original_line(file: str, line: int) -> tuple[str, int, str] | None:
    """File, line and function of what AutoGraph made a line of one of its files from.

    Returns:
        None if the line is none of AutoGraph's, or where that is not told.
    """
    try:
        for made in _conversions():
            if getattr(made.module, "__file__", None) == file:
                origin = made.source_map.get((file, line))
                if origin is not None:
                    return (
                        origin.loc.filename,
                        origin.loc.lineno,
                        origin.function_name or "<module>",
                    )
    except (AttributeError, RuntimeError):
        return None
    return None


def _conversions() -> Iterator[Any]:
    """What AutoGraph has converted so far, each with its module and its source map."""
    for transpiler in (getattr(_api, "_TRANSPILER", None), conversion.transpiler()):
        if transpiler is not None:
            for by_options in list(transpiler._cache._cache.values()):
                yield from list(by_options.values())
