"""Adds the address of the documentation to errors that it explains, as a note."""

from __future__ import annotations

import tensorflow as tf

from nbfn.functions.inside.numerics_checker import NumericsError
from nbfn.functions.recording.refusal import RefusedError
from nbfn.package import page_of_guide


def add_address(error: BaseException) -> None:
    """Adds the address of the page that explains an error, once."""
    notes = getattr(error, "__notes__", [])
    page = None
    if isinstance(error, RefusedError):
        page = error.page
    elif isinstance(error, NumericsError) or (
        isinstance(error, tf.errors.OpError) and any("nbfn.postmortem" in note for note in notes)
    ):
        page = page_of_guide("inside")
    if page is not None and not any(page in note for note in notes):
        error.add_note(f"See {page}")
