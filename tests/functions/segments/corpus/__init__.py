"""Cells as people write them in notebooks, by subject."""

from __future__ import annotations

from tests.functions.segments.corpus import (
    breaking,
    by_hand,
    exploration,
    images,
    pythonic,
    simulation,
    tables,
    text,
    training,
)
from tests.functions.segments.corpus.story import Story

STORIES: list[Story] = [
    *exploration.STORIES,
    *training.STORIES,
    *simulation.STORIES,
    *by_hand.STORIES,
    *text.STORIES,
    *images.STORIES,
    *tables.STORIES,
    *pythonic.STORIES,
    *breaking.STORIES,
]
"""All of them; each has a name of its own."""
