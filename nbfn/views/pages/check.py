"""A comparison of eager and traced as an outline."""

from __future__ import annotations

from nbfn.functions.checking.check import Check
from nbfn.text import count
from nbfn.views.outline import Outline, Table, place


def check_outline(check: Check) -> Outline:
    """What the page of a check says."""
    compared = f"its result and {count(check.variables, 'variable')} compared"
    if check.ok:
        title = f"`{check.function}` does the same eagerly and traced"
    else:
        number = count(len(check.differences), "thing")
        title = f"`{check.function}` does {number} differently when it is traced"
    rows = [(place(each.site), each.kind, each.sentence) for each in check.differences]
    return Outline(
        title,
        [compared, *(f"note: {note}" for note in check.notes)],
        (Table("differences", ("where", "kind", "what"), rows, open=True),),
    )
