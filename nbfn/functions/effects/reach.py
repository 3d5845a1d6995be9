"""Finds where the source of functions writes to or draws from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbfn.functions.effects.finder import Effect, Finder


def effects_of(functions: Iterable[Any]) -> list[Effect]:
    """Returns all effects in the source of some functions; functions without source are skipped."""
    finder = Finder(strict=False)
    return [effect for function in functions for effect in finder.in_function(function)]


def effect_on(place: str, kind: str, found: Iterable[Effect]) -> Effect | None:
    """Returns the effect that wrote to a place such as ``self.log``; None if it is not found."""
    candidates = [effect for effect in found if effect.reason.kind == kind and effect.target]
    for effect in candidates:
        if effect.target == place:
            return effect
    for effect in candidates:
        longer, shorter = sorted((effect.target, place), key=len, reverse=True)
        if longer.startswith(shorter) and longer[len(shorter)] in ".[":
            return effect
    return None
