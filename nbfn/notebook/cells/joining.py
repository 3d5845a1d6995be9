"""What a call left, made from the parts of its trace and from what the graph returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbfn.notebook.cells.objects import set_attribute
from nbfn.notebook.cells.parts import GONE, Defined, Held, Known, Made, Slot
from nbfn.notebook.cells.paths import Path


class Joining:
    """Puts values together again after one call.

    Args:
        returned: What the graph returned.
        find: Finds what the notebook had before, by the way that leads to it.
        define: Runs a statement that defines something, and gives what it defined.
    """

    def __init__(
        self, returned: Any, find: Callable[[Path], Any], define: Callable[[Defined], Any]
    ) -> None:
        self._returned = returned
        self._find = find
        self._define = define
        self._known: dict[Path, Any] = {}
        self._done: dict[int, Any] = {}

    def join(self, part: Any) -> Any:
        """The value that a part stands for; `GONE` if something that it needs is."""
        if isinstance(part, Slot):
            value = self._returned
            for step in part.path:
                value = value[step]
            return value
        if isinstance(part, Known):
            if part.path not in self._known:
                self._known[part.path] = self._find(part.path)
            return self._known[part.path]
        if isinstance(part, Held):
            return part.get()
        if isinstance(part, (Made, Defined)):
            if id(part) not in self._done:
                (self._make if isinstance(part, Made) else self._run)(part)
            return self._done[id(part)]
        return part

    def _make(self, part: Any) -> None:
        needs = [self.join(each) for each in part.needs]
        if id(part) in self._done:  # something that it needs leads back to it
            return
        if any(each is GONE for each in needs):
            self._done[id(part)] = GONE
            return
        made = self._done[id(part)] = part.make(*needs)
        if part.fill is not None:
            rest = [self.join(each) for each in part.rest]
            if part.whole and any(each is GONE for each in rest):
                self._done[id(part)] = GONE
            else:
                part.fill(made, rest)

    def _run(self, part: Any) -> None:
        made = self._done[id(part)] = self._define(part)
        for name, each in part.attributes.items():
            item = self.join(each)
            if item is not GONE and made is not GONE:
                set_attribute(made, name, item)
