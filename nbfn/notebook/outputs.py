"""What a traced cell hands back: the graph's tensors, and Python values as they were traced."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import tensorflow as tf

from nbfn.notebook import in_place
from nbfn.notebook.arguments import as_given, differ
from nbfn.notebook.branches import Effect, refuse_on_replicas, refuse_staged, refuse_two_owners
from nbfn.notebook.parts import GONE, Joining, Parting, Path, loosen

VALUE = "__value__"
"""The key of the last expression among the results."""

RESULT = "result"
"""The name of the last expression among the outputs of the function."""


@dataclass
class Parts:
    """What one trace left, its tensors taken out.

    Attributes:
        results: What stands for each result, by name.
        changes: What stands for the new content of each container that was changed in place.
        deleted: Names that the cell took away on the way it went.
    """

    results: dict[str, Any]
    changes: dict[Path, Any] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()

    def loosen(self) -> None:
        """Lets go of the objects, now that the notebook has them."""
        for part in (*self.results.values(), *self.changes.values()):
            loosen(part)


@dataclass
class Left:
    """What one call left, as it goes into the notebook.

    Attributes:
        results: The results by name.
        changes: Each container that changed in place, and its new content.
        lost: Names whose value did not outlive the trace.
    """

    results: dict[str, Any]
    changes: list[tuple[Any, Any]]
    lost: list[str]


class Outputs:
    """Parts the results of a traced cell, and puts them together again after a call.

    The part that is no tensor is kept with each trace: Python values and arrays as they are, other
    objects strongly until the notebook has them, and weakly from then on.

    Attributes:
        namespace: The notebook's names.
        function_name: The name of the cell's function.
        local_state: Whether variables that the cell makes end with the call.
        latest: The parts that `collect` found last.
        keep: Is given the parts, to keep them with the trace that is being made.
        contents: What the cell may change in place, as it was before the call.
        arguments: What the call was given, by name.
        checking: Whether an eager run is to be compared with a traced one.
        ran_eagerly: Whether the last call ran the cell's Python, and no graph.
        effects: Statements of the cell that change something in place, in a branch or a loop.
    """

    def __init__(
        self, namespace: dict[str, Any], function_name: str, local_state: bool = False
    ) -> None:
        self.namespace = namespace
        self.function_name = function_name
        self.local_state = local_state
        self.latest: Parts | None = None
        self.keep: Callable[[Any], None] = lambda _: None
        self.contents: in_place.Contents | None = None
        self.arguments: dict[str, Any] = {}
        self.checking = False
        self.ran_eagerly = False
        self.effects: tuple[Effect, ...] = ()

    @tf.autograph.experimental.do_not_convert
    def collect(
        self,
        results: dict[str, Any],
        possible: dict[str, Callable[[], Any]],
        arguments: dict[str, Any],
    ) -> Any:
        """Is called at the end of the cell, while it is traced or run eagerly.

        Args:
            results: The names that the cell surely assigned.
            possible: Gives the values of the names that it may have assigned or taken away.
            arguments: The lists and dicts that the function was given, as they are now.

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
        changes = {}
        if not tf.executing_eagerly():
            changes = self._changes(arguments)
            refuse_two_owners(results, changes)
            refuse_on_replicas(changes)
        elif self.checking:
            changes = self._changes_of_an_eager_run(arguments)
        for value in results.values():
            self._unnest(value)
        for name, value in results.items():
            in_place.refuse_inner_tensors((("name", name),), value)
        known = dict(self.contents.paths) if self.contents is not None else {}
        known |= {id(value): (("name", name),) for name, value in arguments.items()}
        parting = Parting(known, self.namespace, self.local_state)
        parts = Parts({}, deleted=tuple(deleted))
        outputs: dict[str, Any] = {}
        alone = results.keys() == {VALUE} and not changes
        for name, value in results.items():
            key = _free(RESULT, results) if name == VALUE else name
            parts.results[name], returned = parting.part(value, () if alone else (key,))
            named = name == VALUE and any(
                value is other for n, other in results.items() if n != name
            )
            if returned is not None and not named:
                outputs[key] = returned
        for path, content in changes.items():
            key = _free(in_place.as_text(path) or "globals", outputs)
            # The content is new, so that it is not taken for the container itself.
            parts.changes[path], returned = Parting(_without(known, path), self.namespace).part(
                content, (key,)
            )
            if returned is not None:
                outputs[key] = returned
        if not self.ran_eagerly:
            refuse_staged(self.effects, changes)
            if self.contents is not None:
                self.contents.put_back()
        self.latest = parts
        self.keep(parts)
        return outputs[_free(RESULT, results)] if alone and outputs else outputs

    def _unnest(self, value: Any) -> None:
        """Gives a class or function of the cell the qualified name that it has in a notebook."""
        if not isinstance(value, type | FunctionType):
            return
        own = re.sub(
            rf"^(.+\.)?(tf__)?{self.function_name}(_\d+)?\.<locals>\.", "", value.__qualname__
        )
        if own != value.__qualname__:
            value.__qualname__ = own
            for each in vars(value).values():
                self._unnest(getattr(each, "__func__", each))

    def _changes(self, arguments: Mapping[str, Any]) -> dict[Path, Any]:
        changes = self.contents.changes() if self.contents is not None else {}
        given = as_given(self.arguments) if arguments.keys() <= self.arguments.keys() else {}
        for name, value in arguments.items():
            if name in given and differ(value, given[name]):
                changes[(("name", name),)] = _copied(value)
                in_place.fill(value, given[name])  # TensorFlow refuses a changed argument
        for path, content in changes.items():
            in_place.refuse_inner_tensors(path, content)
        return changes

    def _changes_of_an_eager_run(self, arguments: Mapping[str, Any]) -> dict[Path, Any]:
        changes = self.contents.changes() if self.contents is not None else {}
        for name, value in arguments.items():
            if name in self.arguments and differ(value, self.arguments[name]):
                changes[(("name", name),)] = _copied(value)
        return changes

    @staticmethod
    def restore(parts: Parts, returned: Any, namespace: dict[str, Any]) -> Left:
        """What a call left, from a trace's parts and what the graph returned."""
        joining = Joining(returned, lambda path: in_place.find(namespace, path))
        results = {name: joining.join(part) for name, part in parts.results.items()}
        changes = []
        for path, part in parts.changes.items():
            with contextlib.suppress(LookupError, AttributeError, ValueError):
                container = in_place.find(namespace, path) if path else namespace
                content = joining.join(part)
                if content is not GONE:
                    changes.append((container, content))
        lost = [name for name, value in results.items() if value is GONE]
        kept = {name: value for name, value in results.items() if value is not GONE}
        return Left(kept, changes, lost)


def apply(changes: list[tuple[Any, Any]], namespace: dict[str, Any]) -> None:
    """Gives the containers their new content, in place."""
    for container, content in changes:
        if container is namespace:
            namespace.update(content)
        else:
            in_place.fill(container, content)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _without(known: Mapping[int, Path], path: Path) -> dict[int, Path]:
    return {key: value for key, value in known.items() if value != path}


def _copied(value: Any) -> Any:
    """A copy of the outermost container, which is not taken for the container itself."""
    return dict(value) if isinstance(value, dict) else list(value)
