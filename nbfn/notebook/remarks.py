"""Where a traced cell cannot do what an eager one does: said under the cell, by line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from nbfn.notebook.cell import TracedCell
from nbfn.notebook.inputs import is_tensor_or_array
from nbfn.notebook.outputs import VALUE

_EFFECTS = {
    "print": "tf.print prints at each call",
    "input": "ask in a cell above",
    "open": "read files in a cell above, or with tf.io",
    "exec": "names that it assigns are not left in the notebook",
}
_MODULES = {
    "random": "tf.random draws at each call",
    "numpy.random": "tf.random draws at each call",
    "time": "tf.timestamp() tells the time at each call",
    "datetime": "tf.timestamp() tells the time at each call",
    "logging": "tf.print writes at each call",
    "warnings": "warn in a cell of its own",
}


@dataclass(frozen=True)
class Effect:
    """A call whose effect happens in Python, and so only while the cell is traced."""

    line: int
    call: str
    advice: str


@dataclass(frozen=True)
class Remarks:
    """What may differ from an eager run of a cell.

    Attributes:
        effects: Its Python effects.
        numbers: Calls that give a tensor where Python gives a number.
        arrays: The names of the notebook's arrays.
    """

    effects: tuple[Effect, ...]
    numbers: tuple[Effect, ...]
    arrays: frozenset[str]

    def lines(self, traced_cell: TracedCell) -> list[str]:
        """What to say after a run."""
        if traced_cell.outputs.ran_eagerly:
            return list(self._missing(traced_cell))
        hit = traced_cell.traced.recorder.last == "hit"
        ran = "did not run, because a trace was there" if hit else "ran because the cell was traced"
        said = [f"line {e.line}: `{e.call}` {ran}; {e.advice}" for e in self.effects]
        said += [f"line {e.line}: `{e.call}` {e.advice}" for e in self.numbers]
        arrays = [name for name in traced_cell.inputs if name in self.arrays]
        if arrays and not hit:
            names = ", ".join(f"`{name}`" for name in arrays)
            said.append(
                f"{names}: a NumPy array is a tensor in a traced cell, and so is its result"
            )
        return [*said, *self._missing(traced_cell)]

    @staticmethod
    def _missing(traced_cell: TracedCell) -> Iterator[str]:
        for name in sorted(traced_cell.omitted):
            yield (
                f"`{name}` is not left in the notebook, because a loop gives it its first value; "
                "assign it above the loop"
            )
        for name in traced_cell.lost:
            what = "the value of the last line" if name == VALUE else f"`{name}`"
            yield f"{what} ended with the trace, and is not left in the notebook"

    def show(self, traced_cell: TracedCell) -> None:
        """Displays what there is to say, as text and as HTML."""
        said = self.lines(traced_cell)
        if said:
            from IPython.display import display

            from nbfn.views.outline import Outline

            outline = Outline("This cell differs from an eager one:", said)
            display({"text/plain": outline.text(), "text/html": outline.html()}, raw=True)


def remarks_on(body: Sequence[ast.stmt], namespace: Mapping[str, Any]) -> Remarks:
    """Finds what may differ.

    Args:
        body: The cell's statements, with the cell's line numbers.
        namespace: The notebook's names, before the cell runs.
    """
    values = list(namespace.items())
    arrays = [name for name, value in values if isinstance(value, (np.ndarray, np.generic))]
    effects = tuple(_effects(body, namespace))
    return Remarks(effects, tuple(_numbers(body, namespace)), frozenset(arrays))


def _numbers(body: Sequence[ast.stmt], namespace: Mapping[str, Any]) -> Iterator[Effect]:
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        function = node.func.id
        if function not in ("int", "float", "range") or function in namespace:
            continue
        names = (inner for each in node.args for inner in ast.walk(each))
        if any(isinstance(n, ast.Name) and is_tensor_or_array(namespace.get(n.id)) for n in names):
            what = "numbers" if function == "range" else "a number"
            yield Effect(
                node.lineno, f"{function}(…)", f"of a tensor gives tensors here, not {what}"
            )


def _effects(body: Sequence[ast.stmt], namespace: Mapping[str, Any]) -> Iterator[Effect]:
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called in _EFFECTS and called not in namespace:
            yield Effect(node.lineno, f"{called}(…)", _EFFECTS[called])
            continue
        module = _module(node.func, namespace)
        for name, advice in _MODULES.items():
            if module is not None and (module == name or module.startswith(f"{name}.")):
                yield Effect(node.lineno, f"{called}(…)", advice)
                break


def _module(node: ast.expr, namespace: Mapping[str, Any]) -> str | None:
    """The module that a called function belongs to, as far as the notebook's names tell."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    value = namespace.get(node.id)
    for name in reversed(names):
        if not isinstance(value, ModuleType):
            break
        value = getattr(value, name, None)
    owner = getattr(value, "__self__", None)
    found = getattr(value, "__module__", None) or type(owner).__module__
    return found if isinstance(found, str) else None
