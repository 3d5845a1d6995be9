"""The Python function that a segment is traced from; its lines are the cell's."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow

_PROMISE, _CALL = "nbfn·promise", "nbfn·call"
_AS_THEY_ARE = ("tensorflow", "builtins", "math")
Keep = Callable[[Mapping[str, Any]], dict[str, Any]]


def function_of(
    statements: Sequence[ast.stmt],
    name: str,
    parameters: Sequence[str],
    writes: Sequence[str],
    keep: Keep,
    compiled: Callable[[ast.Module], CodeType],
    namespace: dict[str, Any],
    closed: Mapping[str, Any],
    *,
    autograph: bool,
) -> FunctionType:
    """Makes a function of statements.

    Args:
        statements: The statements.
        name: The function's name.
        parameters: The names that it takes.
        writes: The names that it gives to `keep`.
        keep: Is given the names and their values, and gives what the function returns.
        compiled: Compiles a module.
        namespace: Where its other names are looked up.
        closed: Names that only the function knows, and their values.
        autograph: Whether AutoGraph converts the functions that it calls. The statements hold no
            control flow themselves.
    """
    body = [copy.deepcopy(each) for each in statements]
    if autograph:
        body = [_Calls().visit(each) for each in body]
    tree = ast.parse("def make():\n def step(): pass\n return step")
    maker: Any = tree.body[0]
    step = maker.body[0]
    made = ast.Dict([ast.Constant(n) for n in writes], [ast.Name(n, ast.Load()) for n in writes])
    ending = ast.Return(ast.Call(ast.Name(_PROMISE, ast.Load()), [made], []))
    for each in ast.walk(tree):
        ast.copy_location(each, statements[0])
    for each in ast.walk(ending):
        ast.copy_location(each, statements[-1])
    known = {_PROMISE: _all_of(keep), _CALL: _converted, **closed}
    maker.args.args = [ast.arg(name) for name in known]
    step.args.args = [ast.arg(each) for each in parameters]
    step.body = [*body, ending]
    scope: dict[str, Any] = {}
    exec(compiled(ast.fix_missing_locations(tree)), namespace, scope)
    function: FunctionType = scope["make"](*known.values())
    function.__name__ = function.__qualname__ = name
    function.__module__ = namespace.get("__name__", "__main__")
    return function


class _Calls(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id.startswith("nbfn·"):
            return node
        name = ast.copy_location(ast.Name(_CALL, ast.Load()), node)
        return ast.copy_location(ast.Call(name, [node.func, *node.args], node.keywords), node)


def _converted(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    module = getattr(function, "__module__", None) or type(function).__module__
    if isinstance(function, type) or str(module).partition(".")[0] in _AS_THEY_ARE:
        return function(*args, **kwargs)
    return _tensorflow.converting(function, args, kwargs)


def _all_of(keep: Keep) -> Keep:
    """Has all that was computed run before the results: a value nobody uses may still raise."""

    def kept(made: Mapping[str, Any]) -> dict[str, Any]:
        results = keep(made)
        idle = _tensorflow.unused_operations(results.values())
        if not idle:
            return results
        with tf.control_dependencies(idle):
            if not any(isinstance(each, tf.Tensor) for each in results.values()):
                return {**results, "done": tf.identity(tf.constant(True))}
            return {
                name: tf.identity(value) if isinstance(value, tf.Tensor) else value
                for name, value in results.items()
            }

    return kept
