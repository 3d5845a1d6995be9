"""The cell magics, thin wrappers of Python calls."""

from __future__ import annotations

import builtins
import keyword
import sys
from argparse import SUPPRESS, Namespace
from importlib.util import find_spec
from typing import Any, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument

from nbfn.notebook.cells.syntax import MAGIC
from nbfn.notebook.magics.auto import SWITCH, Auto
from nbfn.notebook.magics.line_arguments import magic

_KEPT = "_nbfn_cells"
"""The notebook's name for the traced cells, which are deleted with the other names."""

_TEXT = "text:"
"""Prefix of the key of a cell with neither name nor id."""

# Cells without an id, as in a console, are known by their text: each edit makes another one.
_MAX_TEXTS = 100
_Kept = TypeVar("_Kept")


@magics_class
class CellMagics(Magics):
    """The magics that run cells."""

    _shown: tuple[Any, Any] | None = None
    """The run of a cell and the state displayed last; ``%%timeit`` runs a cell many times."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.auto = Auto(shell)

    @property
    def _cells(self) -> dict[str, Any]:
        """The traced cells by name, id or text."""
        # In the namespace, so that `%reset` deletes them with the functions that they hold.
        return self.shell.user_ns.setdefault(_KEPT, {})  # type: ignore[no-any-return]

    @magic(
        argument("name", nargs="?", help="name of what the cell becomes"),
        argument(
            "--whole", action="store_true", help="run the whole cell as one graph, or refuse it"
        ),
        argument(
            "-i", "--inputs", help="names that it takes as arguments, such as x,labels (--whole)"
        ),
        argument(
            "-o",
            "--outputs",
            help="names that it assigns in the notebook, such as y,loss (--whole)",
        ),
        argument(
            "--define", action="store_true", help="make the function and do not run it (--whole)"
        ),
        argument("--check", action="store_true", help="compare each new trace with an eager run"),
        argument("--signature", help='input signature: "x: float32[None, 8], n: int32" or a list'),
        argument("--relax", action="store_true", help="let traces cover sizes that change"),
        argument("--jit", action="store_true", help="compile it with XLA (jit_compile=True)"),
        argument("--no-autograph", action="store_true", help="leave Python control flow as it is"),
        argument(
            "--local-state", action="store_true", help="variables live for one call (--whole)"
        ),
        argument(
            "--max-traces",
            type=int,
            help="number of traces before --on-limit applies (default: 16)",
        ),
        argument(
            "--on-limit",
            choices=("warn", "raise", "evict", "eager"),
            help="what happens when a call needs one trace more (default: warn)",
        ),
        argument(
            "--on-stale",
            choices=("retrace", "warn", "raise", "ignore"),
            help="what happens when a value that the trace has read changes (default: retrace)",
        ),
        argument(
            "--stance",
            choices=("default", "fail_on_retrace", "eager", "eager_on_retrace", "check_numerics"),
            help="what this run does when no trace fits, or whether it stops at NaN",
        ),
        argument("--auto", action="store_true", help=SUPPRESS),
        argument("--device", help="device that the cell runs on, such as CPU:0"),
        kind=cell_magic,
    )
    def tf_function(self, arguments: Namespace, cell: str) -> Any:
        """Run a cell in segments: some statements as graphs, the others as Python.

        The first iteration of a loop runs as Python. Statements that compute with tensors are then
        traced, and their graphs serve the next iterations and runs. What a cell leaves, prints and
        raises is the same as without the magic. In a cell of definitions each top-level ``def``
        becomes a traced function. Python: ``nbfn.function``.

        Examples::

            %%tf_function train
            for images, labels in batches:
                with tf.GradientTape() as tape:
                    loss = loss_of(model(images), labels)
                grads = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(grads, model.trainable_variables))
                print(f"{loss:.3f}")
        """
        __tracebackhide__ = True
        from nbfn.notebook.cells.cell_options import CellOptions
        from nbfn.notebook.cells.parse import is_definitions, parse_cell

        name = arguments.name
        if name is not None and not _may_name_a_function(name):
            raise UsageError(f"`{name}` is not an identifier, or it names a builtin")
        options = CellOptions.of(arguments)
        parsed_cell = parse_cell(cell, self.shell, has_magic=not arguments.auto)
        if arguments.auto:
            return self._run_lazily(parsed_cell, options)
        if is_definitions(parsed_cell.body):
            return self._define(parsed_cell, options, arguments)
        if options.is_whole:
            return self._run_whole(parsed_cell, options, arguments)
        return self._run(parsed_cell, options, name)

    def _define(self, cell: Any, options: Any, arguments: Any) -> None:
        __tracebackhide__ = True
        from nbfn.notebook.cells.define import define, remarks_on

        names = [node.name for node in cell.body if hasattr(node, "args")]
        if arguments.name is not None and arguments.name not in names:
            raise UsageError(f"the cell defines {', '.join(names)}, but no `{arguments.name}`")
        if arguments.check:
            raise UsageError("--check is for a cell that runs; call .check(…) of the function")
        for function in define(cell, options, self.shell):
            _show(function)
            remarks_on(function)

    def _run(self, cell: Any, options: Any, name: str | None) -> Any:
        """Runs a body cell in segments."""
        __tracebackhide__ = True
        from nbfn.functions.segments.cell import TracedCell
        from nbfn.notebook.cells.segmented import segmented_cell, surrounded

        namespace, is_own = self.shell.user_ns, name is not None and _uses(cell, name)
        slot = self._slot(cell, None if is_own else name)
        traced_cell = segmented_cell(
            cell, name, options, self.shell, self._cell_of(slot, TracedCell)
        )
        self._keep(slot, traced_cell)
        before = namespace.get(name)
        try:
            with surrounded(options):
                value = traced_cell()
        finally:
            shown = traced_cell if traced_cell.whole is None else traced_cell.whole
            if is_own or namespace.get(name) is not before:
                print(f"{MAGIC}: the code has a `{name}` of its own; give the cell another name")  # noqa: T201
            elif name is not None:
                if traced_cell.whole is not None:
                    traced_cell.whole.known_as = name
                namespace[name] = shown
        self._show_once(shown, traced_cell.state())
        return value

    def _run_lazily(self, cell: Any, options: Any) -> Any:
        """Runs a cell under ``%tf_auto``, without a display."""
        __tracebackhide__ = True
        from nbfn.functions.segments.cell import TracedCell
        from nbfn.notebook.cells.segmented import segmented_cell

        slot = self._slot(cell, None)
        previous = self._cell_of(slot, TracedCell)
        traced_cell = segmented_cell(cell, None, options, self.shell, previous, lazily=True)
        traced_cell.known_as = SWITCH
        self._keep(slot, traced_cell)
        return traced_cell()

    def _run_whole(self, cell: Any, options: Any, arguments: Any) -> Any:
        """Runs a body cell as one graph."""
        __tracebackhide__ = True
        from nbfn.functions import unregister
        from nbfn.notebook.cells.whole import WholeCell, whole

        name = arguments.name
        slot = self._slot(cell, name)
        previous = self._cell_of(slot, WholeCell)
        graph = whole(cell, name, options, self.shell, previous)
        namespace, value = self.shell.user_ns, None
        if arguments.check:
            print(graph.check(namespace))  # noqa: T201
        if not arguments.define:
            try:
                value = graph.run(namespace, options)
            except BaseException:
                if graph is not previous:
                    unregister(graph.function)
                raise
        self._keep(slot, graph)
        if name is not None:
            namespace[name] = graph.function
        recorder = graph.function.recorder
        self._show_once(graph.function, (recorder.last == "hit", len(graph.function.traces)))
        return value

    # What is kept of cells ----------------------------------------------------------------

    def _slot(self, cell: Any, name: str | None) -> str:
        from nbfn.site import current_cell

        running = current_cell()
        self.forget_dropped()
        return name or (f"id:{running.id}" if running and running.id else f"{_TEXT}{cell.cell}")

    def _cell_of(self, slot: str, kind: type[_Kept]) -> _Kept | None:
        cell = self._cells.get(slot)
        return cell if isinstance(cell, kind) else None

    def _keep(self, slot: str, cell: Any) -> None:
        cells = self._cells
        cells.pop(slot, None)
        cells[slot] = cell
        texts = [key for key in cells if key.startswith(_TEXT)]
        for other in texts[:-_MAX_TEXTS]:
            del cells[other]

    def _show_once(self, shown: Any, state: Any) -> None:
        """Displays an object, but only once per run of a cell and state."""
        from nbfn.site import current_cell

        running = current_cell()
        if running is None or self._shown != (running, state):
            _show(shown)
        self._shown = (running, state) if running is not None else None

    @magic(
        argument(
            "switch",
            nargs="?",
            choices=("on", "off"),
            help="on: the cells that follow run in segments without a magic of their own; without "
            "either, print which it is",
        )
    )
    def tf_auto(self, arguments: Namespace) -> None:
        """Run every cell that follows in segments, if it has no cell magic of its own.

        Only what runs often is traced, so that a cell which runs once costs nothing.

        Examples::

            %tf_auto on
            %tf_auto
        """
        switch = arguments.switch
        if switch is None:
            print(f"{SWITCH} is {'on' if self.auto.is_on else 'off'}")  # noqa: T201
            return
        is_on = switch == "on"
        if is_on and "tensorflow" not in sys.modules and find_spec("tensorflow") is None:
            raise ModuleNotFoundError(name="tensorflow")  # otherwise every cell would fail
        self.auto.switch(is_on)

    @magic(kind=cell_magic)
    def tf_eager(self, _arguments: Namespace, cell: str) -> Any:
        """Run a cell with every traced function in it run eagerly, line by line.

        Prints happen at each call, tensors have values, and a debugger stops in the Python code.
        Python: ``with nbfn.stance("eager"):``.

        Examples::

            %%tf_eager
            train_step(images, labels)
        """
        __tracebackhide__ = True
        from nbfn.functions import stance
        from nbfn.notebook.magics.plain_cell import run_plain_cell

        with stance("eager"):
            return run_plain_cell(self.shell, cell)

    def forget_dropped(self) -> None:
        """Drops the traced cells whose name was deleted or assigned again."""
        namespace = self.shell.user_ns
        cells = namespace.get(_KEPT) or {}
        for slot, cell in list(cells.items()):
            if not slot.isidentifier():
                continue
            whole = getattr(cell, "whole", getattr(cell, "function", None))
            there = namespace.get(slot)
            is_there = there is cell or (whole is not None and there is whole)
            if not is_there and getattr(cell, "runs", True):
                del cells[slot]

    def forget(self) -> None:
        """Drops all traced cells."""
        self.shell.user_ns.pop(_KEPT, None)


def _may_name_a_function(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name)


def _uses(cell: Any, name: str) -> bool:
    """Returns whether a cell itself reads or assigns a name."""
    from nbfn.functions.segments.analysis import names_of

    return name in cell.source and any(name in names for names in names_of(cell.body))


def _show(function: Any) -> None:
    from IPython.display import display

    display(function)
