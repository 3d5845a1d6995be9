"""Keeps AutoGraph from converting nbfn's code, but lets it convert user functions that nbfn calls.

AutoGraph treats TensorFlow's library in the same way: it converts functions passed to
``Dataset.map``, but not ``Dataset.map``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

from nbfn._tensorflow.base import internal

_ag_ctx: Any = internal("autograph.core.ag_ctx", "ControlStatusCtx", "Status", "control_status_ctx")
_api: Any = internal("autograph.impl.api", "converted_call", "converter")
_config = internal("autograph.core.config", "CONVERSION_RULES", "DoNotConvert")

_KNOWN = None not in (_api, _ag_ctx)
_status: Any = _ag_ctx.Status if _KNOWN else None
_CONVERTED_CALL = getattr(getattr(_api, "converted_call", None), "__code__", None)


def leave_alone(package: str) -> None:
    """Makes AutoGraph call the functions of a package without conversion.

    Converting nbfn's own functions takes 1.3 s at the first call of a traced function from another.
    AutoGraph asks its rules in order for the module of each function that converted code calls; the
    added rule matches this package only. Without such rules the functions are converted, which is
    slower with equal results.
    """
    # First, because the first rule that matches a module decides (TensorFlow 2.21,
    # `conversion.is_allowlisted`).
    if _config is not None and isinstance(_config.CONVERSION_RULES, tuple):
        _config.CONVERSION_RULES = (_config.DoNotConvert(package), *_config.CONVERSION_RULES)


def call_as_here(fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Calls a user function, converted if the code that called nbfn is converted."""
    if _KNOWN and _ag_ctx.control_status_ctx().status is _status.ENABLED:
        return Conversion().call(fn, args, kwargs)
    return fn(*args, **kwargs)


class Conversion:
    """Stores whether AutoGraph converts code at the place of creation.

    If the internals are missing, functions are called without conversion.
    """

    def __init__(self, by_default: bool = False, always: bool = False) -> None:
        """Reads the state of AutoGraph on this thread.

        Args:
            by_default: Whether to convert if the state is unspecified, as a tf.function does.
            always: Whether to convert even if the calling code is not converted.
        """
        self._context: Any = None
        if _KNOWN:
            here: Any = _ag_ctx.control_status_ctx()
            is_on = always or (by_default and here.status is _status.UNSPECIFIED)
            self._context = _ag_ctx.ControlStatusCtx(_status.ENABLED) if is_on else here

    def call(self, fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Calls a user function on this thread as if it were called at the place of creation."""
        if self._context is None:
            return fn(*args, **kwargs)
        with self._context:
            if self._context.status is not _status.ENABLED:
                return fn(*args, **kwargs)
            # Not `tf_convert`, which raises errors of another class. With `user_requested=True`,
            # functions of libraries would be converted, too (TensorFlow 2.21, `converted_call`).
            options = _api.converter.ConversionOptions(
                recursive=True, user_requested=False, optional_features=None
            )
            call: Any = _api.converted_call
            return call(fn, tuple(args), dict(kwargs), options=options)


def converted_from(frame: FrameType) -> Any:
    """Returns the user function whose converted code a frame begins to run.

    Returns:
        None if AutoGraph does not run the frame, or if the internals are missing.
    """
    caller = frame.f_back
    if caller is None or not _KNOWN or caller.f_code is not _CONVERTED_CALL:
        return None
    # `converted_call` names the function it converts so (TensorFlow 2.19 to 2.21).
    entity = caller.f_locals.get("target_entity")
    function = getattr(entity, "__func__", entity)
    return function if hasattr(function, "__code__") else None


def origins(code: CodeType) -> set[tuple[str, int]]:
    """Returns the file and line of the sources from which AutoGraph made code.

    Returns:
        The known lines; empty if AutoGraph did not make the code or the internals are missing.
    """
    own = {line for _, _, line in code.co_lines() if line is not None}
    found: set[tuple[str, int]] = set()
    try:
        for converted in _conversions():
            if getattr(converted.module, "__file__", None) == code.co_filename:
                for place, origin in converted.source_map.items():
                    if place.lineno in own:
                        found.add((origin.loc.filename, origin.loc.lineno))
    except (AttributeError, RuntimeError):  # RuntimeError: another thread converts a function
        return set()
    return found


def original_line(file: str, line: int) -> tuple[str, int, str] | None:
    """Returns the file, line and function of the source of a line generated by AutoGraph.

    Returns:
        None if AutoGraph did not generate the line or the internals are missing.
    """
    try:
        for converted in _conversions():
            if getattr(converted.module, "__file__", None) == file:
                origin = converted.source_map.get((file, line))
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
    """Yields AutoGraph's conversions so far, each with its module and source map."""
    # Copies, because another thread may convert a function meanwhile.
    for by_options in list(_api._TRANSPILER._cache._cache.values()):
        yield from list(by_options.values())


def raised_in_python(error: BaseException) -> bool:
    """Returns whether code that AutoGraph converted has raised an error."""
    # Converted code adds it to each error that passes through (TensorFlow 2.21).
    return hasattr(error, "ag_error_metadata")
