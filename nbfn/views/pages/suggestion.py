"""A signature that covers several traces, as an outline."""

from __future__ import annotations

from nbfn.functions.signatures.cover import Cover
from nbfn.functions.traces.cause import Remedy
from nbfn.text import join
from nbfn.views.outline import Outline, advice


def suggestion_outline(cover: Cover) -> Outline:
    """What the page of a suggestion says."""
    numbers = [str(number) for number in cover.numbers]
    if len(numbers) == 1:
        return Outline(f"`{cover}`", [f"covers trace {numbers[0]} alone"])
    lines = [f"covers traces {join(numbers)}"]
    if cover.code is None:
        return Outline(f"`{cover}`", lines)
    remedy = advice(Remedy("Let one trace serve what they serve", cover.code))
    return Outline(f"`{cover}`", [*lines, remedy])
