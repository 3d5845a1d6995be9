"""Builds the Python function that a segment is traced from; its lines are the cell's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import copy_of_tree, package_of

# "·" (U+00B7) is allowed inside identifiers, and user code hardly ever has it.
_GIVEN, _KEEP, _CALL = "nbfn·given", "nbfn·keep", "nbfn·call"
_FUNCTION = "nbfn·step"
_AS_THEY_ARE = ("tensorflow", "builtins", "math")
"""Packages whose functions are called directly: there is nothing to convert in them."""
Keep = Callable[[Mapping[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Surroundings:
    """The environment in which the functions of a cell's segments are made.

    Attributes:
        namespace: The notebook's namespace.
        compile_module: Compiles a module.
        options: Options of ``nbfn.function``.
        relaxing: The code with which the user can let one trace serve more calls.
    """

    namespace: dict[str, Any]
    compile_module: Callable[[ast.Module], CodeType]
    options: Mapping[str, Any]
    relaxing: str | None = None


def function_of(
    statements: Sequence[ast.stmt],
    name: str,
    parameters: Sequence[str],
    writes: Sequence[str],
    begin: Callable[[Mapping[str, Any]], None],
    keep: Keep,
    surroundings: Surroundings,
    closed: Mapping[str, Any],
) -> FunctionType:
    """Builds a function from statements. AutoGraph converts the functions they call, unless off.

    Args:
        statements: The statements.
        name: The function's name.
        parameters: The names of its parameters.
        writes: The names that it passes to `keep`.
        begin: Called with the parameters and their values while tracing.
        keep: Called with the names and their values; returns what the function returns.
        surroundings: The environment in which it is made.
        closed: Values of names that only the function can access.
    """
    variables = {_GIVEN: begin, _KEEP: _all_of(keep), _CALL: _converted, **closed}
    passed, returned = (", ".join(f"{n!r}: {n}" for n in names) for names in (parameters, writes))
    tree = ast.parse(
        f"def make({', '.join(variables)}):\n"
        f"    def {_FUNCTION}({', '.join(parameters)}):\n"
        f"        {_GIVEN}({{{passed}}})\n"
        f"        return {_KEEP}({{{returned}}})\n"
        f"    return {_FUNCTION}"
    )
    for each in ast.walk(tree):
        ast.copy_location(each, statements[0])
    step: Any = tree.body[0].body[0]  # type: ignore[attr-defined]
    for each in ast.walk(step.body[1]):
        ast.copy_location(each, statements[-1])
    # Copies: `_Calls` and `fix_missing_locations` change trees in place, and the statements are
    # used again.
    body = list(map(copy_of_tree, statements))
    is_converted = surroundings.options.get("autograph", True)
    step.body[1:1] = [_Calls().visit(each) for each in body] if is_converted else body
    scope: dict[str, Any] = {}
    exec(
        surroundings.compile_module(ast.fix_missing_locations(tree)), surroundings.namespace, scope
    )
    function: FunctionType = scope["make"](*variables.values())
    function.__name__ = function.__qualname__ = name
    function.__code__ = function.__code__.replace(co_name="step")
    # AutoGraph decides by the module, and a namespace may have no `__name__`.
    function.__module__ = surroundings.namespace.get("__name__", "__main__")
    return function


class _Calls(ast.NodeTransformer):
    """Passes each call through `_converted`: AutoGraph converts the callee, not the statement."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id.startswith("nbfn·"):
            return node
        name = ast.copy_location(ast.Name(_CALL, ast.Load()), node)
        return ast.copy_location(ast.Call(name, [node.func, *node.args], node.keywords), node)


def _converted(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    module = getattr(function, "__module__", None) or type(function).__module__
    if isinstance(function, type) or package_of(module) in _AS_THEY_ARE:
        return function(*args, **kwargs)
    return _tensorflow.Conversion(always=True).call(function, args, kwargs)


def _all_of(keep: Keep) -> Keep:
    """Makes all computed operations run before the results: an unused one may still raise."""

    def kept(values: Mapping[str, Any]) -> dict[str, Any]:
        results = keep(values)
        idle = _tensorflow.unused_operations(results.values())
        if not idle:
            return results
        with tf.control_dependencies(idle):
            # Identities, because the tensors themselves were made before, and wait for nothing.
            if not any(isinstance(each, tf.Tensor) for each in results.values()):
                # With no tensor among the results, no call would need these operations.
                return {**results, "done": tf.identity(tf.constant(True))}
            return {
                name: tf.identity(value) if isinstance(value, tf.Tensor) else value
                for name, value in results.items()
            }

    return kept
