"""Converts functions with a transpiler that supports more of Python than AutoGraph's.

AutoGraph's own transpiler is not changed; this one is used for the functions given to it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import tokenize
import weakref
from collections.abc import Mapping
from types import CodeType
from typing import Any

from nbfn._tensorflow.autograph.rewriting import is_readable, rewritten
from nbfn._tensorflow.base import internal

_api = internal("autograph.impl.api")
_tf_decorator = internal("util.tf_decorator")
_tf_stack = internal("util.tf_stack")

_PyToTF: Any = getattr(_api, "PyToTF", None)
_CAN_CONVERT = (
    hasattr(_PyToTF, "transform_ast")
    and all(
        hasattr(_api, name)
        for name in ("StackTraceMapper", "_attach_error_metadata", "converted_call", "converter")
    )
    and all(hasattr(_tf_decorator, name) for name in ("unwrap", "rewrap"))
    and hasattr(_tf_stack, "CurrentModuleFilter")
)
_readable: weakref.WeakKeyDictionary[CodeType, bool] = weakref.WeakKeyDictionary()


if _CAN_CONVERT:

    class _Transpiler(_PyToTF):  # type: ignore[misc]
        """AutoGraph's transpiler, after `rewritten` has replaced some expressions by statements."""

        def transform_ast(self, node: Any, ctx: Any) -> Any:
            return super().transform_ast(rewritten(node, ctx.namer), ctx)

    _transpiler = _Transpiler()


def transpiler() -> Any:
    """Returns nbfn's transpiler; None if TensorFlow lacks what it derives from."""
    return _transpiler if _CAN_CONVERT else None


def as_statements(fn: Any, options: Any) -> Any:
    """Wraps a function so that TensorFlow traces it with more of Python converted.

    These are ``:=``, ``match``, ``else`` of loops, and nested conditionals in the function itself.

    Args:
        fn: The function that a tf.function is about to trace, with TensorFlow's decorators.
        options: Its ``experimental_autograph_options``.

    Returns:
        `fn` itself, if it contains none of these or TensorFlow lacks the internals.
    """
    if not _CAN_CONVERT:
        return fn
    target = _tf_decorator.unwrap(fn)[1]
    if _is_readable(target):
        return fn

    def converted(*args: Any, **kwargs: Any) -> Any:
        return _call(target, args, kwargs, options)

    functools.update_wrapper(converted, target)
    # Marks it as converted, so that AutoGraph does not convert it again (TensorFlow 2.21).
    converted.autograph_info__ = None  # type: ignore[attr-defined]
    return _tf_decorator.rewrap(fn, target, converted)


def _is_readable(target: Any) -> bool:
    """Returns whether AutoGraph can convert a function without rewriting, as far as known."""
    code = getattr(target, "__code__", None)
    if code is None or hasattr(target, "autograph_info__"):
        return True
    if code not in _readable:
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(target)))
        except (OSError, SyntaxError, TypeError, tokenize.TokenError):
            return True
        _readable[code] = is_readable(tree, ast)
    return _readable[code]


def _call(target: Any, args: Any, kwargs: Mapping[str, Any], options: Any) -> Any:
    """Calls a function as AutoGraph does, converted by nbfn's transpiler."""
    api: Any = _api
    # The options of `py_func_from_autograph`, the steps of `converted_call` (TensorFlow 2.21).
    conversion = api.converter.ConversionOptions(
        recursive=True, user_requested=True, optional_features=options
    )
    try:
        context = api.converter.ProgramContext(options=conversion)
        converted, module, source_map = _transpiler.transform(target, context)
    except Exception:  # AutoGraph reports what it cannot convert
        return api.converted_call(target, args, dict(kwargs), options=conversion)
    converted.ag_module, converted.ag_source_map = module, source_map
    if inspect.ismethod(target):
        # TensorFlow binds methods to an object that holds their instance weakly as `target`.
        args = (getattr(target.__self__, "target", target.__self__), *args)
    with api.StackTraceMapper(converted), _tf_stack.CurrentModuleFilter():
        try:
            return converted(*args, **kwargs)
        except Exception as error:
            api._attach_error_metadata(error, converted)
            raise
