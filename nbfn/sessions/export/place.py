"""The place of an exported model: what may be replaced there, and how it is filled."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import tensorflow as tf

from nbfn.functions.calls.interruption import uninterrupted
from nbfn.sessions.export.resources import ExportError

RECORD = Path("assets.extra", "nbfn.json")
"""Where in a model's folder the record of its export is."""

_OF_A_MODEL = (
    *("saved_model.pb", "saved_model.pbtxt", "saved_model.cpb", "fingerprint.pb"),
    *("variables/variables.*", "assets/**", "debug/**", str(RECORD)),
)

_EMPTY = {(), ("variables",), ("assets",), ("assets.extra",), ("debug",)}


class ExportExistsError(ExportError, FileExistsError):
    """There is something at the export's path that may not be replaced."""


class Place:
    """Where a model goes.

    Args:
        target: The path as the user gave it.
        overwrite: Whether a SavedModel that is there may be replaced.

    Attributes:
        folder: The folder that the path stands for: where a symbolic link leads.

    Raises:
        ExportExistsError: If something is there and `overwrite` is false, or it is anything else
            than a SavedModel and nothing but that.
    """

    def __init__(self, target: Path, overwrite: bool) -> None:
        self.target = target
        self.folder = Path(os.path.realpath(target))
        self._overwrite = overwrite
        self._check()

    def _check(self) -> None:
        if not os.path.lexists(self.folder):
            return
        if not self._overwrite:
            raise ExportExistsError(f"`{self.target}` exists; give overwrite=True to replace it")
        if not self.folder.is_dir():
            raise ExportExistsError(
                f"`{self.target}` is a file, and no SavedModel that could be replaced; export to "
                "another path"
            )
        if not tf.saved_model.contains_saved_model(str(self.folder)):
            raise ExportExistsError(
                f"`{self.target}` is a folder that holds no SavedModel, so it is not replaced; "
                "export to another path, or to a new folder inside it"
            )
        others = sorted(self._others())
        if others:
            raise ExportExistsError(
                f"`{self.target}` holds `{others[0]}`, which is no part of a SavedModel and would "
                "be lost; move it elsewhere, or export to another path"
            )

    def _others(self) -> Iterator[str]:
        """What lies in the folder and belongs to no SavedModel, by its path in it."""
        for parent, folders, files in os.walk(self.folder):
            at = Path(parent).relative_to(self.folder)
            links = [name for name in folders if Path(parent, name).is_symlink()]
            if not folders and not files and at.parts[:1] not in _EMPTY:
                yield at.as_posix()
            for name in (*files, *links):
                if not any(_matches(at / name, pattern) for pattern in _OF_A_MODEL):
                    yield (at / name).as_posix()

    @contextmanager
    def beside(self) -> Iterator[Path]:
        """The path for a folder beside the place, which is gone at the end if it was not moved.

        So are the folders above the place that had to be made, if nothing has come into them.
        """
        above = [p for p in (self.folder.parent, *self.folder.parent.parents) if not p.exists()]
        folder = self.folder.with_name(f".{self.folder.name}.{secrets.token_hex(4)}")
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            yield folder
        finally:
            with uninterrupted():
                shutil.rmtree(folder, ignore_errors=True)
                for each in above:
                    with suppress(OSError):  # something is in it
                        each.rmdir()

    def fill(self, model: Path) -> None:
        """Moves a model to the place; the one that was there is removed only after that.

        Raises:
            ExportExistsError: If something has come there that may not be replaced.
        """
        with uninterrupted():
            self._check()
            if not os.path.lexists(self.folder):
                model.rename(self.folder)
                return
            old = model.with_name(model.name + ".old")
            self.folder.rename(old)
            try:
                model.rename(self.folder)
            except OSError:
                old.rename(self.folder)
                raise
            shutil.rmtree(old, ignore_errors=True)


def _matches(path: Path, pattern: str) -> bool:
    first, _, rest = pattern.partition("/")
    if rest == "**":
        return path.parts[0] == first
    return path.match(pattern) and len(path.parts) == len(Path(pattern).parts)
