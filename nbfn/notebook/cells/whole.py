"""Runs a body cell as one graph: ``--whole``."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import tensorflow as tf
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from nbfn.functions import TracedFunction, function
from nbfn.functions.effects.abstract_values import CodeScope, names_in
from nbfn.functions.effects.finder import TRACED_FUNCTION, WHOLE_CELL, Effect, Finder, Question
from nbfn.functions.effects.rules import Reason
from nbfn.functions.segments.analysis import RESULT, names_of
from nbfn.functions.segments.contract import NotKeptError, OutputContract, Recipe
from nbfn.functions.segments.segment import is_argument
from nbfn.notebook.cells.cell_options import CellOptions
from nbfn.notebook.cells.parse import ParsedCell
from nbfn.notebook.cells.segmented import DEFAULT_NAME, surrounded
from nbfn.notebook.cells.source import as_function
from nbfn.notebook.cells.syntax import cache_source, compile_code
from nbfn.notebook.cells.unchanged import is_unchanged, note_options
from nbfn.notebook.frames import show_as

_ADVICE = "choose what it leaves with --outputs, or drop --whole"
_KEEP, _VALUE = "__keep__", "__value__"


@dataclass
class WholeCell:
    """A cell that is one function.

    Attributes:
        function: The function.
        inputs: The names that it takes as arguments.
        keeper: Converts the cell's names to the function's results.
    """

    function: TracedFunction
    inputs: tuple[str, ...]
    keeper: _Keeper

    def run(self, namespace: dict[str, Any], options: CellOptions) -> Any:
        """Calls the function with the notebook's values and assigns its results in the notebook.

        Returns:
            The value of the last expression; None if the cell does not end with one.
        """
        __tracebackhide__ = True
        arguments = {name: namespace[name] for name in self.inputs}
        self.keeper.given, self.keeper.latest = arguments, None
        try:
            with surrounded(options):
                results = self.function(*arguments.values())
            trace, recipe = self.function.last_trace, self.keeper.latest
            if trace is not None:
                recipe = self.keeper.recipes.setdefault(trace, recipe)
            if recipe is None:
                return None
            values = recipe.values(results, arguments)
        except NotKeptError as broken:
            raise UsageError(f"--whole: the cell {broken.reason}; {_ADVICE}") from None
        finally:
            self.keeper.given = {}
        value = values.pop(RESULT, None)
        namespace.update(values)
        return value

    def check(self, namespace: Mapping[str, Any]) -> Any:
        """Compares an eager run with a traced one; changes nothing."""
        return self.function.check(*(namespace[name] for name in self.inputs))


class _Keeper:
    """Converts the cell's names to the results of its function."""

    def __init__(self, *, has_local_state: bool) -> None:
        self.has_local_state = has_local_state
        self.given: Mapping[str, Any] = {}
        self.latest: Recipe | None = None
        self.recipes: weakref.WeakKeyDictionary[Any, Recipe | None] = weakref.WeakKeyDictionary()

    @tf.autograph.experimental.do_not_convert
    def __call__(self, sure: Mapping[str, Any], maybe: Mapping[str, Callable[[], Any]]) -> Any:
        values = {RESULT if name == _VALUE else name: value for name, value in sure.items()}
        for name, get in maybe.items():
            try:
                value = get()
            except NameError:
                continue
            # By name, because AutoGraph's placeholders `Undefined` and `UndefinedReturnValue` are
            # not public (TensorFlow 2.21, `autograph/operators/variables.py`).
            if "Undefined" not in type(value).__name__:
                values[name] = value
        if isinstance(values.get(RESULT), tf.Operation):  # such as the result of tf.print
            values[RESULT] = None
        if self.has_local_state:  # local variables are deleted after the call
            values = {name: v for name, v in values.items() if not isinstance(v, tf.Variable)}
        contract = OutputContract(values, self.given)
        results = contract.keep(values)
        self.latest = contract.recipe
        return results


def whole(
    cell: ParsedCell,
    name: str | None,
    options: CellOptions,
    shell: InteractiveShell,
    previous: WholeCell | None,
) -> WholeCell:
    """Builds one function from a cell's body.

    Args:
        cell: The cell.
        name: The notebook's name for the function, if any.
        options: The options on the magic's line.
        shell: The shell.
        previous: The result for the same cell before.

    Returns:
        The function; `kept` if the cell has not changed.

    Raises:
        UsageError: If statements cannot be in a graph; lists each with the reason and a remedy.
    """
    namespace = shell.user_ns
    reads, writes = names_of(cell.body)
    if name in (*reads, *writes):
        raise UsageError(f"the cell uses the name `{name}` itself; give the function another")
    _refuse_python(cell.body, namespace, options)
    inputs = _inputs(reads, writes, options, namespace)
    outputs = options.chosen_outputs(writes)
    body = list(cell.body)
    if isinstance(body[-1], ast.Expr):
        target = ast.copy_location(ast.Name(_VALUE, ast.Store()), body[-1])
        body[-1] = ast.copy_location(ast.Assign([target], body[-1].value), body[-1])
    own_name = name or DEFAULT_NAME
    source = as_function(body, own_name, inputs, _ending(body, (*outputs, _VALUE)))
    file = cache_source(source, shell)
    keeper = _Keeper(has_local_state=options.has_local_state)
    # The keeper is a closure variable, so that the notebook gets no name for it.
    factory = ast.parse(f"def make({_KEEP}):\n    def {own_name}(): pass\n    return {own_name}")
    maker: Any = factory.body[0]
    maker.body[0] = ast.parse(source, file).body[0]
    scope: dict[str, Any] = {}
    exec(compile_code(factory, file, cell.flags), namespace, scope)
    plain: FunctionType = scope["make"](keeper)
    plain.__qualname__, plain.__module__ = own_name, namespace.get("__name__", "__main__")
    show_as(file, cell.file)
    if (
        previous is not None
        and previous.inputs == inputs
        and is_unchanged(previous.function, plain, options.lasting)
    ):
        return previous
    traced: TracedFunction = function(plain, **options.for_function(plain, namespace))
    note_options(traced, options.lasting)
    traced.known_as = name
    return WholeCell(traced, inputs, keeper)


def _inputs(
    reads: Sequence[str], writes: Sequence[str], options: CellOptions, namespace: Mapping[str, Any]
) -> tuple[str, ...]:
    for name in options.inputs or ():
        if name not in namespace:
            raise UsageError(f"--inputs: the notebook has no `{name}`")
        if name not in reads:
            raise UsageError(f"--inputs: the cell does not read `{name}`")
    taken = options.inputs
    if taken is None:
        taken = tuple(n for n in reads if n in namespace and _is_argument(namespace[n]))
    for name in reads:
        if name in writes and name in namespace and name not in taken:
            kind = type(namespace[name]).__name__
            raise UsageError(
                f"--whole: the cell reads and replaces `{name}` ({kind}), which is not one of its "
                "arguments; assign to another name, or add it to --inputs"
            )
    return taken


def _is_argument(value: Any) -> bool:
    per_replica = isinstance(value, tf.distribute.DistributedValues)
    return is_argument(value) or (per_replica and not hasattr(value, "assign"))


def _ending(body: Sequence[ast.stmt], outputs: Sequence[str]) -> str:
    """Returns the line that returns what the cell leaves."""
    written, sure = names_of(body)[1], _surely_written(body)
    pairs = [f"{name!r}: {name}" for name in outputs if name in sure]
    maybe = [f"{n!r}: lambda: {n}" for n in outputs if n in written and n not in sure]
    return f"return {_KEEP}({{{', '.join(pairs)}}}, {{{', '.join(maybe)}}})"


def _surely_written(body: Sequence[ast.stmt]) -> list[str]:
    found: list[str] = []
    for node in body:
        if isinstance(node, ast.With):
            found += _surely_written(node.body)
        has_blocks = hasattr(node, "body") or hasattr(node, "cases")
        if not has_blocks or isinstance(node, ast.FunctionDef | ast.ClassDef):
            found += names_of([node])[1]
    return found


def _refuse_python(
    body: Sequence[ast.stmt], namespace: Mapping[str, Any], options: CellOptions
) -> None:
    found: dict[tuple[int, str], Reason] = {}
    for node in body:
        if isinstance(node, ast.Delete):
            found[node.lineno, "deletes a name"] = Reason("write", "")
    making = "make it in a cell above, or let it live for one call with --local-state"
    for question in (TRACED_FUNCTION, WHOLE_CELL):
        scope = CodeScope(names_in(namespace, {}))
        for effect in Finder(question, namespace).walk(scope).block(body):
            if _is_refused(effect, options, question):
                reason = effect.reason
                if reason.kind == "variable":
                    reason = reason._replace(advice=making)
                found.setdefault((effect.line, str(effect)), reason)
    if found:
        listed = [
            f"line {line} {text}" + (f" ({reason.advice})" if reason.advice else "")
            for (line, text), reason in sorted(found.items())
        ]
        raise UsageError(f"--whole: {'; '.join(listed)}. Without --whole these lines run as Python")


def _is_refused(effect: Effect, options: CellOptions, question: Question) -> bool:
    """Returns whether an effect cannot be in a graph, by the rules for functions or for cells."""
    reason = effect.reason
    if question is TRACED_FUNCTION:
        return reason.is_effect
    if reason.kind == "variable":
        return not options.has_local_state
    return reason.kind in ("make", "value", "data", "assert")
