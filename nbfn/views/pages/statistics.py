"""The values of variables as an outline."""

from __future__ import annotations

from nbfn.sessions.contents.statistics import Statistics, VariableStatistics
from nbfn.text import count
from nbfn.views.outline import Outline, Table

_HEADER = ("name", "shape", "values", "mean ± deviation", "from", "to", "not finite", "change")


def statistics_outline(statistics: Statistics) -> Outline:
    """What the view of the values of variables says."""
    rows = [_row(each) for each in statistics]
    return Outline(
        f"values of {count(len(statistics), 'variable')}",
        (),
        (Table("variables", _HEADER, rows, open=True),),
    )


def _row(each: VariableStatistics) -> tuple[str, ...]:
    shape = each.dtype + str(list(each.shape))
    if each.mean is None:
        return (each.name, shape, "", "", "", "", _counted(each.not_finite), _change(each.change))
    return (
        each.name,
        shape,
        each.bars,
        f"{each.mean:.4g} ± {each.deviation:.3g}",
        f"{each.minimum:.4g}",
        f"{each.maximum:.4g}",
        _counted(each.not_finite),
        _change(each.change),
    )


def _counted(number: int) -> str:
    return f"{number:,}" if number else ""


def _change(change: float | None) -> str:
    return "" if change is None else "none" if change == 0 else f"{change:.2%}"
