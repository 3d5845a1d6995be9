"""The magics, each a thin dress over a plain Python call."""

from __future__ import annotations

import builtins
import keyword
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import (
    Magics,
    cell_magic,
    magics_class,
    no_var_expand,
    output_can_be_silenced,
)
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

_TEXT = "text:"
"""Begins the key of a cell that has neither a name nor an id; only the last such cell is kept."""


@magics_class
class NbfnMagics(Magics):
    """The magics of nbfn."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._cells: dict[str, Any] = {}

    @magic_arguments()
    @argument("name", nargs="?", help="name of the function that the cell becomes")
    @argument("--define", action="store_true", help="make the function, but do not run it")
    @argument("--jit", action="store_true", help="compile it with XLA (jit_compile=True)")
    @argument("--no-autograph", action="store_true", help="leave Python control flow as it is")
    @argument("--max-traces", type=int, default=16, help="traces before --on-limit applies")
    @argument(
        "--on-limit",
        choices=("warn", "raise", "eager"),
        default="warn",
        help="what a call does that needs one trace more",
    )
    @no_var_expand
    @output_can_be_silenced
    @cell_magic
    def tf_function(self, line: str, cell: str) -> Any:
        """Make traced functions of a cell.

        In a cell of definitions each top-level ``def`` becomes a traced function. Any other cell
        becomes the body of one function, which runs at once: its inputs are the tensors, arrays,
        numbers and strings that the cell reads; the names it assigns are back in the notebook when
        it ends, and its last expression is displayed.

        Examples::

            %%tf_function train_step
            with tf.GradientTape() as tape:
                loss = loss_of(model(images), labels)
            loss
        """
        __tracebackhide__ = True
        from nbfn.notebook.cell import CellCompiler, is_definitions

        arguments = parse_argstring(self.tf_function, line)
        options = _options(arguments)
        name = arguments.name
        if name is not None and not _may_name_a_function(name):
            raise UsageError(f"`{name}` is no name for a function")
        compiler = CellCompiler(self.shell, options)
        body = compiler.parse(cell)
        if is_definitions(body):
            return self._define(compiler, cell, body, name)
        return self._run(compiler, cell, body, name, arguments.define)

    def _define(self, compiler: Any, cell: str, body: Any, name: str | None) -> None:
        __tracebackhide__ = True
        names = [node.name for node in body if hasattr(node, "args")]
        if name is not None and name not in names:
            raise UsageError(f"the cell defines {', '.join(names)}, but no `{name}`")
        for function in compiler.define(cell, body):
            _show(function)

    def _run(self, compiler: Any, cell: str, body: Any, name: str | None, define: bool) -> Any:
        __tracebackhide__ = True
        from nbfn.site import current_cell

        running = current_cell()
        slot = name or (running.id if running and running.id else f"{_TEXT}{cell}")
        kept = self._cells.get(slot)
        if (
            name is not None
            and kept is not None
            and self.shell.user_ns.get(name) is not kept.traced
        ):
            kept = None
        traced_cell = compiler.body(cell, body, name, kept)
        value = None if define else traced_cell.run(self.shell.user_ns)
        if slot.startswith(_TEXT):
            self._cells = {k: v for k, v in self._cells.items() if not k.startswith(_TEXT)}
        self._cells[slot] = traced_cell
        if name is not None:
            self.shell.user_ns[name] = traced_cell.traced
        _show(traced_cell.traced)
        return value

    def forget(self) -> None:
        """Drops what is kept of the cells."""
        self._cells.clear()


def _may_name_a_function(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name)


def _options(arguments: Any) -> dict[str, Any]:
    """The options of ``nbfn.function`` that differ from its defaults."""
    if arguments.max_traces < 1:
        raise UsageError(f"--max-traces is {arguments.max_traces}, expected at least 1")
    options: dict[str, Any] = {}
    if arguments.jit:
        options["jit_compile"] = True
    if arguments.no_autograph:
        options["autograph"] = False
    if arguments.max_traces != 16:
        options["max_traces"] = arguments.max_traces
    if arguments.on_limit != "warn":
        options["on_limit"] = arguments.on_limit
    return options


def _show(function: Any) -> None:
    from IPython.display import display

    display(function)
