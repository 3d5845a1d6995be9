"""Turns the top-level functions of a cell of definitions into traced functions."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from types import FunctionType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from nbfn.functions import TracedFunction, function
from nbfn.functions.effects.remarks import remarks
from nbfn.notebook.cells.cell_options import CellOptions
from nbfn.notebook.cells.parse import ParsedCell
from nbfn.notebook.cells.unchanged import is_unchanged, note_options
from nbfn.outlines.outline import Outline


def define(cell: ParsedCell, options: CellOptions, shell: InteractiveShell) -> list[TracedFunction]:
    """Runs a cell of definitions and replaces its top-level functions by traced ones.

    Generators and context managers stay as they are: no graph can return one.

    Raises:
        UsageError: If an option applies to bodies only, or a decorator does not return a function.
    """
    __tracebackhide__ = True
    options.refuse_for_definitions()
    namespace = shell.user_ns
    names = [node.name for node in cell.body if isinstance(node, ast.FunctionDef)]
    before = {name: namespace.get(name) for name in names}
    exec(cell.compile(ast.Module(cell.body, type_ignores=[])), namespace)
    return [
        _traced(name, before[name], options, namespace)
        for name in names
        # Neither tf.function nor AutoGraph supports generators (TensorFlow 2.21).
        if not inspect.isgeneratorfunction(inspect.unwrap(namespace[name]))
    ]


def remarks_on(function: TracedFunction) -> None:
    """Displays, by line, the Python effects of a function that hits do not repeat."""
    lines = remarks(function.python_function).lines
    function.checked_effects = True
    if lines:
        outline = Outline(f"`{function.label}` does this only while it is traced:", lines)
        display({"text/plain": outline.text(), "text/html": outline.html()}, raw=True)


def _traced(
    name: str, before: Any, options: CellOptions, namespace: dict[str, Any]
) -> TracedFunction:
    lasting = (options.lasting, options.stance)
    defined = namespace[name]
    if isinstance(defined, TracedFunction):
        return defined
    if not callable(defined):
        raise UsageError(
            f"`{name}` is of type {type(defined).__name__} after its decorators, not a function"
        )
    if (
        isinstance(before, TracedFunction)
        and is_unchanged(before, defined, lasting)
        # Else traces of what was replaced, such as a model, would be listed on.
        and not before.changed_globals()
    ):
        namespace[name] = before
        return before
    traced: TracedFunction = function(defined, **options.for_function(defined, namespace))
    traced.stance = options.stance  # type: ignore[assignment]
    note_options(traced, lasting)
    namespace[name] = traced
    if isinstance(defined, FunctionType):
        traced.site = replace(traced.site, line=defined.__code__.co_firstlineno)
    return traced
