"""What a trace leaves, parted into the graph's tensors and what Python makes again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import CellType, FunctionType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.naming import named_leaves
from nbfn.functions.reads import is_the_users
from nbfn.notebook.cells.code_names import functions_of
from nbfn.notebook.cells.contents import Content, holds_graph_tensor
from nbfn.notebook.cells.definitions import Definitions
from nbfn.notebook.cells.kinds import LITERALS, is_tensor, is_variable
from nbfn.notebook.cells.objects import (
    Elements,
    attributes,
    content_of_cell,
    is_object,
    is_plain,
)
from nbfn.notebook.cells.parting import Parting
from nbfn.notebook.cells.parts import GONE, Defined, Held, Known, Slot
from nbfn.notebook.cells.paths import Path
from nbfn.notebook.cells.recipes import Recipe, filling, function_recipe, recipe_of

_STREAMS = (tf.data.Dataset, tf.data.Iterator, tf.TensorArray)
_CONSTANTS = (Elements, tf.DType, tf.TensorShape, np.dtype, range, slice, type(...))


class Leaving(Parting):
    """Parts the values that one trace leaves.

    Args:
        known: What the notebook had before, by ``id``: the way that leads to it.
        given: The ``id`` of each container that the function was given. It is known too, and its
            tensors are results of the function nevertheless.
        namespace: The notebook's names, which lead to its variables.
        definitions: What the cell defines.
        local_state: Whether other variables end with the call.
    """

    def __init__(
        self,
        known: Mapping[int, Path],
        given: Iterable[int],
        namespace: Mapping[str, Any],
        definitions: Definitions,
        local_state: bool = False,
    ) -> None:
        super().__init__()
        self._known = known
        self._given = set(given)
        self._namespace = namespace
        self._definitions = definitions
        self._local_state = local_state

    def part_result(self, name: str, value: Any, at: Path) -> tuple[Any, Any]:
        """Parts the value that the cell has left to a name, as `part` does."""
        part, returned = self.part(value, at)
        is_new = value is not self._namespace.get(name)
        if isinstance(part, Held) and callable(value) and not isinstance(value, type) and is_new:
            code = self._definitions.statement(name)  # something that a decorator has made
            if code is not None:
                part = Defined(name, code)
                self._done[id(value)] = (part, None)
        return part, returned

    def part_content(self, content: Content, at: Path) -> tuple[Content, Any]:
        """Parts what has changed of something; the parts are in a content of the same structure."""
        if not content.attributes:
            part, skeleton = self.part(content.items, at)
            return replace(content, items=part), skeleton
        parts, returned = {}, {}
        for name, item in {"[]": content.items, **content.attributes}.items():
            parts[name], returned[name] = self.part(item, (*at, name))
        kept = {name: skeleton for name, skeleton in returned.items() if skeleton is not None}
        items = parts.pop("[]")
        return replace(content, items=items, attributes=parts), kept or None

    def _part(self, value: Any, at: Path) -> tuple[Any, Any]:
        path = self._known.get(id(value))
        if path is None:
            return self._new(value, at)
        return Known(path), self._new(value, at)[1] if id(value) in self._given else None

    def _new(self, value: Any, at: Path) -> tuple[Any, Any]:
        """Parts a value that the notebook did not have before."""
        if isinstance(value, tf.GradientTape):
            return GONE, None
        if isinstance(value, tf.Operation):  # eagerly there is none
            return None, None
        if isinstance(value, tf.Variable):
            return self._variable(value, at)
        if is_variable(value):
            return Held(value), None
        if isinstance(value, _STREAMS):
            return self._stream(value, at)
        if is_tensor(value):
            return Slot(at), value
        if isinstance(value, type):
            return self._class(value, at)
        if isinstance(value, FunctionType):
            return self._function(value, at)
        recipe = recipe_of(value)
        if recipe is not None:
            return self._made(value, at, recipe)
        return (value if isinstance(value, _CONSTANTS) else Held(value)), None

    # What belongs to TensorFlow ---------------------------------------------------------

    def _variable(self, value: Any, at: Path) -> tuple[Any, Any]:
        """A variable; what ``assign`` returns in a graph is one more, with the same handle."""
        assigned = _tensorflow.is_assigned_variable(value)
        if tf.executing_eagerly() or not (assigned or self._local_state):
            return Held(value), None
        read = tf.identity(value) if assigned else None
        for leaf in named_leaves(iter(list(self._namespace.items()))).values():
            if isinstance(leaf, tf.Variable) and leaf.handle is value.handle:
                return Held(leaf), read
        if self._local_state:
            return (Slot(at), read) if assigned else (GONE, None)
        return Held(value), read

    def _stream(self, value: Any, at: Path) -> tuple[Any, Any]:
        """A data set of the graph is returned; its iterator or tensor array would be dead."""
        is_array = isinstance(value, tf.TensorArray)
        parts = [value.flow] if is_array else tf.nest.flatten(value, expand_composites=True)
        if not any(tf.is_symbolic_tensor(part) for part in parts):
            return Held(value), None
        return (Slot(at), value) if isinstance(value, tf.data.Dataset) else (GONE, None)

    # What Python makes again --------------------------------------------------------------

    def _function(self, value: FunctionType, at: Path) -> tuple[Any, Any]:
        code = self._definitions.code_of(value)
        if code is None and any(map(self._is_new, value.__closure__ or ())):
            code = value.__code__
        if code is None:
            return Held(value), None
        return self._made(value, at, function_recipe(value, code))

    def _is_new(self, cell: CellType) -> bool:
        """Whether a cell of a closure holds what was not there before the trace."""
        held = content_of_cell(cell)
        if holds_graph_tensor(held):
            return True
        return is_object(held) and id(held) not in self._known and not isinstance(held, LITERALS)

    def _class(self, value: type, at: Path) -> tuple[Any, Any]:
        """A class: of the cell, it is defined anew; else, its functions are."""
        if not is_the_users(value.__module__):
            return value, None
        code = self._definitions.statement_of(value) if is_plain(value) else None
        named = attributes(value)
        if code is None:
            own = {name: item for name, item in named.items() if self._is_of_the_trace(item)}
            if not own:
                return Held(value), None
            recipe = Recipe(_itself, {}, own, filling(None, 0, list(own)))
            made, tensors = self._made(value, at, recipe)
            made.needs.append(Held(value))
            return made, tensors
        defined = Defined(value.__name__, code)
        self._done[id(value)] = (defined, None)
        returned: dict[str, Any] = {}
        for name, item in named.items():
            if not (callable(item) or hasattr(type(item), "__get__")):
                defined.attributes[name], returned[name] = self.part(item, (*at, name))
        return defined, returned if any(each is not None for each in returned.values()) else None

    def _is_of_the_trace(self, member: Any) -> bool:
        """Whether a member of a class has code that was defined while the cell was traced."""
        return holds_graph_tensor(member) or any(
            self._definitions.code_of(function) is not None for function in functions_of(member)
        )


def _itself(value: Any) -> Any:
    return value
