"""Values parted into tensors and what Python makes again around them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from nbfn.functions.reads import is_the_users
from nbfn.notebook.cells.kinds import LITERALS
from nbfn.notebook.cells.objects import ABSENT
from nbfn.notebook.cells.parts import Made
from nbfn.notebook.cells.paths import Path
from nbfn.notebook.cells.recipes import Recipe


class Parting(ABC):
    """Parts values; what is one object in two places stays one."""

    def __init__(self) -> None:
        self._done: dict[int, tuple[Any, Any]] = {}
        self._alive: list[Any] = []

    def part(self, value: Any, at: Path) -> tuple[Any, Any]:
        """Parts a value whose tensors go to a place among other tensors.

        Returns:
            What stands for the value, and its tensors in its own structure; None if there are none.
        """
        if isinstance(value, LITERALS) or value is ABSENT:
            return value, None
        if id(value) in self._done:
            return self._done[id(value)]
        self._alive.append(value)  # an id may be used again
        parted = self._done[id(value)] = self._part(value, at)
        return parted

    @abstractmethod
    def _part(self, value: Any, at: Path) -> tuple[Any, Any]:
        """Parts a value that was not met before."""

    def _made(self, value: Any, at: Path, recipe: Recipe) -> tuple[Made, Any]:
        """Parts what a value is made of, each by the step that leads to its tensors."""
        whole = not is_the_users(type(value).__module__)
        made = Made(recipe.make, fill=recipe.fill, whole=whole)
        self._done[id(value)] = (made, None)  # what it is made of may lead back to it
        tensors = {}
        for into, each in ((made.needs, recipe.needed), (made.rest, recipe.rest)):
            for step, item in each.items():
                part, tensors[step] = self.part(item, (*at, step))
                into.append(part)
        if all(skeleton is None for skeleton in tensors.values()):
            return made, None
        if list(tensors) == list(range(len(tensors))):
            return made, list(tensors.values())
        return made, {step: each for step, each in tensors.items() if each is not None}
