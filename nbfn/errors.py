"""The errors that nbfn raises: one base class, and one class for each family."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING


class NbfnError(Exception):
    """Base class of every error that nbfn raises on purpose.

    Errors that have a Python meaning also derive from it (``TypeError``, ``ValueError``,
    ``AttributeError``), so that code which knows nothing of nbfn can still catch them. The message
    names the culprit by the user's name for it, says what was found and expected, and what to do.
    """

    if not TYPE_CHECKING:
        # AutoGraph raises an error anew, and keeps the class only if this is its constructor.
        __init__ = Exception.__init__


class NbfnWarning(UserWarning):
    """Category of every warning that nbfn gives, for use in warning filters."""


_told: set[str] = set()


def tell_failure(what: str, error: Exception) -> None:
    """Warns, once for each text, of a failure of nbfn's own.

    Whoever observes the user's calls catches what goes wrong, tells it here, and tries again next
    time.

    Args:
        what: What nbfn did not do, as the user sees it.
        error: What went wrong.
    """
    if what not in _told:
        _told.add(what)
        warnings.warn(f"nbfn {what}: {error!r}", NbfnWarning, stacklevel=3)
