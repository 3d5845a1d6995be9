"""The base class of all errors of nbfn, its warning category, and reports of internal failures."""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import TYPE_CHECKING, Any

TENSORFLOW = "tensorflow>=2.19"
"""The required version of TensorFlow, as a pip requirement."""

_TITLES = {"tensorflow": "TensorFlow", "keras": "Keras"}


class NbfnError(Exception):
    """Base class of every error that nbfn raises on purpose.

    Errors with a Python equivalent also derive from it (``TypeError``, ``ValueError``,
    ``AttributeError``), so that code without knowledge of nbfn can catch them. The message names
    the cause as the notebook names it, what was found and expected, and what to do.
    """

    if not TYPE_CHECKING:
        # AutoGraph re-raises an error as the same class only if its constructor is
        # `Exception.__init__` (TensorFlow 2.21).
        __init__ = Exception.__init__


class TensorFlowError(NbfnError, ImportError):
    """Raised if TensorFlow is missing or cannot be imported.

    It is raised where TensorFlow is first needed, because importing nbfn does not import it.
    """

    def _render_traceback_(self) -> list[str]:
        """Called by IPython: the traceback is omitted because the notebook is not the cause."""
        return [f"{type(self).__name__}: {self}"]


def without_tensorflow(error: Exception) -> TensorFlowError | None:
    """Returns the error to raise instead of an import error of TensorFlow or Keras.

    Args:
        error: The error that an import has raised.

    Returns:
        An error with the command that installs the package; None if the import of TensorFlow or
        Keras did not fail.
    """
    for package in _TITLES:
        if package not in sys.modules and _is_of(error, package):
            break
    else:
        return None
    if isinstance(error, ModuleNotFoundError) and error.name == package:
        install = f"pip install '{TENSORFLOW}'"
        replacement = TensorFlowError(
            f"nbfn needs {_TITLES[package]}, which is not installed here; install it with: "
            f"python -m {install} (in a notebook: %{install})"
        )
    else:
        # In one line, as an error of the loader may have many.
        what = " ".join(f"{type(error).__name__}: {error}".split())
        replacement = TensorFlowError(
            f"nbfn needs {_TITLES[package]}, and `import {package}` fails ({what}); install it "
            f"again with: python -m pip install --force-reinstall '{TENSORFLOW}', and restart"
        )
        replacement.__cause__ = error
    replacement.name = package
    return replacement


def _is_of(error: Exception, package: str) -> bool:
    """Returns whether an error was raised by the import of a package or of a part of it."""
    name = getattr(error, "name", None) or ""
    frames = traceback.walk_tb(error.__traceback__)
    modules = [name, *(frame.f_globals.get("__name__", "") for frame, _ in frames)]
    return any(module.partition(".")[0] == package for module in modules)


class NbfnWarning(UserWarning):
    """Category of all warnings of nbfn, for use in warning filters."""


_reported: set[str] = set()


def report_failure(what: str, error: Exception) -> None:
    """Warns of an internal failure of nbfn, once for each text.

    Code that observes calls must not raise: it reports its failures here and continues.

    Args:
        what: What nbfn failed to do, as the end of a sentence about nbfn.
        error: The error.
    """
    if what not in _reported:
        _reported.add(what)
        warnings.warn(f"nbfn {what}: {error!r}", NbfnWarning, stacklevel=3)


class reporting:  # noqa: N801  (used like a function)
    """A block whose failure ends the block only, and is reported by `report_failure`."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> bool:
        if isinstance(error, Exception):
            report_failure(self._what, error)
        return isinstance(error, Exception)
