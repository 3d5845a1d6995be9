"""What a traced cell hands back: the graph's tensors, and Python values as they were traced."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from nbfn.notebook.cells.branches import (
    Effect,
    is_decided,
    refuse_on_replicas,
    refuse_staged,
    refuse_two_owners,
)
from nbfn.notebook.cells.contents import Content
from nbfn.notebook.cells.definitions import Definitions
from nbfn.notebook.cells.given import taken
from nbfn.notebook.cells.in_place import Contents, refuse_inner_tensors
from nbfn.notebook.cells.kinds import has_state
from nbfn.notebook.cells.leaving import Leaving
from nbfn.notebook.cells.parts import Held, Parts, within
from nbfn.notebook.cells.paths import Path, as_text

VALUE = "__value__"
"""The key of the last expression among the results."""

RESULT = "result"
"""The name of the last expression among the outputs of the function."""


class Outputs:
    """Parts the results of a traced cell, and puts them together again after a call.

    The part that is no tensor is kept with each trace: Python values and arrays as they are, other
    objects strongly until the notebook has them, and weakly from then on.

    An eager run of the cell goes the same way: what it leaves is parted and put together.

    Attributes:
        namespace: The notebook's names.
        definitions: What the cell defines.
        local_state: Whether variables that the cell makes end with the call.
        latest: The parts that `collect` found last.
        keep: Is given the parts, to keep them with the trace that is being made.
        note: Notes what the cell may change in place.
        ran_eagerly: Whether the last call ran the cell's Python, and no graph.
        left: The ways to what the first trace of the last call has left, where there were two.
        effects: Statements of the cell that change something in place, in a branch or a loop.
    """

    def __init__(
        self, namespace: dict[str, Any], definitions: Definitions, local_state: bool = False
    ) -> None:
        self.namespace = namespace
        self.definitions = definitions
        self.local_state = local_state
        self.latest: Parts | None = None
        self.keep: Callable[[Any], None] = lambda _: None
        self.note: Callable[[], Contents] = functools.partial(Contents, namespace, ())
        self._of_thread = threading.local()  # each replica runs the cell's Python on its own
        self._undone: list[Contents] | None = None  # outside a call by the cell
        self.ran_eagerly = False
        self.left: list[Path] = []
        self.effects: tuple[Effect, ...] = ()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """A call of the function by its cell; if it fails, all is as it was before."""
        self.latest, self.ran_eagerly, self.left = None, False, []
        noted = self._undone = []
        try:
            yield
        except BaseException:
            for contents in reversed(noted):
                contents.put_back()
            raise
        finally:
            self._undone = None

    @contextmanager
    def running(self, names: Sequence[str], arguments: Sequence[Any]) -> Iterator[list[Any]]:
        """Runs the cell's Python: gives what it is to be called with, and notes what it may change.

        The function may be called without its cell, by its name or for an export. It then changes
        nothing in place; what it would have changed is among its results.
        """
        __tracebackhide__ = True
        contents = self._of_thread.contents = self.note()
        own = [taken(argument) for argument in arguments]
        for name, value in zip(names, own, strict=False):
            contents.add_given(name, value)

        def create(next_creator: Callable[..., Any], **options: Any) -> Any:
            made = next_creator(**options)
            contents.makes_variables = not self.local_state
            return made

        try:
            with tf.variable_creator_scope(create):
                yield own
        except BaseException:
            contents.put_back()
            raise
        finally:
            self._of_thread.contents = None

    @tf.autograph.experimental.do_not_convert
    def collect(self, results: dict[str, Any], possible: dict[str, Callable[[], Any]]) -> Any:
        """Is called at the end of the cell, while it is traced or run eagerly.

        Args:
            results: The names that the cell surely assigned.
            possible: Gives the values of the names that it may have assigned or taken away.

        Returns:
            The graph's outputs: the tensors among the results, by name.
        """
        self.ran_eagerly = tf.executing_eagerly()
        deleted = []
        for name, read in possible.items():
            try:
                results[name] = read()
            except NameError:
                deleted.append(name)
        if VALUE in results:  # what has a name goes by it
            results[VALUE] = results.pop(VALUE)
        noted = getattr(self._of_thread, "contents", None)
        contents = noted or self.note()
        changes = contents.changes()
        if not self.ran_eagerly:
            self._refuse(results, changes)
        parts, outputs = self._part(results, changes, contents)
        if noted is None:  # TensorFlow itself calls the Python where all functions run eagerly
            parts.results = {name: Held(value) for name, value in results.items()}
        parts.deleted = tuple(deleted)
        named = Parts({n: part for n, part in parts.results.items() if n != VALUE}, parts.changes)
        parts.needed = tuple(named.held())
        parts.decided = frozenset(name for name in results if is_decided(results[name]))
        contents.put_back(all_of_it=False)
        if self._undone is None:
            parts.loosen()
        else:
            for earlier in self._undone:
                earlier.do_again(changes)
                self.left += earlier.left
            self._undone.append(contents)
        if self.latest is not None:  # of the first of two traces, or of another replica
            self.latest.loosen()
        self.latest = parts
        self.keep(parts)
        return outputs

    def _refuse(self, results: dict[str, Any], changes: dict[Path, Content]) -> None:
        """Refuses what the graph cannot tell of."""
        refuse_two_owners(results, changes)
        refuse_on_replicas(changes)
        for path, content in changes.items():
            refuse_inner_tensors(path, [content.items, *content.attributes.values()])
        for name, value in results.items():
            refuse_inner_tensors((("name", name),), value)
        refuse_staged(self.effects, changes, self.definitions.function_file)

    def _part(
        self, results: dict[str, Any], changes: dict[Path, Content], contents: Contents
    ) -> tuple[Parts, Any]:
        """Parts what the cell leaves; what is one object in two places stays one."""
        leaving = Leaving(
            contents.paths, contents.given, self.namespace, self.definitions, self.local_state
        )
        parts = Parts({}, serves_once=contents.serve_once(changes))
        changed: dict[str, Any] = {}
        for path, content in changes.items():
            key = _free(as_text(path) or "globals", {*results, *changed, RESULT})
            parts.changes[path], changed[key] = leaving.part_content(content, (key,))
        changed = {key: returned for key, returned in changed.items() if returned is not None}
        outputs: dict[str, Any] = {}
        alone = results.keys() == {VALUE} and not changed
        for name, value in results.items():
            key = _free(RESULT, results) if name == VALUE else name
            at = () if alone else (key,)
            parts.results[name], returned = leaving.part_result(name, value, at)
            named = name == VALUE and any(
                value is other for n, other in results.items() if n != name
            )
            if returned is not None and not named:
                outputs[key] = returned
        parts.kept = self._kept(parts)
        outputs |= changed
        return parts, outputs[_free(RESULT, results)] if alone and outputs else outputs

    def _kept(self, parts: Parts) -> dict[str, str]:
        """Names of results that hold what only a trace makes, and the class of that."""
        there = {id(value) for value in list(self.namespace.values())}
        kept = {}
        for name, part in parts.results.items():
            held = [each.get() for each in within(part) if isinstance(each, Held)]
            new = [value for value in held if has_state(value) and id(value) not in there]
            if new:
                kept[name] = type(new[0]).__name__
        return kept


def _free(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name
