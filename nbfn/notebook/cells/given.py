"""Objects as arguments of a traced cell: their tensors are passed, the rest is made in the trace.

A cell that replaces an object, as ``state = update(state, batch)`` does, is given it. TensorFlow
takes an argument that is no nest of tensors as one constant; so what it is given is the nest of the
object's tensors, and a constant that says how to make the object around them.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.functions.survey import StandIn
from nbfn.notebook.cells.joining import Joining
from nbfn.notebook.cells.kinds import LITERALS, is_tensor
from nbfn.notebook.cells.objects import is_object
from nbfn.notebook.cells.parting import Parting
from nbfn.notebook.cells.parts import GONE, Held, Slot, within
from nbfn.notebook.cells.paths import Path
from nbfn.notebook.cells.recipes import recipe_of

MAX_TEMPLATES = 16


class Template(StandIn):
    """How to make an object around tensors; two objects of the same structure have the same one.

    Args:
        value: An object.
    """

    def __init__(self, value: Any) -> None:
        self._name = type(value).__name__
        self.part, _ = _Argument().part(value, ())
        for each in within(self.part):
            if isinstance(each, Held):
                each.loosen()

    def __repr__(self) -> str:
        return self._name

    def made_of(self, tensors: Any) -> Any:
        """The object, with other tensors."""
        return Joining(tensors, _nothing, _nothing).join(self.part)

    def stands_for(self) -> list[Any]:
        """What the object holds that is not made: its class, functions, objects of libraries."""
        return [each.get() for each in within(self.part) if isinstance(each, Held)]

    def is_whole(self) -> bool:
        """Whether all of that is still there."""
        return all(each is not GONE for each in self.stands_for())


def _nothing(_: Any) -> Any:
    return GONE


class Templates:
    """The templates of one cell, so that objects of the same structure find the same trace."""

    def __init__(self) -> None:
        self._by_structure: dict[Any, Template] = {}

    def given(self, value: Any) -> Any:
        """What a function is given for an object: its template, and its tensors."""
        structure = _structure(value, {})
        template = self._by_structure.pop(structure, None)
        if template is None or not template.is_whole():
            template = Template(value)
        self._by_structure[structure] = template
        if len(self._by_structure) > MAX_TEMPLATES:
            self._by_structure.pop(next(iter(self._by_structure)))
        return (template, _Argument().part(value, ())[1])


class _Argument(Parting):
    """Parts an argument: containers and objects of the user's are taken apart, and nothing else."""

    def _part(self, value: Any, at: Path) -> tuple[Any, Any]:
        if is_tensor(value):
            return Slot(at), value
        is_array = isinstance(value, np.ndarray)
        recipe = recipe_of(value) if is_array or is_object(value) else None
        return (Held(value), None) if recipe is None else self._made(value, at, recipe)


def taken(argument: Any) -> Any:
    """The object that an argument stands for; the argument itself if it stands for none."""
    if isinstance(argument, tuple) and argument and isinstance(argument[0], Template):
        return argument[0].made_of(argument[1])
    return argument


def _structure(value: Any, seen: dict[int, int]) -> Any:
    """What objects have in common that differ in their tensors only; hashable."""
    if isinstance(value, LITERALS):
        return (type(value), repr(value))
    if is_tensor(value):
        return tf.Tensor
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    if isinstance(value, np.ndarray):
        content = hashlib.blake2b(value.tobytes()).digest() if not value.dtype.hasobject else b""
        objects = tuple(map(id, value.flat)) if value.dtype.hasobject else ()
        return (value.dtype.str, value.shape, content, *objects)
    recipe = recipe_of(value) if is_object(value) else None
    if recipe is None:
        return id(value)
    parts = {**recipe.needed, **recipe.rest}
    return (id(type(value)), *((step, _structure(item, seen)) for step, item in parts.items()))
