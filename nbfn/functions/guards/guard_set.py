"""Surveys a function: which globals, closures, attributes and helpers its traces depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nbfn.functions.bytecode.graph_time import NOTHING, GraphTime
from nbfn.functions.guards.fingerprints import Mark
from nbfn.functions.guards.guard_builder import Surveyor
from nbfn.functions.guards.source import Place, Survey

_MAX_ROUNDS = 4


def survey(
    python_function: Callable[..., Any], owner: Any = None, graph_time: GraphTime = NOTHING
) -> Survey:
    """Surveys a function, and the instance that it is a method of.

    Args:
        python_function: The function.
        owner: The instance; None if it is no method.
        graph_time: What its traces run at graph time, which they do not depend on.
    """
    return _rounds(frozenset(), [("self", owner), ("", python_function)], graph_time).survey


def survey_objects(
    objects: Iterable[tuple[str, Any]], attributes: frozenset[str], graph_time: GraphTime = NOTHING
) -> dict[Place, Mark]:
    """The marks of what some objects of the user's hold, as far as code names it."""
    return _rounds(attributes, list(objects), graph_time).survey.marks


def _rounds(
    attributes: frozenset[str], values: list[tuple[str, Any]], graph_time: GraphTime
) -> Surveyor:
    """Surveys until the code that was found names no attribute that was not looked at."""
    for _ in range(_MAX_ROUNDS):
        surveyor = Surveyor(attributes, graph_time)
        for name, value in values:
            surveyor.follow(name, name, value, lambda value=value: value)  # type: ignore[misc]
        surveyor.walk()
        if surveyor.named <= attributes:
            break
        attributes |= surveyor.named
    return surveyor
