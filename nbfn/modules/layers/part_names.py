"""Names of parts: from the type, unique in their container, suffixed from 1.

Implements: Merlin Design Document, section "Naming".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import NameInUseError
from nbfn.modules.lifecycle.fields import is_module

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[0-9]+[A-Z]?(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def snake_case(name: str) -> str:
    """``Conv2D`` as ``conv_2d``, ``ROIPooling`` as ``roi_pooling``."""
    return "_".join(_WORDS.findall(name)).lower()


class UniqueNames:
    """The names of one construction scope: ``dense``, ``dense_1``, ``dense_2``, ..."""

    def __init__(self) -> None:
        """No name is taken."""
        self._taken: set[str] = set()

    def take(self, base: str) -> str:
        """The base if it is free, else the base with the first free index from 1."""
        name, index = base, 0
        while name in self._taken:
            index += 1
            name = f"{base}_{index}"
        self._taken.add(name)
        return name

    def take_exactly(self, name: str) -> None:
        """Takes a name that somebody chose.

        Raises:
          NameInUseError: it is taken.
        """
        if name in self._taken:
            raise NameInUseError(
                f"Two parts have the name {name!r}. Choose another name= for one of them, or "
                "leave it out, and a free one is made from the type."
            )
        self._taken.add(name)


def part_names(parts: Iterable[Any]) -> list[str]:
    """The name of each part; one object in two places has one name.

    The ``name=`` of a module is kept, and the others make way for it. A ``tf.Module`` of another
    kind always has a name, so it cannot be told who chose it: such a name gets a suffix if it is
    taken.

    Raises:
      NameInUseError: two different modules have the same ``name=``.
    """
    names, known, held = UniqueNames(), dict[int, str](), list(parts)
    for part in held:
        if is_module(part) and part.name is not None and id(part) not in known:
            names.take_exactly(part.name)
            known[id(part)] = part.name
    for part in held:
        if id(part) not in known:
            known[id(part)] = names.take(_base(part))
    return [known[id(part)] for part in held]


def find_part(parts: Sequence[Any], names: Sequence[str], name: str) -> Any:
    """The part of that name, or None."""
    return next((p for p, n in zip(parts, names, strict=True) if n == name), None)


def _base(part: Any) -> str:
    if is_module(part):
        return snake_case(part._kind())
    if isinstance(part, tf.Module):
        # It has none if its constructor did not call the base class's.
        return getattr(part, "name", None) or snake_case(type(part).__name__)
    name = getattr(part, "__name__", None) or type(part).__name__
    return snake_case(name)
