"""The cell magics, each a thin dress over a plain Python call."""

from __future__ import annotations

import builtins
import keyword
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    cell_magic,
    magics_class,
    no_var_expand,
    output_can_be_silenced,
)
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

_KEPT = "_nbfn_cells"
"""The notebook's name for what is kept of the cells, so that it goes with the other names."""

_TEXT = "text:"
"""Begins the key of a cell that has neither a name nor an id; only the last such cell is kept."""


@magics_class
class CellMagics(Magics):
    """The magics that take a cell."""

    _shown: tuple[Any, str] | None = None
    """The run of a cell, and the function, that were displayed last; %%timeit runs one often."""

    @property
    def _cells(self) -> dict[str, Any]:
        """What cells became, by name, by id or by text."""
        return self.shell.user_ns.setdefault(_KEPT, {})  # type: ignore[no-any-return]

    @magic_arguments()
    @argument("name", nargs="?", help="name of the function that the cell becomes")
    @argument("-i", "--inputs", help="names that it takes as arguments, such as x,labels")
    @argument("-o", "--outputs", help="names that it leaves, such as y,loss; else all it assigns")
    @argument("--define", action="store_true", help="make the function, but do not run it")
    @argument("--check", action="store_true", help="compare a traced run with an eager one first")
    @argument("--signature", help='input signature: "x: float32[None, 8], n: int32" or a list')
    @argument("--relax", action="store_true", help="let traces cover sizes that change")
    @argument("--jit", action="store_true", help="compile it with XLA (jit_compile=True)")
    @argument("--no-autograph", action="store_true", help="leave Python control flow as it is")
    @argument("--local-state", action="store_true", help="variables live for one call")
    @argument("--max-traces", type=int, default=16, help="traces before --on-limit applies")
    @argument(
        "--on-limit",
        choices=("warn", "raise", "evict", "eager"),
        default="warn",
        help="what a call does that needs one trace more",
    )
    @argument(
        "--on-stale",
        choices=("retrace", "warn", "raise", "ignore"),
        help="what a call does if what its trace read has changed since (default: retrace)",
    )
    @argument(
        "--stance",
        choices=("default", "fail_on_retrace", "eager", "eager_on_retrace"),
        help="what this run does if it finds no trace",
    )
    @argument("--device", help="device that the cell runs on, such as CPU:0")
    @argument("--strategy", help="name of the tf.distribute strategy that it runs under")
    @no_var_expand
    @output_can_be_silenced
    @cell_magic
    def tf_function(self, line: str, cell: str) -> Any:
        """Make traced functions of a cell.

        In a cell of definitions each top-level ``def`` becomes a traced function. Any other cell
        becomes the body of one function, which runs at once: its inputs are the tensors, arrays,
        numbers and strings that the cell reads; the names it assigns are back in the notebook when
        it ends, and its last expression is displayed. Python: ``nbfn.function``.

        Examples::

            %%tf_function train_step
            with tf.GradientTape() as tape:
                loss = loss_of(model(images), labels)
            loss
        """
        __tracebackhide__ = True
        from nbfn.notebook.cells.compiler import CellCompiler, is_definitions
        from nbfn.notebook.cells.options import CellOptions

        arguments = parse_argstring(self.tf_function, line)
        name = arguments.name
        if name is not None and not _may_name_a_function(name):
            raise UsageError(f"`{name}` is no name for a function")
        compiler = CellCompiler(self.shell, CellOptions.of(arguments))
        body = compiler.parse(cell)
        if is_definitions(body):
            return self._define(compiler, cell, body, arguments)
        return self._run(compiler, cell, body, arguments)

    def _define(self, compiler: Any, cell: str, body: Any, arguments: Any) -> None:
        __tracebackhide__ = True
        names = [node.name for node in body if hasattr(node, "args")]
        if arguments.name is not None and arguments.name not in names:
            raise UsageError(f"the cell defines {', '.join(names)}, but no `{arguments.name}`")
        if arguments.check:
            raise UsageError("--check is for a cell that runs; call .check(…) of the function")
        for function in compiler.define(cell, body):
            _show(function)

    def _run(self, compiler: Any, cell: str, body: Any, arguments: Any) -> Any:
        __tracebackhide__ = True
        from nbfn.notebook.cells.compiler import DEFAULT_NAME, MAGIC
        from nbfn.notebook.cells.refusal import refuse_unknown_deletions
        from nbfn.notebook.cells.syntax import cached
        from nbfn.notebook.errors.option_names import named_as_options
        from nbfn.notebook.remarks.remarks import remarks_on
        from nbfn.site import current_cell

        name = arguments.name
        running = current_cell()
        slot = name or (running.id if running and running.id else f"{_TEXT}{cell}")
        namespace = self.shell.user_ns
        self.forget_dropped()
        kept = self._cells.get(slot)
        remarks = remarks_on(body, namespace)
        remarks.refuse_endless(not arguments.no_autograph, arguments.stance)
        refuse_unknown_deletions(body, namespace, cached(f"{MAGIC}\n{cell}", self.shell))
        value = None
        if arguments.define or arguments.check:
            kept = traced_cell = compiler.body(cell, body, name, kept)
        if arguments.check:
            print(traced_cell.check(namespace))  # noqa: T201
        if not arguments.define:
            with named_as_options(name or DEFAULT_NAME):
                traced_cell, value = compiler.run(cell, body, name, kept)
        cells = self._cells
        if slot.startswith(_TEXT):
            for other in [key for key in cells if key.startswith(_TEXT)]:
                del cells[other]
        cells[slot] = traced_cell
        if name is not None:
            namespace[name] = traced_cell.traced
        shown = (running, traced_cell.traced.id)
        eagerly = not arguments.define and traced_cell.outputs.ran_eagerly
        if shown != self._shown or (traced_cell.traced.recorder.last != "hit" and not eagerly):
            (_show_eager if eagerly else _show)(traced_cell.traced)
            if not arguments.define:
                remarks.show(traced_cell, value)
        self._shown = shown if running is not None else None
        return value

    @magic_arguments()
    @no_var_expand
    @output_can_be_silenced
    @cell_magic
    def tf_eager(self, line: str, cell: str) -> Any:
        """Run a cell with every traced function in it run eagerly, line by line.

        Prints happen at each call, tensors have values, and a debugger stops in the Python code.
        Python: ``with nbfn.stance("eager"):``.

        Examples::

            %%tf_eager
            train_step(images, labels)
        """
        __tracebackhide__ = True
        from nbfn.functions import stance
        from nbfn.notebook.plain_cell import run_plain_cell

        parse_argstring(self.tf_eager, line)
        with stance("eager"):
            return run_plain_cell(self.shell, cell)

    def forget_dropped(self) -> None:
        """Drops what is kept of cells whose function the notebook has dropped or replaced."""
        namespace = self.shell.user_ns
        cells = namespace.get(_KEPT) or {}
        for slot, cell in list(cells.items()):
            name = cell.traced.known_as
            if name is not None and namespace.get(name) is not cell.traced:
                del cells[slot]

    def forget(self) -> None:
        """Drops what is kept of the cells."""
        self.shell.user_ns.pop(_KEPT, None)


def _may_name_a_function(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name)


def _show_eager(function: Any) -> None:
    """Displays a line in place of the function's view, which tells of its last traced call."""
    from IPython.display import display

    from nbfn.views.outline import Outline

    outline = Outline(f"{function.label}{function.parameters}", ["ran eagerly: no trace served"])
    display({"text/plain": outline.text(), "text/html": outline.html()}, raw=True)


def _show(function: Any) -> None:
    from IPython.display import display

    display(function)
