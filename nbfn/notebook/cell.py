"""A cell turned into traced functions: ``%%tf_function`` without its options."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import tensorflow as tf
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from nbfn.functions import Cause, TracedFunction, function
from nbfn.notebook.names import names_of
from nbfn.notebook.outputs import Outputs, loosen
from nbfn.notebook.refusal import refuse_untraceable
from nbfn.notebook.source import as_function
from nbfn.notebook.syntax import as_ipython_reports

DEFAULT_NAME = "cell_function"
_MAX_PARTS = 10_000
_DEFAULTS = {"max_traces": 16, "on_limit": "warn"}


@dataclass
class TracedCell:
    """A cell whose body became one function.

    Attributes:
        traced: The function.
        inputs: Names in the notebook that it takes as arguments.
        outputs: How its results are put together.
        deletes: Names in the notebook that it takes away.
    """

    traced: TracedFunction
    inputs: tuple[str, ...]
    outputs: Outputs
    deletes: tuple[str, ...] = ()

    def run(self, namespace: dict[str, Any]) -> Any:
        """Calls it with the notebook's values, and puts the names it assigns into the notebook.

        Returns:
            The value of the last expression; None if the cell does not end in one.
        """
        __tracebackhide__ = True
        self.outputs.latest = None
        tensors = self.traced(*(namespace[name] for name in self.inputs))
        parts = self.outputs.latest  # None after a hit, which runs no Python
        if parts is None and self.traced.last_trace is not None:
            parts = self.traced.last_trace.python_results
        results = self.outputs.restore(parts or {}, tensors)
        value = results.pop("__value__", None)
        namespace.update(results)
        for name in self.deletes:
            namespace.pop(name, None)
        loosen(parts)
        return value


@dataclass
class CellCompiler:
    """Turns cells into functions, and keeps a function whose cell has not changed.

    Attributes:
        shell: The shell whose namespace and compiler are used.
        options: Options of `nbfn.function`, such as ``jit_compile``.
    """

    shell: InteractiveShell
    options: Mapping[str, Any] = field(default_factory=dict)

    def parse(self, cell: str) -> list[ast.stmt]:
        """The statements of a cell, with line numbers as the user sees them.

        Raises:
            CellSyntaxError: As IPython reports it, at the right line.
            UsageError: If there is nothing in the cell, or something that cannot be traced.
        """
        source = "\n" + self.transform(cell)
        try:
            tree = compile(source, self._cache(source), "exec", ast.PyCF_ONLY_AST)
        except SyntaxError as error:
            raise as_ipython_reports(error, self.shell) from None
        tree = self.shell.transform_ast(tree)
        if not tree.body:
            raise UsageError("the cell holds no code to trace")
        refuse_untraceable(tree.body)
        try:  # `return`, `break` and others are errors of their own in a cell
            compile(tree, self._cache(source), "exec")
        except SyntaxError as error:
            raise as_ipython_reports(error, self.shell) from None
        return list(tree.body)

    def transform(self, cell: str) -> str:
        """The cell with IPython's syntax made Python, its leading empty lines kept."""
        lines = cell.split("\n")
        empty = next((i for i, line in enumerate(lines) if line.strip()), 0)
        return "\n" * empty + str(self.shell.transform_cell(cell))

    def _cache(self, source: str) -> str:
        name = self.shell.compile.cache(source, self.shell.execution_count)
        return str(name)

    # A cell of definitions --------------------------------------------------------------

    def define(self, cell: str, body: list[ast.stmt]) -> list[TracedFunction]:
        """Runs a cell of definitions and makes each top-level function of it a traced one."""
        __tracebackhide__ = True
        namespace = self.shell.user_ns
        names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
        before = {name: namespace.get(name) for name in names}
        source = "\n" + self.transform(cell)
        tree = ast.Module(body, type_ignores=[])
        exec(compile(tree, self._cache(source), "exec"), namespace)
        return [self._traced(name, before[name]) for name in names]

    def _traced(self, name: str, before: Any) -> TracedFunction:
        namespace = self.shell.user_ns
        defined = namespace[name]
        if not isinstance(defined, TracedFunction):
            if isinstance(before, TracedFunction) and self._unchanged(before, defined):
                namespace[name] = before
                return before
            if not callable(defined):
                raise UsageError(
                    f"`{name}` is decorated into a {type(defined).__name__}, not a function"
                )
            traced: TracedFunction = function(defined, **self.options)
            namespace[name] = traced
            if isinstance(defined, FunctionType):
                traced.site = replace(traced.site, line=defined.__code__.co_firstlineno)
            return traced
        return defined

    def _unchanged(self, traced: TracedFunction, defined: Any) -> bool:
        old = traced.python_function
        return (
            isinstance(defined, FunctionType)
            and isinstance(old, FunctionType)
            and _same_code(old.__code__, defined.__code__)
            and _same(old.__defaults__, defined.__defaults__)
            and _same(old.__kwdefaults__, defined.__kwdefaults__)
            and traced.options == _DEFAULTS | dict(self.options)
            and not traced.changed_globals()
        )

    # Any other cell ---------------------------------------------------------------------

    def body(
        self, cell: str, body: list[ast.stmt], name: str | None, kept: TracedCell | None
    ) -> TracedCell:
        """Makes one function of a cell's body.

        Args:
            cell: The cell's text below the magic's line.
            body: Its statements.
            name: The name that the notebook gives the function; None if it gives none.
            kept: What the same cell became before.

        Returns:
            `kept`, if the cell has not changed.
        """
        names = names_of(body)
        if name in (*names.reads, *names.writes, *names.may_write):
            raise UsageError(f"the cell uses the name `{name}` itself; give the function another")
        namespace = self.shell.user_ns
        inputs = tuple(
            each
            for each in names.reads
            if each in namespace
            and (
                is_input(namespace[each])
                or each in (*names.writes, *names.may_write, *names.deletes)
            )
        )
        # On the way on which the cell does not write a tensor, the old one stays.
        inputs += tuple(
            each
            for each in names.may_write
            if each not in inputs and _is_tensor(namespace.get(each))
        )
        pairs = [f"{each!r}: {each}" for each in names.writes]
        possible = [f"{each!r}: lambda: {each}" for each in names.may_write]
        last = body[-1] if isinstance(body[-1], ast.Expr) else None
        if last is not None:
            ast.increment_lineno(last, -1)
            pairs.append("'__value__': __value__")
        ending = f"return __outputs__.collect({{{', '.join(pairs)}}}, {{{', '.join(possible)}}})"
        transformed = self.transform(cell)
        own_name = name or DEFAULT_NAME
        source = as_function(transformed, last, own_name, inputs, ending)
        outputs = Outputs()
        python_function = self._compile(source, own_name, outputs)
        if (
            kept is not None
            and kept.inputs == inputs
            and self._unchanged(kept.traced, python_function)
        ):
            return kept
        traced = function(python_function, **self.options)
        traced.known_as = name
        traced.recorder.first_cause = _first_cause(kept, python_function, inputs)
        outputs.keep = traced.keep_python_results
        return TracedCell(traced, inputs, outputs, tuple(names.deletes))

    def _compile(self, source: str, name: str, outputs: Outputs) -> FunctionType:
        """Compiles the function with ``__outputs__`` in its closure, not in the notebook."""
        file = self._cache(source)
        factory = ast.parse(f"def make(__outputs__):\n    def {name}(): pass\n    return {name}")
        maker = factory.body[0]
        assert isinstance(maker, ast.FunctionDef)
        maker.body[0] = ast.parse(source, file).body[0]
        scope: dict[str, Any] = {}
        exec(compile(factory, file, "exec"), self.shell.user_ns, scope)
        made: FunctionType = scope["make"](outputs)
        made.__qualname__ = name
        made.__module__ = self.shell.user_ns.get("__name__", "__main__")
        return made


def _first_cause(
    kept: TracedCell | None, python_function: FunctionType, inputs: tuple[str, ...]
) -> Cause:
    """Why the function of a cell is a new one."""
    if kept is None:
        return Cause("first_trace", "first call")
    if kept.inputs != inputs:
        return Cause(
            "new_code", f"the cell's inputs were {_list(kept.inputs)}, are {_list(inputs)}"
        )
    names = kept.traced.changed_globals()
    old = kept.traced.python_function
    if names and isinstance(old, FunctionType) and old.__code__ == python_function.__code__:
        return Cause("new_code", f"changed since the last run: {_list(names)}")
    return Cause("new_code", "new code: the cell has changed")


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def is_definitions(body: list[ast.stmt]) -> bool:
    """Whether a cell holds definitions only, at least one of a function."""
    kinds = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    rest = body[1:] if _is_docstring(body[0]) else body
    return all(isinstance(node, kinds) or _is_constant(node) for node in rest) and any(
        isinstance(node, ast.FunctionDef) for node in rest
    )


def _is_constant(node: ast.stmt) -> bool:
    """Whether a statement gives a name to a constant, such as ``RATE = 0.1``."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    try:
        ast.literal_eval(node.value)
    except (ValueError, TypeError):
        return False
    return True


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_input(value: Any, parts: int = _MAX_PARTS) -> bool:
    """Whether a value becomes an argument: a tensor, array, number, string, or a nest of them."""
    if isinstance(value, tf.Variable):
        return False
    if isinstance(value, (bool, int, float, complex, str, bytes, np.ndarray, np.generic)):
        return True
    if tf.is_tensor(value):
        return True
    if isinstance(value, (list, tuple, dict)):
        if isinstance(value, dict) and len({type(key) for key in value}) > 1:
            return False  # TensorFlow sorts the keys
        items = list(value.values()) if isinstance(value, dict) else list(value)
        return 0 < len(items) <= parts and all(
            item is None or is_input(item, parts - len(items)) for item in items
        )
    return False


def _is_tensor(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (
        tf.is_tensor(value) and not isinstance(value, tf.Variable)
    )


def _same(left: Any, right: Any) -> bool:
    """Equality that takes arrays and tensors by identity."""
    if left is right:
        return True
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[k], right[k]) for k in left)
    return type(left) is type(right) and isinstance(left, _PLAIN) and left == right


_PLAIN = (bool, int, float, complex, str, bytes)


def _same_code(left: CodeType, right: CodeType) -> bool:
    return left == right and left.co_freevars == right.co_freevars
