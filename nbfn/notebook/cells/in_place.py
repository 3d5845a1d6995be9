"""What a trace changes in place: containers, arrays, objects, classes that the cell did not make.

Python runs while a cell is traced, and never after a hit. So what it changes in place would hold
the graph's tensors after the first run, and stay as it is after the others. Here the content from
before the trace is put back, and the new content leaves through the graph, as other results do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf

from nbfn.errors import NbfnError
from nbfn.functions.reads import is_the_users
from nbfn.notebook.cells.contents import (
    Content,
    change_of,
    changed,
    content_of,
    holds_graph_tensor,
    is_graph_tensor,
    leaves,
    put_back,
)
from nbfn.notebook.cells.first_trace import stays, what_is_left, without_what_stays
from nbfn.notebook.cells.frames import is_cell
from nbfn.notebook.cells.kinds import is_of_nn, is_variable
from nbfn.notebook.cells.noting import KERAS, Noted, Noting
from nbfn.notebook.cells.objects import ABSENT, set_as
from nbfn.notebook.cells.paths import Path, as_text
from nbfn.notebook.cells.replicas import number_of_replicas


class InPlaceError(NbfnError, ValueError):
    """A traced cell changes a container in a way that the graph cannot tell of."""


def refuse_inner_tensors(path: Path, content: Any) -> None:
    """Refuses a tensor that was made in a branch or a loop of the graph.

    Raises:
        InPlaceError: Naming the container, and the line that made the tensor.
    """
    graph = tf.compat.v1.get_default_graph()
    for leaf in leaves(content):
        if is_graph_tensor(leaf) and getattr(leaf, "graph", graph) is not graph:
            raise InPlaceError(
                f"`{as_text(path)}` is given a tensor in a branch or a loop that TensorFlow "
                f"decides{_line_of(leaf)}; the graph cannot tell whether it was. "
                "Assign the tensor to a name there, and change the container after it"
            )


def _line_of(tensor: Any) -> str:
    frames = getattr(getattr(tensor, "op", None), "traceback", None) or ()
    lines = [frame.lineno for frame in frames if is_cell(frame.filename)]
    return f", at line {lines[-1]}" if lines else ""


class Contents(Noting):
    """What everything changeable held, and what has become of it.

    Attributes:
        makes_variables: Whether variables have been made since that outlive the call.
        left: The ways to the attributes that a trace that makes variables has left to the next.
    """

    _enters_keras = True

    def __init__(self, namespace: dict[str, Any], names: Iterable[str]) -> None:
        """As `Noting`."""
        super().__init__(namespace, names)
        self._not_left: dict[Path, Content] = {}
        self.makes_variables = False
        self.left: list[Path] = []

    def _assigned(self) -> dict[str, Any]:
        """Values from before of the names that may have been assigned since."""
        if self._all is None:
            return self._stored
        return {**dict.fromkeys(self._namespace, ABSENT), **self._all, **self._stored}

    def changes(self) -> dict[Path, Content]:
        """What has changed, by the way that leads to it.

        Of a layer or a module, and what belongs to it, only what the user's code names counts: what
        it notes of itself when it is built must stay. So does what holds a graph's tensor; on
        several replicas, only that. The empty path has the names that were assigned by ``global``.
        """
        found = {}
        for each in self._noted:
            now = self._changed(each)
            if now is not None:
                found[each.path] = now
        names = {
            name: now
            for name, before in self._assigned().items()
            if (now := self._namespace.get(name, ABSENT)) is not before and now is not ABSENT
        }
        return {**found, (): Content(names, {}, "set")} if names else found

    def serve_once(self, changes: Mapping[Path, Content]) -> bool:
        """Whether a later call needs another trace, because this one tells only how it ends.

        Changes of globals do, and of objects of libraries, which are not guarded.
        """
        owners = {each.path: type(each.value) for each in self._noted}
        given = {self.paths[each] for each in self.given}
        return any(
            not path
            or (content.is_absolute and path not in given)
            or (
                hasattr(owners[path], "_trackable_children")
                and not is_the_users(owners[path].__module__)
                and not all(map(holds_graph_tensor, content.attributes.values()))
            )
            for path, content in changes.items()
        )

    def _changed(self, noted: Noted) -> Content | None:
        if not noted.built:
            return changed(noted.value, noted.before)
        last = next((key for kind, key in reversed(noted.path) if kind == "attribute"), "")
        cls = type(noted.value)

        def is_kerass_own(name: str) -> bool:
            return noted.built == KERAS and name.startswith("_") and name not in self._used

        def counts(attribute: str | None, item: Any) -> bool:
            name = last if attribute is None else attribute
            if holds_graph_tensor(item):
                return attribute is None or not is_kerass_own(name)
            if number_of_replicas() > 1 or is_of_nn(noted.value):
                return False
            return name in self._used or set_as(cls, name) in self._used

        now = changed(noted.value, noted.before, counts)
        if now is not None and now.how == "append" and is_kerass_own(last):
            # A layer's losses: Keras empties the list before each call.
            return replace(now, items=content_of(noted.value).items, how="refill")
        return now

    def put_back(self, *, all_of_it: bool = True) -> None:
        """Gives everything that has changed the content it had.

        Args:
            all_of_it: Also what a trace that has made variables leaves to the next.
        """
        some_stays = self.makes_variables and not all_of_it
        for cached in self._cached:
            cached.forget_the_trace()
        for each in self._noted:
            before, now = each.before, self._changed(each)
            if now is not None:
                if some_stays:
                    told = now
                    before, now = without_what_stays(before, told, self._is_new)
                    self._not_left[each.path] = now
                    self.left += [
                        (*each.path, ("attribute", name))
                        for name in told.attributes.keys() - now.attributes.keys()
                    ]
                put_back(each.value, before, now)
        for name, value in self._assigned().items():
            now = self._namespace.get(name, ABSENT)
            if now is value or (some_stays and stays(value, now, self._is_new)):
                continue
            if value is ABSENT:
                self._namespace.pop(name, None)
            else:
                self._namespace[name] = value

    def do_again(self, done: Mapping[Path, Content]) -> None:
        """Makes the changes that were put back, but for what the second trace has done itself.

        Args:
            done: What that has changed.
        """
        for each in self._noted:
            change = self._not_left.get(each.path)
            if change is not None:
                change_of(each.value, what_is_left(change, done.get(each.path)))()

    def _is_new(self, value: Any) -> bool:
        """Whether a value is, or holds, a variable that was not there before, and no tensor."""
        found = leaves(value)
        return not any(is_graph_tensor(leaf) for leaf in found) and any(
            is_variable(leaf) and id(leaf) not in self.paths for leaf in found
        )
