"""Puts an exported model in place: checks what may be replaced, then swaps folders atomically.

A model is written to a folder next to its place, ``.model.1f2e3d4c`` for a place ``model``, which
the writer locks. Then the two folders exchange names in one step, so a process killed at any time
leaves one complete model. On systems that cannot exchange names, the old model is renamed to
``.model.1f2e3d4c.old`` for a moment; a process killed at that time leaves it there.
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

# TensorFlow leaves this folder to others (2.21, `EXTRA_ASSETS_DIRECTORY` of
# `saved_model/constants.py`).
RECORD = Path("assets.extra", "nbfn.json")
"""Path of the export's record in a model's folder."""

_MODEL = ("saved_model.pb", "saved_model.pbtxt", "saved_model.cpb")
_OF_A_MODEL = (
    *(*_MODEL, "fingerprint.pb", "variables/variables.*", "assets/**", "debug/**"),
    str(RECORD),
)
_TOP = tuple({pattern.partition("/")[0] for pattern in _OF_A_MODEL})

_EMPTY = {(), ("variables",), ("assets",), ("assets.extra",), ("debug",)}


class ExportExistsError(ExportError, FileExistsError):
    """Raised if the export's path holds something that must not be replaced."""


class Place:
    """The place of an exported model.

    Args:
        target: The path given to `export`.
        overwrite: Whether an existing SavedModel may be replaced.

    Attributes:
        folder: The folder that the path refers to, after following symbolic links.

    Raises:
        ExportExistsError: If something exists there and `overwrite` is false, or if it is anything
            but a SavedModel without additional files.
    """

    def __init__(self, target: Path, overwrite: bool) -> None:
        self.target = target
        self.folder = Path(os.path.realpath(target))
        self._overwrite = overwrite
        # While another export replaces the folder, it may not exist for a moment.
        with _lock(self.folder.parent, fcntl.LOCK_SH):
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
        """Yields the paths in the folder that do not belong to a SavedModel."""
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
        """Creates a folder next to the place; removes it at the end if it was not moved.

        Folders that had to be created above the place are removed too if they stay empty, and so
        are leftovers of killed exports to this place.
        """
        parent = self.folder.parent
        above = [each for each in (parent, *parent.parents) if not each.exists()]
        folder = self.folder.with_name(f".{self.folder.name}.{secrets.token_hex(4)}")
        try:
            parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as locks:
                with _lock(parent):  # no other export removes the folder before it is locked
                    _clean(self.folder)
                    folder.mkdir()
                    locks.enter_context(_lock(folder))
                yield folder
        finally:
            with uninterrupted():
                shutil.rmtree(folder, ignore_errors=True)
                for each in above:
                    with suppress(OSError):  # something is in it
                        each.rmdir()

    def fill(self, model: Path) -> None:
        """Moves the model of `beside` into place; an existing model takes its former name.

        Exports to the same place run one after the other, and each moves its complete model.

        Raises:
            ExportExistsError: If something that must not be replaced now exists there.
        """
        _write_through(model)
        with _lock(self.folder.parent), uninterrupted():
            self._check()
            if os.path.lexists(self.folder):
                _exchange(model, self.folder)
            else:
                os.rename(model, self.folder)
            _sync(self.folder.parent)


def holds_model(folder: Path) -> bool:
    """Returns whether TensorFlow would recognise a folder as a SavedModel."""
    return any((folder / name).is_file() for name in _MODEL)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Keeps exports from replacing the model at a path while it is read.

    Otherwise a reader could load some files of one model and some of the next.
    """
    with _lock(Path(os.path.realpath(path)).parent, fcntl.LOCK_SH):
        yield


def _clean(place: Path) -> None:
    """Removes leftovers of killed exports next to a place, but nothing that is being written."""
    name = re.compile(rf"\.{re.escape(place.name)}\.[0-9a-f]{{8}}")
    with suppress(OSError):  # the folder is not readable, or an export has just removed its own
        for entry in os.scandir(place.parent):
            if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with _lock(Path(entry), fcntl.LOCK_EX | fcntl.LOCK_NB) as is_waste:
                    # Something else may have such a name: it is kept if it holds anything that is
                    # not of a model.
                    if is_waste and all(each.startswith(_TOP) for each in os.listdir(entry)):
                        shutil.rmtree(entry, ignore_errors=True)


@contextmanager
def _lock(folder: Path, how: int = fcntl.LOCK_EX) -> Iterator[bool]:
    """Locks a folder without a lock file; the system unlocks it if the process is killed.

    Some network file systems cannot lock folders. There, exports do not wait for each other, and
    leftovers are not removed.

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
            # The folder does not exist, another process has it (`LOCK_NB`), or its file system has
            # no locks.
            is_locked = False
        yield is_locked
    finally:
        if descriptor != -1:
            with suppress(OSError):  # explicitly, as a forked process may hold the descriptor open
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _exchange(new: Path, old: Path) -> None:
    """Exchanges the names of two folders.

    If the process is killed meanwhile, the old folder is at its place or has the suffix ``.old``.
    """
    try:
        _system_exchange()(os.fsencode(new), os.fsencode(old))
    except OSError:  # not supported here; other errors are raised again below
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
    """Returns the system call that exchanges two names; it raises OSError if unsupported."""
    library = ctypes.CDLL(None, use_errno=True)
    here, flag = -100, 2  # AT_FDCWD, RENAME_EXCHANGE; RENAME_SWAP of macOS is 2, too
    name = "renamex_np" if sys.platform == "darwin" else "renameat2"  # of glibc from 2.28 on
    call = getattr(library, name, None)

    def exchange(one: bytes, other: bytes) -> None:
        if call is None:
            raise OSError(errno.ENOSYS, f"there is no {name}")
        names = (one, other) if sys.platform == "darwin" else (here, one, here, other)
        if call(*names, ctypes.c_uint(flag)) != 0:
            # `use_errno` keeps the number of each call: Python itself may change the one of the C
            # library.
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), os.fsdecode(one), None, os.fsdecode(other))

    return exchange


def _write_through(folder: Path) -> None:
    """Flushes a folder's files to disk before it gets the name of a model.

    This took 0.3 s for 1 GB that was written in 1.2 s; for a small model 2 ms.
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
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # unsupported for folders
            raise
    finally:
        os.close(descriptor)


def _matches(path: Path, pattern: str) -> bool:
    first, _, rest = pattern.partition("/")
    if rest == "**":
        return path.parts[0] == first
    return path.match(pattern) and len(path.parts) == len(Path(pattern).parts)
