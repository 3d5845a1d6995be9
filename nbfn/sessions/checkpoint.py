"""`save` and `restore`: the notebook's variables as a checkpoint that plain TensorFlow reads."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.calls.interruption import uninterrupted
from nbfn.functions.traces.variable_names import IPYTHONS, children, is_keras_variable
from nbfn.sessions.contents.kinds import is_mutable_table
from nbfn.sessions.session import Session, session
from nbfn.sessions.snapshot import RestoreError
from nbfn.site import warn
from nbfn.text import count, first_line, join


class CheckpointError(NbfnError, ValueError):
    """There is nothing to save."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was written, or restored.

    Attributes:
        path: What ``tf.train.Checkpoint(...).read`` takes: the files' name without its ending.
        names: The names of the notebook whose values are in it.
        nbytes: Size on disk.
        kept: Variables of the notebook that it does not have; they keep their values.
        waiting: What it has and the notebook has not; given to the objects of these names when
            they are made, as TensorFlow does.
    """

    path: Path
    names: tuple[str, ...]
    nbytes: int
    kept: tuple[str, ...] = field(default=(), kw_only=True)
    waiting: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        return f"<nbfn checkpoint {self.path}: {join(self.names)}, {self.nbytes:,} bytes>"


def save(path: str | os.PathLike[str]) -> Checkpoint:
    """Writes the values of all variables and tables that the notebook's names lead to.

    It is a checkpoint of ``tf.train.Checkpoint``, with one part for each name of the notebook, so
    that plain TensorFlow can read one of them: ``tf.train.Checkpoint(model=model).read(path)``. It
    is written beside `path` and moved there when it is complete. Iterators are left out.

    Args:
        path: Where to write it; TensorFlow adds ``.index`` and ``.data-00000-of-00001``.

    Raises:
        CheckpointError: If no name of the notebook leads to a variable or table.
    """
    if "://" in os.fspath(path):
        raise CheckpointError(f"`{path}` is on no file system of this machine; save to one that is")
    target = Path(path)
    parts = _parts(session())
    if not parts:
        raise CheckpointError(
            "there is nothing to save: no name of the notebook leads to a variable or a table"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        tf.train.Checkpoint(**parts).write(str(beside))
        with uninterrupted():
            # The index last: without it the values are no checkpoint.
            for file in sorted(_files(beside), key=lambda file: file.suffix == ".index"):
                _flush(file)
                file.replace(target.with_name(target.name + file.name.removeprefix(beside.name)))
    finally:
        for file in _files(beside):
            file.unlink(missing_ok=True)
    return Checkpoint(target, tuple(parts), sum(file.stat().st_size for file in _files(target)))


def restore(path: str | os.PathLike[str]) -> Checkpoint:
    """Gives the notebook's variables and tables the values of a checkpoint.

    Args:
        path: What `save` was given; or another checkpoint of ``tf.train.Checkpoint``, or the folder
            of some, of which the newest is taken. Its parts are matched with the notebook's names.

    Returns:
        What was restored, with what of the notebook it does not have, and the other way round;
        a warning says the first.

    Raises:
        RestoreError: If there is no checkpoint, nothing of it has a name of the notebook, or a
            variable has another shape or dtype; nothing is restored then.
    """
    prefix = str(tf.train.latest_checkpoint(str(path)) or path)
    try:
        saved = _tensorflow.saved_objects(prefix)
    except (tf.errors.OpError, ValueError) as error:
        raise RestoreError(f"there is no checkpoint at `{path}`: {first_line(error)}") from None
    if saved is None:
        raise RestoreError(
            f"`{path}` is a checkpoint of TensorFlow 1, which names no objects; read it with "
            "tf.compat.v1.train.Saver"
        )
    here = session()
    named = {id(each): name for name, each in here.variables.items()}
    parts = {name: part for name, part in _parts(here).items() if name in saved.children}
    root = tf.train.Checkpoint(**parts)
    matched = dict(_matched(root, saved))
    if not parts or not matched:
        listed = join([f"`{name}`" for name in saved.children if name != "save_counter"])
        raise RestoreError(f"the checkpoint has {listed}, which the notebook does not name")
    for variable, value in matched.values():
        is_now, was = variable, value.value
        if not isinstance(is_now, tf.Variable) or was is None:
            continue
        if is_now.dtype != was.dtype or not is_now.shape.is_compatible_with(was.shape):
            name = named.get(id(variable), value.key)
            raise RestoreError(
                f"`{name}` is {is_now.dtype.name}{is_now.shape}, "
                f"in the checkpoint it is {was.dtype.name}{was.shape}"
            )
    with uninterrupted():
        root.read(prefix).expect_partial()
    found = {id(variable) for variable, _ in matched.values()}
    kept = tuple(
        name
        for key, name in named.items()
        if key not in found and name.partition("/")[0] not in IPYTHONS
    )
    if kept:
        more = ", ..." if len(kept) > 3 else ""
        warn(
            f"the checkpoint {path} has no value for {', '.join(kept[:3])}{more} "
            f"({count(len(kept), 'variable')}), which keep what they have"
        )
    waiting = [each.key for each in saved.values() if each.id not in matched]
    nbytes = sum(file.stat().st_size for file in _files(Path(prefix)))
    return Checkpoint(
        Path(prefix),
        tuple(parts),
        nbytes,
        kept=kept,
        waiting=tuple(each for each in waiting if each not in ("", "save_counter")),
    )


def _parts(here: Session) -> dict[str, Any]:
    """What a checkpoint tracks for each name of the notebook that leads to a value to save."""
    found: dict[str, Any] = {}
    for name, value in here.named():
        part = None if name in IPYTHONS else _trackable(value, {})
        if part is not None:
            found[name] = part
    return found


def _trackable(value: Any, seen: dict[int, Any]) -> Any | None:
    """What TensorFlow can track of a value: itself, or the variables below it; None for nothing."""
    if id(value) in seen:
        return None
    seen[id(value)] = value
    if _is_saved(value):
        return value
    if hasattr(type(value), "_trackable_children"):
        is_empty = isinstance(value, _tensorflow.Function) or not _has_values(value, seen)
        return None if is_empty else value
    below = {part: _trackable(child, seen) for part, child in children(value)}
    kept = {part: child for part, child in below.items() if part and child is not None}
    if not kept:
        return None
    holder = tf.Module()
    for part, child in kept.items():
        setattr(holder, part, child)
    return holder


def _is_saved(value: Any) -> bool:
    return isinstance(value, tf.Variable) or is_keras_variable(value) or is_mutable_table(value)


def _has_values(value: Any, seen: dict[int, Any]) -> bool:
    for child in _tensorflow.trackable_children(value).values():
        if _is_saved(child):
            return True
        if id(child) not in seen:
            seen[id(child)] = child
            if _has_values(child, seen):
                return True
    return False


def _matched(root: Any, saved: Any) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """Each object with the saved one that stands at the same place, by the number of that."""
    waiting, seen = [(root, saved)], set[int]()
    while waiting:
        value, there = waiting.pop()
        if there.id in seen:
            continue
        seen.add(there.id)
        if _is_saved(value):
            yield there.id, (value.value if is_keras_variable(value) else value, there)
        below: Mapping[str, Any] = _tensorflow.trackable_children(value)
        waiting += [(below[name], each) for name, each in there.children.items() if name in below]


def _files(prefix: Path) -> list[Path]:
    return [
        each
        for each in prefix.parent.glob(f"{prefix.name}.*")
        if each.name.removeprefix(prefix.name).startswith((".index", ".data-"))
    ]


def _flush(file: Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
