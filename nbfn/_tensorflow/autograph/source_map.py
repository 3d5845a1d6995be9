"""AutoGraph around nbfn's own code, which it leaves alone, and the user's, which it converts.

TensorFlow's own library is such code too: AutoGraph skips it, and where it calls a function of the
user's, as ``Dataset.map`` does, that one is converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any

from nbfn._tensorflow.autograph import conversion
from nbfn._tensorflow.base import internal

_ag_ctx: Any = internal("autograph.core.ag_ctx")
_api: Any = internal("autograph.impl.api")
_config = internal("autograph.core.config")

_KNOWN = all(hasattr(_api, name) for name in ("converted_call", "converter")) and all(
    hasattr(_ag_ctx, name) for name in ("ControlStatusCtx", "Status", "control_status_ctx")
)
_status: Any = _ag_ctx.Status if _KNOWN else None


def leave_alone(package: str) -> None:
    """Has AutoGraph call the functions of a package as they are, as it does with Keras's.

    Converting nbfn's own functions takes 1.3 s at the first call of one traced function from
    another. AutoGraph asks the rules in order for the module of each function that converted code
    calls; the rule that is added answers for this package alone. Where there are no such rules,
    the functions are converted: the same results, later.
    """
    rules, rule = getattr(_config, "CONVERSION_RULES", None), getattr(_config, "DoNotConvert", None)
    if isinstance(rules, tuple) and rule is not None:
        _config.CONVERSION_RULES = (rule(package), *rules)


def call_as_here(fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Calls the user's function, converted if the code that called nbfn is converted."""
    if _KNOWN and _ag_ctx.control_status_ctx().status is _status.ENABLED:
        return Conversion().call(fn, args, kwargs)
    return fn(*args, **kwargs)


class Conversion:
    """Whether AutoGraph converts code at the place where this was made.

    Where TensorFlow does not tell, functions are called as they are.
    """

    def __init__(self, by_default: bool = False, always: bool = False) -> None:
        """Looks at the code that runs now on this thread.

        Args:
            by_default: Whether to convert where nothing says so, as a tf.function does.
            always: Whether to convert also where the code around the call is not converted.
        """
        self._context: Any = None
        if _KNOWN:
            here: Any = _ag_ctx.control_status_ctx()
            is_on = always or (by_default and here.status is _status.UNSPECIFIED)
            self._context = _ag_ctx.ControlStatusCtx(_status.ENABLED) if is_on else here

    def call(self, fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Calls the user's function as if it were called at that place, on this thread."""
        if self._context is None:
            return fn(*args, **kwargs)
        with self._context:
            if self._context.status is not _status.ENABLED:
                return fn(*args, **kwargs)
            # `tf_convert` would do the same, but put every error into one of another class.
            options = _api.converter.ConversionOptions(
                recursive=True, user_requested=False, optional_features=None
            )
            call: Any = _api.converted_call
            return call(fn, tuple(args), dict(kwargs), options=options)


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


def raised_in_python(error: BaseException) -> bool:
    """Returns whether code that AutoGraph converted has raised an error; False if it cannot tell."""
    return hasattr(error, "ag_error_metadata")
