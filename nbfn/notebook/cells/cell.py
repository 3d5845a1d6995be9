"""A cell whose body became one function, and how it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf

from nbfn.functions import TracedFunction
from nbfn.notebook.cells.first_trace import without_left
from nbfn.notebook.cells.given import Templates
from nbfn.notebook.cells.in_place import Contents
from nbfn.notebook.cells.inputs import is_input
from nbfn.notebook.cells.objects import is_object
from nbfn.notebook.cells.outputs import VALUE, Outputs
from nbfn.notebook.cells.paths import as_text
from nbfn.notebook.cells.restoring import restore


@dataclass
class Surroundings:
    """What a cell runs in.

    Attributes:
        device: A device scope.
        stance: What a call does that finds no trace.
    """

    device: str | None = None
    stance: str | None = None

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Enters all of them."""
        with ExitStack() as stack:
            if self.stance is not None:
                from nbfn.functions import stance

                stack.enter_context(stance(self.stance))
            if self.device is not None:
                stack.enter_context(tf.device(self.device))
            yield


@dataclass
class TracedCell:
    """A cell whose body became one function.

    Attributes:
        traced: The function.
        inputs: Names in the notebook that it takes as arguments.
        outputs: How its results are put together.
        deletes: Names in the notebook that it takes away.
        captured: Names in the notebook that it takes by reference.
        builtins: Arguments that are builtins, by name.
        surroundings: What it runs in.
        lost: Names that the last run could not leave, because their value ended with the trace.
        text: The cell's text.
        may_leave: Names that it assigns on some way through it only, and does not take.
        omitted: Those of them that no run leaves, because a loop gives them their first value.
        templates: How objects are made that it is given.
    """

    traced: TracedFunction
    inputs: tuple[str, ...]
    outputs: Outputs
    deletes: tuple[str, ...] = ()
    captured: tuple[str, ...] = ()
    builtins: Mapping[str, Any] = field(default_factory=dict)
    surroundings: Surroundings = field(default_factory=Surroundings)
    lost: list[str] = field(default_factory=list)
    text: str = ""
    may_leave: frozenset[str] = frozenset()
    omitted: frozenset[str] = frozenset()
    templates: Templates = field(default_factory=Templates)

    def taken_and_written(self) -> tuple[tuple[str, ...], frozenset[str]]:
        """Its inputs, and what its last trace surely writes besides."""
        trace = self.traced.last_trace
        parts = trace.python_results if trace is not None else None
        if parts is None:
            return self.inputs, frozenset()
        return self.inputs, frozenset(parts.results) - parts.decided - {*self.inputs}

    def changes(self) -> set[str]:
        """What its last trace changes in place, as the user would write it."""
        trace = self.traced.last_trace
        parts = trace.python_results if trace is not None else None
        found = set()
        for path, content in parts.changes.items() if parts is not None else ():
            found |= {as_text((*path, ("attribute", name))) for name in content.attributes}
            if content.items is not None:
                found.add(as_text(path))
        return found

    def arguments(self, namespace: Mapping[str, Any]) -> list[Any]:
        """What the function is given for the inputs."""
        values = [namespace[n] if n in namespace else self.builtins[n] for n in self.inputs]
        if tf.config.functions_run_eagerly():
            return values
        return [
            self.templates.given(value) if is_object(value) and not is_input(value) else value
            for value in values
        ]

    def run(self, namespace: dict[str, Any]) -> Any:
        """Calls it with the notebook's values, and puts what it leaves into the notebook.

        Returns:
            The value of the last expression; None if the cell does not end in one.
        """
        __tracebackhide__ = True
        self._forget_what_serves_no_more()
        before = self.traced.last_trace
        with self.outputs.calling(), self.surroundings.entered():
            returned = self.traced(*self.arguments(namespace))
            parts = self.outputs.latest  # None after a hit, which runs no Python
            trace = self.traced.last_trace
            if parts is None and trace is not None:
                parts = trace.python_results
            elif trace is not None and trace is not before and trace.python_results is None:
                trace.python_results = parts  # they came on a replica's thread
        if parts is None:
            return None
        done = parts
        if self.outputs.left:  # as after a first run; the second trace tells what the next does
            done = replace(parts, changes=without_left(parts.changes, self.outputs.left))
        left = restore(done, returned, namespace)
        value = left.results.pop(VALUE, None)
        try:
            left.apply(namespace)
        except KeyboardInterrupt:  # which must not leave half of it
            left.apply(namespace)
            raise
        self.lost = left.lost
        for name in (*self.deletes, *(n for n in parts.deleted if n in self.inputs)):
            namespace.pop(name, None)
        parts.loosen()
        return value

    def check(self, namespace: dict[str, Any]) -> Any:
        """Compares an eager run with a traced one; leaves everything as it was.

        Returns:
            A ``Check``; its text says what differs.
        """
        __tracebackhide__ = True
        from nbfn.functions.check import check

        arguments = [
            tf.nest.map_structure(lambda leaf: leaf, value)
            if isinstance(value, (list, dict))
            else value
            for value in self.arguments(namespace)
        ]
        with self.outputs.calling(), self.surroundings.entered():
            report = check(self.traced, arguments, {})
        # What a cell changes in place leaves through the graph.
        told = {*self.contents(namespace).names(), *self.inputs}
        return replace(
            report,
            differences=tuple(
                each
                for each in report.differences
                if each.kind not in ("effect", "leak")
                or re.split(r"[.\[ ]", each.name)[0].strip("`") not in told
            ),
        )

    def contents(self, namespace: dict[str, Any]) -> Contents:
        """What the cell may change in place, as it is now."""
        contents = Contents(namespace, self.captured)
        contents.add_code(self.traced.python_function.__code__)
        return contents

    def _forget_what_serves_no_more(self) -> None:
        """Drops traces that serve one call only, and those whose objects the notebook dropped."""
        for trace in self.traced.traces:
            parts = trace.python_results
            if parts is not None and (parts.serves_once or not parts.is_whole()):
                self.traced.evict(trace)
