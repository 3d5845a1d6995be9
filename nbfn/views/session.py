"""The session as an outline."""

from __future__ import annotations

from nbfn import protocol
from nbfn.outlines import session as outlines
from nbfn.outlines.outline import Outline
from nbfn.sessions.session import Session


def session_outline(session: Session) -> Outline:
    """Returns what is shown of a session: the rows that all views show, and what only text has."""
    seen = session.shown
    others = session.tables | session.datasets | session.iterators | session.optimizers
    return outlines.session_outline(
        seen.state,
        seen.totals or protocol.Totals(),
        auto=seen.auto,
        others={name: type(value).__name__.lstrip("_") for name, value in others.items()},
    )
