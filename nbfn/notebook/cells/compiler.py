"""Cells compiled: the text of a cell becomes definitions, or one function."""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from nbfn.functions import Cause, TracedFunction, delist, function
from nbfn.notebook.cells.branches import effects_in_branches
from nbfn.notebook.cells.cell import Surroundings, TracedCell
from nbfn.notebook.cells.definitions import Definitions
from nbfn.notebook.cells.extending import extend_in_place
from nbfn.notebook.cells.frames import show_as
from nbfn.notebook.cells.inputs import builtin_inputs, choose_inputs
from nbfn.notebook.cells.names import Names, names_of
from nbfn.notebook.cells.options import CellOptions
from nbfn.notebook.cells.outputs import VALUE, Outputs
from nbfn.notebook.cells.refusal import refuse_untraceable
from nbfn.notebook.cells.source import as_function, text_of
from nbfn.notebook.cells.syntax import as_ipython_reports, cached, compiled, features, transformed
from nbfn.notebook.cells.unchanged import is_unchanged, note_options

MAGIC = "%%tf_function"
DEFAULT_NAME = "cell_function"
_NO_FIRST_VALUE = re.compile(r"'(\w+)' must (?:be defined before the loop|also be initialized in)")
_LEFT_BY_A_LOOP = re.compile(r"'\w+' must be defined before the loop")


@dataclass
class CellCompiler:
    """Turns cells into functions, and keeps a function whose cell has not changed.

    Attributes:
        shell: The shell whose namespace and compiler are used.
        options: What the magic's line says.
    """

    shell: InteractiveShell
    options: CellOptions = field(default_factory=CellOptions)
    _transformed: bool = False

    def parse(self, cell: str) -> list[ast.stmt]:
        """The statements of a cell, with line numbers as the user sees them.

        Raises:
            CellSyntaxError: As IPython reports it, at the right line.
            UsageError: If there is nothing in the cell, or something that cannot be traced.
        """
        source = "\n" + transformed(cell, self.shell)
        try:
            tree = compiled(source, self._cache(source), self._flags | ast.PyCF_ONLY_AST)
        except SyntaxError as error:
            raise as_ipython_reports(error, self.shell) from None
        before = ast.dump(tree) if self.shell.ast_transformers else None
        tree = self.shell.transform_ast(tree)
        self._transformed = before is not None and ast.dump(tree) != before
        if not tree.body:
            raise UsageError("the cell holds no code to trace")
        refuse_untraceable(tree.body)
        try:  # `return`, `break` and others are errors of their own in a cell
            compiled(tree, self._cache(source), self._flags)
        except SyntaxError as error:
            raise as_ipython_reports(error, self.shell) from None
        return list(tree.body)

    def _text(self, cell: str, body: list[ast.stmt]) -> tuple[str, list[ast.stmt]]:
        """The text of a cell and its statements, as IPython's transformers leave them."""
        if not self._transformed:
            return transformed(cell, self.shell), body
        text = text_of(body)  # AutoGraph reads text
        return text, ast.parse("\n" + text).body

    @property
    def _flags(self) -> int:
        return features(self.shell)

    def _cache(self, source: str) -> str:
        return cached(source, self.shell)

    # A cell of definitions --------------------------------------------------------------

    def define(self, cell: str, body: list[ast.stmt]) -> list[TracedFunction]:
        """Runs a cell of definitions and makes each top-level function of it a traced one."""
        __tracebackhide__ = True
        self.options.refuse_for_definitions()
        namespace = self.shell.user_ns
        self.options.strategy(namespace)
        names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
        before = {name: namespace.get(name) for name in names}
        text, body = self._text(cell, body)
        source = "\n" + text
        tree = ast.Module(body, type_ignores=[])
        exec(compiled(tree, self._cache(source), self._flags), namespace)
        return [self._traced(name, before[name]) for name in names]

    def _traced(self, name: str, before: Any) -> TracedFunction:
        namespace = self.shell.user_ns
        lasting = (self.options.lasting, self.options.stance)
        strategy = self.options.strategy(namespace)
        defined = namespace[name]
        if isinstance(defined, TracedFunction):
            return defined
        if not callable(defined):
            raise UsageError(
                f"`{name}` is decorated into a {type(defined).__name__}, not a function"
            )
        if (
            isinstance(before, TracedFunction)
            and before.strategy is strategy
            and is_unchanged(before, defined, lasting)
        ):
            namespace[name] = before
            return before
        traced: TracedFunction = function(defined, **self.options.of_function(defined, namespace))
        traced.strategy = strategy
        traced.stance = self.options.stance  # type: ignore[assignment]
        note_options(traced, lasting)
        namespace[name] = traced
        if isinstance(defined, FunctionType):
            traced.site = replace(traced.site, line=defined.__code__.co_firstlineno)
        return traced

    # Any other cell ---------------------------------------------------------------------

    def run(
        self, cell: str, body: list[ast.stmt], name: str | None, kept: TracedCell | None
    ) -> tuple[TracedCell, Any]:
        """Makes one function of a cell's body and calls it.

        A name that TensorFlow decides to write or not needs a value on the other way. It is passed,
        if it has one; where a loop over a data set gives it its first, it is left out.

        Returns:
            What the cell has become, as by `body`, and the value of its last expression.
        """
        __tracebackhide__ = True
        namespace = self.shell.user_ns
        omitted = kept.omitted if kept is not None and kept.text == cell else frozenset()
        passed: frozenset[str] = frozenset()
        while True:
            traced_cell = self.body(cell, body, name, kept, omitted, passed)
            try:
                return traced_cell, self._run(traced_cell, is_new=traced_cell is not kept)
            except ValueError as error:
                found = _NO_FIRST_VALUE.search(str(error))
                if found is None or found[1] not in traced_cell.may_leave - omitted - passed:
                    raise
                if found[1] in namespace:
                    passed |= {found[1]}
                elif _LEFT_BY_A_LOOP.search(str(error)):
                    omitted |= {found[1]}
                else:
                    raise

    def _run(self, traced_cell: TracedCell, is_new: bool) -> Any:
        __tracebackhide__ = True
        try:
            return traced_cell.run(self.shell.user_ns)
        except BaseException:
            if is_new:
                delist(traced_cell.traced)  # the notebook gets nothing of it but a traceback
            raise

    def body(
        self,
        cell: str,
        body: list[ast.stmt],
        name: str | None,
        kept: TracedCell | None,
        omitted: frozenset[str] = frozenset(),
        passed: frozenset[str] = frozenset(),
    ) -> TracedCell:
        """Makes one function of a cell's body.

        Args:
            cell: The cell's text below the magic's line.
            body: Its statements.
            name: The name that the notebook gives the function; None if it gives none.
            kept: What the same cell became before.
            omitted: Names that it may assign, and does not leave.
            passed: Names that it may assign, and must be given.

        Returns:
            `kept`, if the cell has not changed.
        """
        text, body = self._text(cell, body)
        names = names_of(body)
        if name in (*names.reads, *names.bound):
            raise UsageError(f"the cell uses the name `{name}` itself; give the function another")
        namespace = self.shell.user_ns
        edits = extend_in_place(names, body, namespace)
        shadowed = builtin_inputs(names, namespace)
        before, written = kept.taken_and_written() if kept is not None else ((), frozenset())
        inputs = choose_inputs(
            names, body, namespace, self.options.inputs, (*before, *passed), written
        )
        inputs += shadowed
        last = body[-1] if isinstance(body[-1], ast.Expr) else None
        ending = self._ending(names, last is not None, omitted)
        own_name = name or DEFAULT_NAME
        source = as_function(text, last, own_name, inputs, ending, edits)
        file = self._cache(source)
        definitions = Definitions(body, self._cache(f"\n{text}"), file, own_name, self._flags)
        outputs = Outputs(namespace, definitions, self.options.has_local_state)
        python_function = self._compile(source, file, own_name, outputs)
        shown = f"{MAGIC}\n{cell.rstrip()}\n"  # IPython shows no line of a source without an end
        show_as(python_function.__code__.co_filename, self._cache(shown))
        surroundings = Surroundings(self.options.device_scope(), self.options.stance)
        strategy = self.options.strategy(namespace)
        if (
            kept is not None
            and kept.inputs == inputs
            and kept.traced.strategy is strategy
            and is_unchanged(kept.traced, python_function, self.options.lasting, own_policy=True)
        ):
            kept.surroundings, kept.text, kept.omitted = surroundings, cell, omitted
            return kept
        options = self.options.of_function(python_function, namespace)
        traced: TracedFunction = function(python_function, **options)
        traced.strategy = strategy
        note_options(traced, self.options.lasting)
        traced.known_as = name
        traced.recorder.first_cause = _first_cause(kept, python_function, inputs)
        outputs.keep = traced.keep_python_results
        traced.running = functools.partial(outputs.running, inputs)
        outputs.effects = tuple(effects_in_branches(body, namespace))
        made = TracedCell(
            traced,
            inputs,
            outputs,
            deletes=tuple(names.deletes),
            captured=tuple(each for each in names.reads if each not in inputs),
            builtins={each: getattr(builtins, each) for each in shadowed},
            surroundings=surroundings,
            text=cell,
            may_leave=frozenset(names.may_write) - frozenset(inputs),
            omitted=omitted,
        )
        outputs.note = functools.partial(made.contents, namespace)
        return made

    def _ending(
        self,
        names: Names,
        ends_in_a_value: bool,
        omitted: frozenset[str],
    ) -> str:
        """The line that returns what the cell leaves."""
        wanted = self.options.chosen_outputs(names)
        writes = [name for name in names.writes if name in wanted]
        may = (*names.may_write, *names.may_delete)
        maybe = [name for name in may if name in wanted and name not in omitted]
        pairs = [f"{name!r}: {name}" for name in writes]
        if ends_in_a_value:
            pairs.append(f"'{VALUE}': {VALUE}")
        possible = [f"{name!r}: lambda: {name}" for name in dict.fromkeys(maybe)]
        parts = ", ".join(f"{{{', '.join(each)}}}" for each in (pairs, possible))
        return f"return __outputs__.collect({parts})"

    def _compile(self, source: str, file: str, name: str, outputs: Outputs) -> FunctionType:
        """Compiles the function with ``__outputs__`` in its closure, not in the notebook."""
        factory = ast.parse(f"def make(__outputs__):\n    def {name}(): pass\n    return {name}")
        maker = factory.body[0]
        assert isinstance(maker, ast.FunctionDef)
        maker.body[0] = ast.parse(source, file).body[0]
        scope: dict[str, Any] = {}
        exec(compiled(factory, file, self._flags), self.shell.user_ns, scope)
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
        if kept.changes().issuperset(names):
            advice = "a tf.Variable that it assigns needs no new trace"
            return Cause("new_code", f"changed by the last run itself: {_list(names)}; {advice}")
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
