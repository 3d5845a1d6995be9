"""The errors that nbfn raises: one base class, and one class for each family."""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import TYPE_CHECKING

TENSORFLOW = "tensorflow>=2.19"
"""What nbfn needs of TensorFlow, as pip writes it."""

_TITLES = {"tensorflow": "TensorFlow", "keras": "Keras"}


class NbfnError(Exception):
    """Base class of every error that nbfn raises on purpose.

    Errors that have a Python meaning also derive from it (``TypeError``, ``ValueError``,
    ``AttributeError``), so that code which knows nothing of nbfn can still catch them. The message
    names the culprit by the user's name for it, says what was found and expected, and what to do.
    """

    if not TYPE_CHECKING:
        # AutoGraph raises an error anew, and keeps the class only if this is its constructor.
        __init__ = Exception.__init__


class TensorFlowError(NbfnError, ImportError):
    """TensorFlow is missing, or cannot be imported.

    It is raised where it is first needed, because importing nbfn imports no TensorFlow.
    """

    def _render_traceback_(self) -> list[str]:
        """Is asked by IPython: what is wrong is the environment, and no line of the notebook's."""
        return [f"{type(self).__name__}: {self}"]


def without_tensorflow(error: Exception) -> TensorFlowError | None:
    """The error to raise in place of one that an import of TensorFlow or Keras has raised.

    Args:
        error: What an import has raised.

    Returns:
        It, with the command that mends it; None if the error is of something else.
    """
    for package in _TITLES:
        if package not in sys.modules and _is_of(error, package):
            break
    else:
        return None
    if isinstance(error, ModuleNotFoundError) and error.name == package:
        install = f"pip install '{TENSORFLOW}'"
        told = TensorFlowError(
            f"nbfn needs {_TITLES[package]}, which is not installed here; install it with: "
            f"python -m {install} (in a notebook: %{install})"
        )
    else:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        told = TensorFlowError(
            f"nbfn needs {_TITLES[package]}, and `import {package}` fails ({what}); install it "
            f"again with: python -m pip install --force-reinstall '{TENSORFLOW}', and restart"
        )
        told.__cause__ = error
    told.name = package
    return told


def _is_of(error: Exception, package: str) -> bool:
    """Whether an import of a package has raised an error, or of a part of it."""
    name = getattr(error, "name", None) or ""
    frames = traceback.walk_tb(error.__traceback__)
    modules = [name, *(frame.f_globals.get("__name__", "") for frame, _ in frames)]
    return any(module.partition(".")[0] == package for module in modules)


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
