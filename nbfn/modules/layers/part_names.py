"""Names of parts: derived from the type, unique in their container, with suffixes from 1.

Implements: Merlin Design Document, section "Naming".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import NameInUseError
from nbfn.modules.lifecycle.fields import is_module

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[0-9]+[A-Z]?(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def snake_case(name: str) -> str:
    """Converts ``Conv2D`` to ``conv_2d`` and ``ROIPooling`` to ``roi_pooling``."""
    return "_".join(_WORDS.findall(name)).lower()


def part_names(parts: Iterable[Any]) -> list[str]:
    """Returns the name of each part; one object in two places has one name.

    The ``name=`` of a module is kept, and other names avoid it. Another ``tf.Module`` always has a
    name, which may be automatic, so it gets a suffix if the name is taken.

    Raises:
      NameInUseError: two different modules have the same ``name=``.
    """
    every, names = list(parts), dict[int, str]()
    for part in every:
        if is_module(part) and part.name is not None and id(part) not in names:
            if part.name in names.values():
                raise NameInUseError(
                    f"Two parts have the name {part.name!r}. Choose another name= for one of "
                    "them, or leave it out, and a free one is made from the type."
                )
            names[id(part)] = part.name
    taken = set(names.values())
    for part in every:
        if id(part) not in names:
            name = base = _base(part)
            for index in itertools.count(1):
                if name not in taken:
                    break
                name = f"{base}_{index}"
            names[id(part)] = name
            taken.add(name)
    return [names[id(part)] for part in every]


def _base(part: Any) -> str:
    if is_module(part):
        return snake_case(part._kind())
    if isinstance(part, tf.Module):
        # It has no name if its constructor did not call the base class's.
        return getattr(part, "name", None) or snake_case(type(part).__name__)
    name = getattr(part, "__name__", None) or type(part).__name__
    return snake_case(name)
