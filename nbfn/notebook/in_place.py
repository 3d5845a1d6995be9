"""What a trace changes in place: lists, dicts, sets, arrays, objects that the cell did not make.

Python runs while a cell is traced, and never after a hit. So what it changes in place would hold
the graph's tensors after the first run, and stay as it is after the others. Here the content from
before the trace is put back, and the new content leaves through the graph, as other results do.
"""

from __future__ import annotations

import dis
import inspect
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.errors import NbfnError
from nbfn.notebook.frames import is_cell
from nbfn.notebook.kinds import is_tensor, is_variable
from nbfn.notebook.parts import Path

MAX_CONTAINERS = 10_000
MAX_ITEMS = 100_000
_CONTAINERS = (list, dict, set, deque, bytearray)


def is_graph_tensor(value: Any) -> bool:
    """Whether a value is a tensor of a graph, which means nothing outside it."""
    return is_tensor(value) and not _is_eager(value)


def _is_eager(value: Any) -> bool:
    parts = tf.nest.flatten(value, expand_composites=True)
    return all(hasattr(part, "numpy") for part in parts)


class InPlaceError(NbfnError, ValueError):
    """A traced cell changes a container in a way that the graph cannot tell of."""


def refuse_inner_tensors(path: Path, content: Any) -> None:
    """Refuses a tensor that was made in a branch or a loop of the graph.

    Raises:
        InPlaceError: Naming the container, and the line that made the tensor.
    """
    graph = tf.compat.v1.get_default_graph()
    for leaf in _leaves(content):
        if is_graph_tensor(leaf) and getattr(leaf, "graph", graph) is not graph:
            raise InPlaceError(
                f"`{as_text(path)}` is given a tensor in a branch or a loop that TensorFlow "
                f"decides{_line_of(leaf)}; the graph cannot tell whether it was. "
                "Assign the tensor to a name there, and change the container after it"
            )


def _leaves(content: Any) -> list[Any]:
    try:
        return list(tf.nest.flatten(content))
    except Exception:  # the user's classes may do anything when they are flattened
        return []


def _line_of(tensor: Any) -> str:
    frames = getattr(getattr(tensor, "op", None), "traceback", None) or ()
    lines = [frame.lineno for frame in frames if is_cell(frame.filename)]
    return f", at line {lines[-1]}" if lines else ""


class Contents:
    """The contents of everything changeable that some names lead to, as they are now.

    Args:
        namespace: The notebook's names.
        names: Names to start from. Functions among them lead to what their code names.
    """

    def __init__(self, namespace: dict[str, Any], names: Iterable[str]) -> None:
        self._namespace = namespace
        self._before: dict[Path, tuple[Any, Any, bool]] = {}
        self.paths: dict[int, Path] = {}
        self._stored: dict[str, Any] = {}
        for name in names:
            if name in namespace:
                self._walk(namespace[name], (("name", name),))

    def names(self) -> set[str]:
        """Names that lead to something changeable, or that are assigned by ``global``."""
        return {path[0][1] for path in self._before if path} | set(self._stored)

    def stored(self) -> set[str]:
        """Names that the functions among them, and what they call, assign by ``global``."""
        return set(self._stored)

    def containers(self) -> list[int]:
        """The ``id`` of each list, dict, set, array and object."""
        return [id(value) for value, _, _ in self._before.values()]

    def add_code(self, code: CodeType) -> None:
        """Adds the names that code assigns by ``global``."""
        for name in _stored_globals(code):
            self._stored[name] = self._namespace.get(name, _ABSENT)

    def _walk(self, value: Any, path: Path, built: bool = False) -> None:
        """Notes what is below a value; `built` says that it belongs to a layer or a module."""
        if id(value) in self.paths or len(self.paths) > MAX_CONTAINERS:
            return
        function = function_of(value)
        if function is not None:
            self._walk_function(value, function, path)
        elif isinstance(value, MethodType):
            self._walk(value.__self__, (*path, ("owner", "")))
        elif is_tensor(value):
            self.paths[id(value)] = path
        elif _is_watched(value):
            self.paths[id(value)] = path
            built = built or hasattr(type(value), "_trackable_children")
            self._before[path] = (value, _content(value), built)
            for step, child in _children(value):
                self._walk(child, (*path, step), built)
            if type(value).__module__ == "__main__":
                for method in vars(type(value)).values():
                    if inspect.isfunction(method):
                        self._walk_names(method)

    def _walk_function(self, value: Any, function: FunctionType, path: Path) -> None:
        self.paths[id(value)] = path
        self._walk_names(function)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=False
        ):
            try:
                self._walk(cell.cell_contents, (*path, ("closure", name)))
            except ValueError:  # a name that is not bound yet
                continue

    def _walk_names(self, function: FunctionType) -> None:
        """Notes what is below the notebook's names in a function's code."""
        if function.__globals__ is self._namespace:
            self.add_code(function.__code__)
            for name in _named(function.__code__):
                if name in self._namespace:
                    self._walk(self._namespace[name], (("name", name),))

    def changes(self) -> dict[Path, Any]:
        """New contents, by the way that leads to each container that has changed.

        An object's are its changed attributes. Of a module and what belongs to it, only what holds
        a graph's tensor counts: what it notes of itself when it is built must stay. The empty path
        has the names that were assigned by ``global``.
        """
        changed = {}
        for path, (value, before, built) in self._before.items():
            now = _changed(value, before, built)
            if now is not None:
                changed[path] = now
        names = {
            name: now
            for name, before in self._stored.items()
            if (now := self._namespace.get(name, _ABSENT)) is not before and now is not _ABSENT
        }
        return {**changed, (): names} if names else changed

    def put_back(self) -> None:
        """Gives everything that has changed the content it had."""
        for value, before, built in self._before.values():
            now = _changed(value, before, built)
            if now is None:
                continue
            if isinstance(before, _Attributes):
                for name in now:
                    _set_attribute(value, name, before.get(name, _ABSENT))
            else:
                fill(value, before)
        for name, before in self._stored.items():
            if before is _ABSENT:
                self._namespace.pop(name, None)
            else:
                self._namespace[name] = before


class _Absent:
    """Stands for a name or an attribute that is not there."""


_ABSENT = _Absent()


class _Attributes(dict[str, Any]):
    """The attributes of an object."""


def _is_watched(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.size <= MAX_ITEMS and value.flags.writeable
    if isinstance(value, _CONTAINERS):
        return len(value) <= MAX_ITEMS
    if isinstance(value, type) or is_variable(value) or not type(value).__dictoffset__:
        return False
    return type(value).__module__ == "__main__" or isinstance(value, tf.Module)


def _content(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, _CONTAINERS):
        return _plain(value)
    return _Attributes(vars(value))


def _plain(value: Any) -> Any:
    """The content of a subclass, whose constructor may want anything."""
    base: Any = next(cls for cls in _CONTAINERS if isinstance(value, cls))
    plain: Any = base(value)
    return plain


def _children(value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        yield from ((("item", key), item) for key, item in value.items())
    elif isinstance(value, (list, deque)):
        yield from ((("item", number), item) for number, item in enumerate(value))
    elif not isinstance(value, (set, bytearray, np.ndarray)):
        yield from ((("attribute", name), item) for name, item in vars(value).items())


def _changed(value: Any, before: Any, built: bool) -> Any:
    """The new content; None if nothing has changed that counts."""
    if isinstance(before, _Attributes):
        now = _changed_attributes(value, before)
        if built:
            now = {name: item for name, item in now.items() if _holds_graph_tensor(item)}
        return now or None
    if isinstance(before, np.ndarray):
        same = before.dtype == value.dtype and before.tobytes() == value.tobytes()
        return None if same and before.dtype != object else value.copy()
    if isinstance(before, dict):
        same = list(before) == list(value) and all(value[k] is before[k] for k in before)
    elif isinstance(before, (list, deque)):
        same = len(before) == len(value) and all(a is b for a, b in zip(before, value, strict=True))
    else:
        same = before == value
    return None if same or (built and not _holds_graph_tensor(value)) else _content(value)


def _changed_attributes(value: Any, before: _Attributes) -> dict[str, Any]:
    now = vars(value)
    changed = {name: item for name, item in now.items() if item is not before.get(name, _ABSENT)}
    return {**changed, **dict.fromkeys(before.keys() - now.keys(), _ABSENT)}


def _holds_graph_tensor(value: Any) -> bool:
    return any(is_graph_tensor(leaf) for leaf in _leaves(value))


def _set_attribute(value: Any, name: str, content: Any) -> None:
    if content is not _ABSENT:
        setattr(value, name, content)
    elif name in vars(value):
        delattr(value, name)


def function_of(value: Any) -> FunctionType | None:
    """The Python function of a function, traced or not; None for anything else."""
    if hasattr(type(value), "python_function"):
        value = value.python_function
    return value if inspect.isfunction(value) else None


def named_by(function: Any, namespace: Mapping[str, Any]) -> set[str]:
    """Names of the notebook that a function of the notebook names, itself and through others."""
    found: set[str] = set()
    pending = [function]
    while pending:
        each = function_of(pending.pop())
        if each is not None and each.__globals__ is namespace:
            new = (_named(each.__code__) & namespace.keys()) - found
            found |= new
            pending += [namespace[name] for name in new]
    return found


def _named(code: CodeType) -> set[str]:
    nested = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*(_named(each) for each in nested))


def _stored_globals(code: CodeType) -> set[str]:
    found = {
        str(each.argval) for each in dis.get_instructions(code) if each.opname == "STORE_GLOBAL"
    }
    nested = (each for each in code.co_consts if isinstance(each, CodeType))
    return found.union(*(_stored_globals(each) for each in nested))


def find(namespace: Mapping[str, Any], path: Path) -> Any:
    """What a path leads to."""
    value: Any = None
    for kind, key in path:
        if kind == "name":
            value = namespace[key]
        elif kind == "item":
            value = value[key]
        elif kind == "attribute":
            value = vars(value)[key]
        elif kind == "owner":
            value = value.__self__
        else:
            function: Any = function_of(value)
            number = function.__code__.co_freevars.index(key)
            value = function.__closure__[number].cell_contents
    return value


def fill(container: Any, content: Any) -> None:
    """Gives a container another content, in place."""
    if isinstance(container, np.ndarray):
        container[...] = content
    elif isinstance(container, (list, bytearray)):
        container[:] = content
    elif isinstance(container, (dict, set)):
        container.clear()
        container.update(content)
    elif isinstance(container, deque):
        container.clear()
        container.extend(content)
    else:
        for name, value in content.items():
            _set_attribute(container, name, value)


def as_text(path: Path) -> str:
    """A path as the user would write it."""
    text = ""
    for kind, key in path:
        text += {"item": f"[{key!r}]", "attribute": f".{key}"}.get(kind, str(key))
    return text
