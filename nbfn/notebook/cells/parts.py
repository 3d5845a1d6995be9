"""What a trace left, as parts from which the same is made again after each call.

A part is a value that stands for itself, or one of the classes here.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from nbfn.notebook.cells.contents import Content
from nbfn.notebook.cells.paths import Path


@dataclass(frozen=True)
class Slot:
    """Stands for a tensor: where it is in what the graph returns."""

    path: Path


@dataclass(frozen=True)
class Known:
    """Stands for something the notebook had before: the way that leads to it."""

    path: Path


@dataclass(eq=False)
class Made:
    """Stands for something the trace made.

    Attributes:
        make: Makes it, of what it needs.
        needs: What stands for what it needs.
        fill: Gives it the rest, which may lead back to it; None if there is no more.
        rest: What stands for the rest.
        whole: Whether it is gone if something of the rest is.
    """

    make: Callable[..., Any]
    needs: list[Any] = field(default_factory=list)
    fill: Callable[[Any, list[Any]], None] | None = None
    rest: list[Any] = field(default_factory=list)
    whole: bool = True


@dataclass(eq=False)
class Defined:
    """Stands for what a statement of the cell's defines: a class, a decorated function.

    Attributes:
        name: The name that it defines.
        code: The statement, compiled.
        attributes: What stands for the attributes that it had at the end of the trace.
    """

    name: str
    code: CodeType
    attributes: dict[str, Any] = field(default_factory=dict)


class Held:
    """Stands for an object that cannot be made again: the one of the trace."""

    def __init__(self, value: Any) -> None:
        self._strong = value
        try:
            self._weak: Any = weakref.ref(value)
        except TypeError:
            self._weak = None

    def get(self) -> Any:
        """The object, or `GONE`."""
        if self._weak is None:
            return self._strong
        target = self._weak()
        return GONE if target is None else target

    def loosen(self) -> None:
        """Lets go of the object, if it can be held weakly."""
        if self._weak is not None:
            self._strong = None


class _Gone:
    """Stands for a Python object that did not outlive the trace, such as a gradient tape."""


GONE = _Gone()


def within(part: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """A part, and the parts that it is made of."""
    seen = set() if seen is None else seen
    if id(part) in seen:
        return
    seen.add(id(part))
    yield part
    inner: Any = ()
    if isinstance(part, Made):
        inner = (*part.needs, *part.rest)
    elif isinstance(part, Defined):
        inner = part.attributes.values()
    for each in inner:
        yield from within(each, seen)


@dataclass
class Parts:
    """What one trace left, its tensors taken out.

    Attributes:
        results: What stands for each result, by name.
        changes: What stands for what has changed of each thing that was there before.
        deleted: Names that the cell took away on the way it went.
        decided: Names of results that TensorFlow decides to write or not.
        serves_once: Whether a later call needs another trace, because this one tells only how
            something is at its end.
        kept: Names of results that hold what only a trace makes, and the class of that.
        needed: What stands for the objects of the trace that names of the notebook lead to.
    """

    results: dict[str, Any]
    changes: dict[Path, Content] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()
    decided: frozenset[str] = frozenset()
    serves_once: bool = False
    kept: dict[str, str] = field(default_factory=dict)
    needed: tuple[Held, ...] = ()

    def all(self) -> Iterable[Any]:
        """Every part, and the parts that these are made of."""
        seen: set[int] = set()
        for part in self.results.values():
            yield from within(part, seen)
        for content in self.changes.values():
            for part in (content.items, *content.attributes.values()):
                yield from within(part, seen)

    def held(self) -> Iterator[Held]:
        """What stands for objects of the trace."""
        return (part for part in self.all() if isinstance(part, Held))

    def loosen(self) -> None:
        """Lets go of the objects: the notebook has them, or nobody wants them."""
        for part in self.held():
            part.loosen()

    def is_whole(self) -> bool:
        """Whether all of the objects that the notebook needs are still there."""
        return all(part.get() is not GONE for part in self.needed)
