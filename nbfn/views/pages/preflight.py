"""What stands against an export, as an outline."""

from __future__ import annotations

from nbfn.sessions.export.preflight import Preflight
from nbfn.text import count
from nbfn.views.outline import Outline, Table


def preflight_outline(found: Preflight) -> Outline:
    """What the page of a preflight says: what an export is refused for, and remarks."""
    if not found:
        return Outline("nothing stands against an export")
    fatal = [each for each in found if each.is_fatal]
    remarks = [each for each in found if not each.is_fatal]
    return Outline(
        f"{count(len(fatal), 'obstacle')}, {count(len(remarks), 'remark')}",
        (),
        [
            Table(
                title,
                ("function", "what", "what to do"),
                [(f"`{each.function}`", each.what, each.remedy) for each in problems],
                open=True,
            )
            for title, problems in (("the export is refused", fatal), ("remarks", remarks))
        ],
    )
