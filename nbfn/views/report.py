"""The session as one file that anybody can open: its views and pictures, without a kernel."""

from __future__ import annotations

import os
from pathlib import Path

from nbfn.errors import NbfnError
from nbfn.outlines.session_outline import session_outline
from nbfn.sessions.messages.feed import feed
from nbfn.sessions.session import Session, session
from nbfn.standalone import document


class ReportError(NbfnError, OSError):
    """A report could not be written."""


def report(path: str | os.PathLike[str] = "report.html", title: str = "Session") -> Path:
    """Writes the session to an HTML file, with the views and pictures of the panel.

    The file needs no kernel and no network. Where no script runs, it shows tables.

    Args:
        path: The file; one that is there is replaced.
        title: The title of the page.

    Returns:
        The file.

    Raises:
        ReportError: If it cannot be written.
    """
    here: Session = session()
    now = feed()
    file = Path(path)
    fallback = session_outline(here.shown).html()  # this updates the feed too
    snapshot = now.snapshot().model_copy(update={"pages": now.pages()})
    page = document(snapshot, title, fallback)
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        partial.write_text(page, encoding="utf-8")
        partial.replace(file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ReportError(f"the report could not be written to `{file}`: {error}") from error
    return file
