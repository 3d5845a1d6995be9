"""`save` and `restore`: the notebook's variables as a checkpoint that TensorFlow can read."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.calls.interruption import uninterrupted
from nbfn.functions.traces.keras_parts import is_keras_variable
from nbfn.functions.traces.variable_names import children
from nbfn.sessions.contents.kinds import is_layer, is_mutable_table, is_optimizer
from nbfn.sessions.contents.savable_state import (
    Form,
    RestoreError,
    check_forms,
    match,
    savable_state,
    shortened,
    unsaved,
    warn_kept,
)
from nbfn.sessions.session import session
from nbfn.text import first_line, join

_BY_NAME = "_nbfn"
"""The child of a checkpoint that holds every value by its name in the session."""

_WHOSE = "in the checkpoint it is"


class CheckpointError(NbfnError, ValueError):
    """Raised by `save` if there is nothing to save or the path cannot be written."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was written or restored.

    Attributes:
        path: Prefix of the checkpoint's files, as ``tf.train.Checkpoint(...).read`` takes it.
        names: The notebook's names whose values are in it.
        nbytes: Size on disk.
        kept: Variables of the notebook that are not in it and keep their values.
        waiting: Values for layers and optimizers that have not made their variables yet; TensorFlow
            assigns them when they do. Metrics of ``compile`` start at zero.
        left_out: Values in it that the notebook has no place for, if restored with
            ``partial=True``.
    """

    path: Path
    names: tuple[str, ...]
    nbytes: int
    kept: tuple[str, ...] = field(default=(), kw_only=True)
    waiting: tuple[str, ...] = field(default=(), kw_only=True)
    left_out: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        return f"<nbfn checkpoint {self.path}: {join(self.names)}, {self.nbytes:,} bytes>"


def save(path: str | os.PathLike[str]) -> Checkpoint:
    """Writes the values of all variables and tables that the notebook's names lead to.

    The result is a ``tf.train.Checkpoint`` with one child per name of the notebook, so TensorFlow
    reads it without nbfn: ``tf.train.Checkpoint(model=model).read(path)``. One more child holds
    every value by its name in the session, including those that TensorFlow does not track: layers
    in a list, metrics, the state of random generators. The files are written next to `path` and
    moved into place when complete. Iterators are not saved.

    Args:
        path: Prefix of the files; TensorFlow adds ``.index`` and ``.data-00000-of-00001``.

    Raises:
        CheckpointError: If no name of the notebook leads to a variable or table, or `path` is not
            on a file system of this machine, or a pattern of file names.
    """
    if "://" in os.fspath(path):
        raise CheckpointError(f"`{path}` is on no file system of this machine; save to one that is")
    if any(character in "*?[\\" for character in os.fspath(path)):
        raise CheckpointError(
            f"`{path}` would be a pattern of file names for TensorFlow, which could not read the "
            "checkpoint; save to a path without *, ?, [ and \\"
        )
    target = Path(path)
    notebook = _Notebook()
    if not notebook.state.values:
        raise CheckpointError(
            "there is nothing to save: no name of the notebook leads to a variable or a table"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        owners = enumerate(notebook.state.owners.items())
        # With numbers, because a checkpoint does not keep the order.
        by_name = {f"{number} {name}": each for number, (name, each) in owners}
        parts = {**notebook.parts(), _BY_NAME: _holder(by_name)}
        # `save` would add a number to the path, and write the file `checkpoint` next to it.
        tf.train.Checkpoint.write(_holder(parts), str(beside))
        with uninterrupted():
            # The index is moved last: without it, TensorFlow sees no checkpoint.
            for file in sorted(_files(beside), key=lambda file: file.suffix == ".index"):
                _flush(file)
                file.replace(target.with_name(target.name + file.name.removeprefix(beside.name)))
    finally:
        for file in _files(beside):
            file.unlink(missing_ok=True)
    nbytes = sum(file.stat().st_size for file in _files(target))
    return Checkpoint(target, notebook.roots(notebook.state.values), nbytes)


def restore(path: str | os.PathLike[str], *, partial: bool = False) -> Checkpoint:
    """Assigns the values of a checkpoint to the notebook's variables and tables.

    A model that was made again is restored if it has the same structure, as with a snapshot. What
    has not made its variables yet, such as an optimizer before its first step, gets its values when
    it does.

    Args:
        path: A path given to `save`, another checkpoint of ``tf.train.Checkpoint``, or a folder of
            checkpoints, of which the newest is used. Its children are matched with the notebook's
            names.
        partial: Whether to restore the rest if the notebook lacks some of its values.

    Returns:
        The checkpoint. Variables of the notebook that it lacks are in `kept`, with a warning.

    Raises:
        RestoreError: If there is no checkpoint, or the notebook lacks some of it or has it with
            another shape or dtype. In this case nothing is restored.
    """
    prefix = str(tf.train.latest_checkpoint(str(path)) or Path(path))
    try:
        saved = _tensorflow.saved_objects(prefix)
    except (tf.errors.OpError, ValueError) as error:
        raise RestoreError(f"there is no checkpoint at `{path}`: {first_line(error)}") from None
    if saved is None:
        raise RestoreError(
            f"`{path}` is a checkpoint of TensorFlow 1, which names no objects; read it with "
            "tf.compat.v1.train.Saver"
        )
    notebook = _Notebook()
    by_name = saved.children.get(_BY_NAME)
    found = _by_place(notebook, saved) if by_name is None else _by_name(notebook, saved, by_name)
    if found.missing and not partial:
        listed = shortened([f"`{name}`" for name in found.missing])
        raise RestoreError(
            f"the checkpoint has {listed}, which the notebook lacks; nothing was restored "
            f"(partial=True restores the rest){_advice(found.uncalled)}"
        )
    with uninterrupted():
        # `expect_partial`, because a holder may have less than the checkpoint; TensorFlow would
        # warn.
        for parts in found.reads:
            tf.train.Checkpoint.read(_holder(parts), prefix).expect_partial()
        notebook.state.compute_derived_values()
    warn_kept(f"the checkpoint {path}", found.kept)
    return Checkpoint(
        Path(prefix),
        found.names,
        sum(file.stat().st_size for file in _files(Path(prefix))),
        kept=found.kept,
        waiting=found.waiting,
        left_out=found.missing,
    )


@dataclass(frozen=True)
class _Found:
    """How a checkpoint's values map to the notebook.

    Attributes:
        reads: What to read, in order: objects by their names in the checkpoint.
        names: As in `Checkpoint`; likewise `waiting` and `kept`.
        missing: Saved values that the notebook has no place for.
        uncalled: Layers that make variables in their first call, where none can be restored.
    """

    reads: list[dict[str, Any]]
    names: tuple[str, ...]
    missing: tuple[str, ...]
    waiting: tuple[str, ...]
    kept: tuple[str, ...]
    uncalled: tuple[Any, ...]


def _advice(uncalled: Sequence[Any]) -> str:
    names = list(dict.fromkeys(f"`{type(each).__name__}`" for each in uncalled))
    if not names:
        return ""
    makes = "makes its" if len(names) == 1 else "make their"
    return f". {join(names)} {makes} variables in the first call: call it once, then restore"


def _by_name(notebook: _Notebook, saved: Any, by_name: Any) -> _Found:
    """Matches a checkpoint of `save` by names in the session."""
    saved_values = by_name.children
    numbered = sorted(saved_values, key=lambda name: int(name.partition(" ")[0]))
    places = {name.partition(" ")[2]: name for name in numbered}
    nodes = {name: saved_values[place] for name, place in places.items()}
    found = match({name: _form(each) for name, each in nodes.items()}, notebook.state, _WHOSE)
    parts = notebook.parts(notebook.roots(found.missing))
    unbuilt = _Places(_holder(parts), saved)
    waiting = [name for name in found.missing if nodes[name].id in unbuilt.waiting]
    now = {places[name]: notebook.state.owners[at] for name, at in found.names.items()}
    reads = [{_BY_NAME: _holder(now)}]
    if waiting:  # read first: TensorFlow may match existing variables at another place
        late = {root: parts[root] for root in notebook.roots(waiting)}
        notebook.check(_Places(_holder(late), saved))
        reads.insert(0, late)
    return _Found(
        reads,
        notebook.roots([*found.names, *waiting]),
        tuple(name for name in found.missing if name not in waiting),
        (*waiting, *found.later),
        found.kept,
        tuple(unbuilt.uncalled),
    )


def _by_place(notebook: _Notebook, saved: Any) -> _Found:
    """Matches a checkpoint of TensorFlow by the places of objects below their roots."""
    parts = notebook.parts(saved.children)
    places = _Places(_holder(parts), saved)
    notebook.check(places)
    values = {each.id: each.key for each in saved.values()}
    left = {id: key for id, key in values.items() if id not in places.found}
    return _Found(
        [parts],
        tuple(parts),
        tuple(
            key
            for id, key in left.items()
            # tf.train.Checkpoint counts its saves in a variable of its own (TensorFlow 2.21).
            if id not in places.waiting and key not in ("", "save_counter")
        ),
        tuple(key for id, key in left.items() if id in places.waiting),
        unsaved(notebook.state, (_variable(each) for each, _ in places.found.values())),
        tuple(places.uncalled),
    )


class _Notebook:
    """The notebook's names.

    Attributes:
        state: The variables and the mutable tables.
    """

    def __init__(self) -> None:
        current = session()
        self._named = dict(current.named())
        tables = {
            n: each for n, each in current.tables.items() if n.partition("/")[0] in self._named
        }
        self.state = savable_state(self._named.items(), tables)

    def roots(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Returns the notebook's names at the roots of some paths."""
        first = {path.partition("/")[0] for path in paths}
        return tuple(name for name in self._named if name in first)

    def parts(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Returns what TensorFlow tracks below some names; by default, below all with a value."""
        names = None if names is None else set(names)
        found = {
            name: _trackable(value, {}, names is not None)
            for name, value in self._named.items()
            if names is None or name in names
        }
        return {name: part for name, part in found.items() if part is not None}

    def check(self, places: _Places) -> None:
        """Refuses objects whose dtype or shape differs from the saved ones.

        Raises:
            RestoreError: If there are any.
        """
        names = {id(each): name for name, each in self.state.values.items()}
        pairs = [(_variable(value), there) for value, there in places.found.values()]
        check_forms(((names.get(id(v), at.key), v, _form(at)) for v, at in pairs), _WHOSE)


def _trackable(value: Any, seen: dict[int, Any], is_empty_too: bool) -> Any | None:
    """Returns what TensorFlow can track of a value: itself, or the variables below it, or None."""
    if id(value) in seen:
        return None
    # With the value, so that nothing else gets its id during the walk.
    seen[id(value)] = value
    if _is_saved(value):
        return value
    if hasattr(type(value), "_trackable_children"):
        if isinstance(value, _tensorflow.Function):
            return None
        return value if is_empty_too or _has_values(value, seen) else None
    below = {part: _trackable(child, seen, is_empty_too) for part, child in children(value)}
    kept = {part: child for part, child in below.items() if part and child is not None}
    return _holder(kept) if kept else None


class _Holder(tf.train.Checkpoint):  # type: ignore[misc]
    """An object that TensorFlow tracks; its children may have any names."""

    save_counter = None  # a property of `tf.train.Checkpoint`, which cannot be set


def _holder(parts: Mapping[str, Any]) -> Any:
    """Returns an object that TensorFlow tracks, with these children under any names."""
    holder = _Holder()
    for name, part in parts.items():
        setattr(holder, name, part)  # the argument `root` of the class would be no child
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


class _Places:
    """Matches saved objects with objects at the same place below a root.

    Attributes:
        found: Pairs of a variable or table and its saved one, by the node id of the saved one.
        waiting: Node ids of saved objects without a counterpart, below what is not built yet.
        uncalled: The layers that are built by their first call. Keras makes the variables of the
            layers in them in a graph that never runs, and TensorFlow would restore them there.
    """

    def __init__(self, root: Any, saved: Any) -> None:
        self.found: dict[int, tuple[Any, Any]] = {}
        self.waiting: set[int] = set()
        self.uncalled: list[Any] = []
        below_unbuilt: list[Any] = []
        waiting, seen = [(root, saved, False)], set[int]()
        while waiting:
            value, there, is_unbuilt = waiting.pop()
            if there.id in seen:
                continue
            seen.add(there.id)
            if _is_saved(value):
                self.found[there.id] = value, there
            if is_layer(value) or is_optimizer(value):
                is_unbuilt = not getattr(value, "built", True)
            if is_unbuilt and _is_built_by_a_call(value):
                self.uncalled.append(value)
                continue
            below: Mapping[str, Any] = _tensorflow.trackable_children(value)
            for name, each in there.children.items():
                if name in below:
                    waiting.append((below[name], each, is_unbuilt))
                elif is_unbuilt:
                    below_unbuilt.append(each)
        while below_unbuilt:
            each = below_unbuilt.pop()
            if each.id not in seen:
                seen.add(each.id)
                self.waiting.add(each.id)
                below_unbuilt += each.children.values()


def _is_built_by_a_call(value: Any) -> bool:
    """Returns whether a Keras layer has no `build` of its own."""
    return is_layer(value) and getattr(value.build, "_is_default", False)  # Keras 3.15


def _variable(value: Any) -> Any:
    return value.value if is_keras_variable(value) else value


def _form(saved: Any) -> Form:
    """Returns the form of a saved variable or table."""
    table, variable = saved.table, saved.value
    return Form(table) if table is not None else Form((variable.dtype,), variable.shape)


def _files(prefix: Path) -> list[Path]:
    return [
        each
        for each in prefix.parent.glob(f"{prefix.name}.*")
        if each.name.removeprefix(prefix.name).startswith((".index", ".data-"))
    ]


def _flush(file: Path) -> None:
    # Before the file is renamed: a file system may write a new name to disk before the contents.
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
