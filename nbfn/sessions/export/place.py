"""The place of an exported model: what may be replaced there, and how it is filled.

A model is written into a folder beside its place, ``.model.1f2e3d4c`` for a place called ``model``,
which its writer has locked. Then the two exchange their names in one step, so that whoever is
killed, and whenever, leaves one whole model there. Where the system cannot exchange names, the old
model steps aside for a moment, to ``.model.1f2e3d4c.old``; who is killed just then finds it there.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from nbfn.functions.calls.interruption import uninterrupted
from nbfn.sessions.export.resources import ExportError

RECORD = Path("assets.extra", "nbfn.json")
"""Where in a model's folder the record of its export is."""

_MODEL = ("saved_model.pb", "saved_model.pbtxt", "saved_model.cpb")
_OF_A_MODEL = (
    *(*_MODEL, "fingerprint.pb", "variables/variables.*", "assets/**", "debug/**"),
    str(RECORD),
)
_TOP = tuple({pattern.partition("/")[0] for pattern in _OF_A_MODEL})

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
        # While another export fills the place, there may be nothing for a moment.
        with _locked(self.folder.parent, fcntl.LOCK_SH):
            self._check()

    def _check(self) -> None:
        if not os.path.lexists(self.folder):
            return
        if not self._overwrite:
            raise ExportExistsError(f"`{self.target}` exists; give overwrite=True to replace it")
        if self.folder.is_symlink():
            raise ExportExistsError(
                f"`{self.target}` is a symbolic link that has just been changed, or leads to "
                "itself; export to another path"
            )
        if not self.folder.is_dir():
            raise ExportExistsError(
                f"`{self.target}` is a file, not a SavedModel that could be replaced; export to "
                "another path"
            )
        if not holds_model(self.folder):
            raise ExportExistsError(
                f"`{self.target}` is a folder that holds no SavedModel, so it is not replaced; "
                "export to another path, or to a new folder inside it"
            )
        others = sorted(self._others())
        if others:
            raise ExportExistsError(
                f"`{self.target}` holds `{others[0]}`, which is not part of a SavedModel and would "
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
        """A new folder beside the place, which is gone at the end if it was not moved.

        So are the folders above the place that had to be made, if nothing has come into them, and
        what exports to this place that were killed have left.
        """
        parent = self.folder.parent
        above = [each for each in (parent, *parent.parents) if not each.exists()]
        folder = self.folder.with_name(f".{self.folder.name}.{secrets.token_hex(4)}")
        try:
            parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as held:
                with _locked(parent):  # nobody takes the folder for waste before it is locked
                    _clean(self.folder)
                    folder.mkdir()
                    held.enter_context(_locked(folder))
                yield folder
        finally:
            with uninterrupted():
                shutil.rmtree(folder, ignore_errors=True)
                for each in above:
                    with suppress(OSError):  # something is in it
                        each.rmdir()

    def fill(self, model: Path) -> None:
        """Moves the model of `beside` to the place; the one that was there takes its name.

        Of two exports to one place, each moves its own model whole, one after the other.

        Raises:
            ExportExistsError: If something has come there that may not be replaced.
        """
        _write_through(model)
        with _locked(self.folder.parent), uninterrupted():
            self._check()
            if os.path.lexists(self.folder):
                _exchange(model, self.folder)
            else:
                os.rename(model, self.folder)
            _sync(self.folder.parent)


def holds_model(folder: Path) -> bool:
    """Whether a folder holds a SavedModel, as TensorFlow sees it."""
    return any((folder / name).is_file() for name in _MODEL)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Keeps exports from replacing the model at a path while it is read.

    What is read file by file would else be half of one model and half of the next.
    """
    with _locked(Path(os.path.realpath(path)).parent, fcntl.LOCK_SH):
        yield


def _clean(place: Path) -> None:
    """Removes what killed exports have left beside a place, and nothing that is being written."""
    name = re.compile(rf"\.{re.escape(place.name)}\.[0-9a-f]{{8}}")
    with suppress(OSError):  # the folder may not be listed, or an export has just removed its own
        for entry in os.scandir(place.parent):
            if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with _locked(Path(entry), fcntl.LOCK_EX | fcntl.LOCK_NB) as is_waste:
                    if is_waste and all(each.startswith(_TOP) for each in os.listdir(entry)):
                        shutil.rmtree(entry, ignore_errors=True)


@contextmanager
def _locked(folder: Path, how: int = fcntl.LOCK_EX) -> Iterator[bool]:
    """Locks a folder itself: no lock file is left, and the system unlocks for whoever is killed.

    Some file systems of networks cannot lock a folder. There, nothing waits, and nothing is waste.

    Yields:
        Whether it is locked.
    """
    descriptor = -1
    try:
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(descriptor, how)
            is_locked = True
        except OSError:
            is_locked = False
        yield is_locked
    finally:
        if descriptor != -1:
            with suppress(OSError):  # a process that was forked meanwhile has the descriptor, too
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _exchange(new: Path, old: Path) -> None:
    """Gives each of two folders the other's name.

    Killed in the middle, it leaves the old one where it was, or with the ending ``.old``.
    """
    try:
        _system_exchange()(os.fsencode(new), os.fsencode(old))
    except OSError:  # the system, or this file system, has none; what else is wrong is told below
        aside = new.with_name(new.name + ".old")
        os.rename(old, aside)
        try:
            os.rename(new, old)
        except OSError:
            os.rename(aside, old)
            raise
        os.rename(aside, new)


@functools.cache
def _system_exchange() -> Callable[[bytes, bytes], None]:
    """The system's way to exchange two names in one step, which raises OSError if it cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    here, flag = -100, 2  # AT_FDCWD, RENAME_EXCHANGE; RENAME_SWAP of macOS is 2, too
    name = "renamex_np" if sys.platform == "darwin" else "renameat2"  # of glibc from 2.28 on
    call = getattr(library, name, None)

    def exchange(one: bytes, other: bytes) -> None:
        if call is None:
            raise OSError(errno.ENOSYS, f"there is no {name}")
        names = (one, other) if sys.platform == "darwin" else (here, one, here, other)
        if call(*names, ctypes.c_uint(flag)) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), os.fsdecode(one), None, os.fsdecode(other))

    return exchange


def _write_through(folder: Path) -> None:
    """Has the disk hold a folder's files before its name says that they are a model.

    For 1 GB written in 1.2 s this took 0.3 s more; for a small model 2 ms.
    """
    for parent, _, files in os.walk(folder, topdown=False):
        for name in files:
            _sync(Path(parent, name))
        _sync(Path(parent))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some systems have none for folders
            raise
    finally:
        os.close(descriptor)


def _matches(path: Path, pattern: str) -> bool:
    first, _, rest = pattern.partition("/")
    if rest == "**":
        return path.parts[0] == first
    return path.match(pattern) and len(path.parts) == len(Path(pattern).parts)
