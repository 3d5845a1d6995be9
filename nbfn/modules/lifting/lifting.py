"""Functionalization: a method of modules with variables as a pure function of their state.

A ``Lift`` collects the state of the modules among the arguments. It runs the function on copies of
these modules whose variables are tensors in a separate store, and reports what the function wrote,
so that a transformation can carry the state in and out. Meanwhile the original modules must not be
used, because the transformation could not see them.

AutoGraph converts the function as it would where the transformation is called: inside a
tf.function, but not with ``autograph=False``. Its general limits apply: several lambdas on one
line, code without source, and the ``call`` of Keras layers.

Implements: Flax Module lifecycle, section "Functionalization".
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from nbfn._tensorflow import Conversion
from nbfn.modules.errors import TransformError, show_path
from nbfn.modules.lifecycle import method_stack
from nbfn.modules.lifecycle.binding import attach
from nbfn.modules.lifecycle.fields import (
    field_values,
    holds_modules,
    init_fields,
    is_module,
)
from nbfn.modules.lifecycle.methods import is_entered, wrap
from nbfn.modules.lifting.arguments import has_place, map_places, places_in, scope_of
from nbfn.modules.lifting.axes import flat_tensors, pack
from nbfn.modules.lifting.inner_store import Inner, Streams, same_streams
from nbfn.modules.variables.filters import EVERYTHING, Filter
from nbfn.modules.variables.scope import Scope, Variable
from nbfn.modules.variables.store import MISSING, Path
from nbfn.modules.variables.tree import as_tensors, grown, leaves

Leaf = tuple[str, Path]


class Lift:
    """The state that a transformed function works on.

    Attributes:
      label: the transformation, such as ``"nn.vmap"``, for errors.
      store: the variables of the modules outside.
      roots: the paths of the modules, except those below others.
      user: calls functions, converted by AutoGraph if their caller is.
    """

    def __init__(self, label: str, values: Any) -> None:
        """Finds the modules among the arguments.

        Raises:
          TransformError: none has variables, or they belong to several applications.
        """
        self.label = label
        self.user = Conversion()
        found = places_in(values)
        if not found:
            raise TransformError(
                f"{label} found no module with variables among the arguments. Call the "
                "transformed function as f(module, ...) inside init or apply, or with a bound "
                "module."
            )
        scopes = [scope_of(thing) for thing in found]
        self.store = scopes[0].store
        if any(scope.store is not self.store for scope in scopes):
            raise TransformError(
                f"{label} got modules of different applications: "
                f"{', '.join(sorted({str(scope) for scope in scopes}))}. Modules that are "
                "transformed together must belong to one init, apply or bind."
            )
        for scope in scopes:
            self.store.check_open(scope.path)
        # Every run of the function starts with the names that are now taken.
        tables = {id(m): method_stack.table_of(m) for m in found if is_module(m)}
        self._numbering = {
            i: (table, table.names.for_a_run())
            for i, table in tables.items()
            if table is not None and table.kind == "compact"
        }
        paths = {scope.path for scope in scopes}
        self.roots = sorted(
            p for p in paths if not any(p[: len(q)] == q for q in paths if len(q) < len(p))
        )

    @property
    def root(self) -> Path:
        """The path at which the transformation draws random numbers."""
        first: Path = self.roots[0]
        return first

    @functools.cached_property
    def _state(self) -> tuple[dict[Leaf, Any], Streams]:
        # Read together, so that neither is first read while a graph is built.
        return self.leaves(EVERYTHING), same_streams(self.store)

    @property
    def variables(self) -> dict[Leaf, Any]:
        """All variables, as they were when first read."""
        return self._state[0]

    @property
    def streams(self) -> Streams:
        """The random streams, as they were when first read."""
        return self._state[1]

    def is_creating(self) -> bool:
        """Returns whether variables may still have to be created."""
        store = self.store
        return store.initializing or (
            "params" in store.mutable and not any(store.node("params", r) for r in self.roots)
        )

    def leaves(self, wanted: Filter) -> dict[Leaf, Any]:
        """Returns the variables of the wanted collections at the roots and below, as tensors."""
        found = {
            (collection, (*root, *path)): as_tensors(leaf)
            for collection in sorted(self.store.tree)
            if collection in wanted
            for root in self.roots
            for path, leaf in leaves(self.store.node(collection, root) or {})
        }
        for collection, tree in (self.store.sown or {}).items():
            for path, value in _reduced_values(tree) if collection in wanted else ():
                if any(path[: len(root)] == root for root in self.roots):
                    found[collection, path] = as_tensors(value)
        return found

    def once(
        self, fn: Callable[..., Any], values: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Any:
        """Calls the function once with all variables, and commits what it wrote."""
        output, inner = self.run(fn, values, options)
        self.commit(inner.writes(), inner.made)
        self.count_draws(inner, self.streams)
        return output

    def run(
        self,
        fn: Callable[..., Any],
        values: tuple[Any, ...],
        options: Mapping[str, Any],
        variables: Mapping[Leaf, Any] | None = None,
        streams: Streams | None = None,
        mutable: Filter = EVERYTHING,
    ) -> tuple[Any, Inner]:
        """Calls the function on copies of the modules.

        Args:
          fn: the function.
          values: its arguments; modules are replaced by copies.
          options: its keyword arguments; likewise.
          variables: the variables of the copies; by default those of the modules.
          streams: their random streams; likewise.
          mutable: the collections that may be written inside, if they may outside.

        Returns:
          The output, and the store with the writes.

        Raises:
          TransformError: the function used a module that was not passed to it, or returned one.
        """
        if inspect.ismethod(fn) and has_place(fn.__self__):
            fn = fn.__func__  # the module is among the values, as it is for a plain function
        tree = self._tree(self.variables if variables is None else variables)
        streams = self.streams if streams is None else streams
        inner = Inner(self.store, self.label, tree, streams, mutable)
        # A module that occurs twice stays one module inside.
        copies: dict[int, Any] = {}

        def copied(thing: Any) -> Any:
            if id(thing) not in copies:
                copies[id(thing)] = _copy(thing, inner, copied)
            return copies[id(thing)]

        mapped, chosen = map_places(copied, values), map_places(copied, dict(options))
        with self._suspended(), self._tables(values, mapped) as compact:
            label = getattr(fn, "__name__", "") or type(fn).__name__
            own = is_module(mapped[0]) and not is_entered(fn)
            output = self.user.call(wrap(fn, compact, label) if own else fn, mapped, chosen)
        inner.closed = True
        if places_in(output):
            raise TransformError(
                f"{self.label}: the transformed function returned a module or a variable "
                f"({places_in(output)[0]!r}), which does not exist outside. Return values."
            )
        return output, inner

    def make(self, values: Mapping[Leaf, Any]) -> None:
        """Creates variables that do not exist outside, with these initial values."""
        for (collection, (*where, name)), value in values.items():
            if self.store.find(collection, tuple(where), name) is MISSING:
                self.store.make(collection, tuple(where), name, value)

    def commit(self, writes: Mapping[Leaf, Any], created: Mapping[Leaf, Any] | None = None) -> None:
        """Writes to the modules outside what was written inside.

        Args:
          writes: what was written, leaf by leaf.
          created: the initial values of what was declared inside; None if everything that does not
            exist outside was declared.
        """
        if created is not None:
            self.make(created)
        for (collection, path), value in writes.items():
            *where, name = path
            place = tuple(where)
            if self.store.find(collection, place, name) is not MISSING:
                self.store.check_mutable(collection, place, name)
                self.store.assign(collection, place, name, value)
            elif self.store.bound and self.store.sown is not None:
                node = grown(self.store.sown, (collection, *place))
                node[name] = (*node.get(name, ()), *value) if isinstance(value, tuple) else value
            elif created is None:
                self.store.make(collection, place, name, value)
            else:
                self.store.create(collection, place, name, value)

    def keep(self, output: Any, inner: Inner, tensors: Sequence[Any] | None = None) -> Any:
        """Commits the writes and draws of a run.

        Args:
          output: the output of the run.
          inner: its store.
          tensors: replacements for `tensors_of` the run.

        Returns:
          The output.
        """
        writes = inner.writes()
        if tensors is not None:
            output, written = pack([output, list(writes.values())], tensors)
            writes = dict(zip(writes, written, strict=True))
        self.commit(writes)
        self.count_draws(inner, self.streams)
        return output

    def count_draws(self, inner: Inner, names: Iterable[str]) -> None:
        """Counts outside the draws that were made inside from streams that are not split."""
        for (name, path), draws in inner.drawn.items():
            if name in names:
                self.store.advance(name, path, draws)

    def _tree(self, variables: Mapping[Leaf, Any]) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for (collection, path), value in variables.items():
            grown(tree, (collection, *path[:-1]))[path[-1]] = value
        return {c: _with_containers_of(node, self.store.tree.get(c)) for c, node in tree.items()}

    @contextlib.contextmanager
    def _tables(self, values: tuple[Any, ...], mapped: tuple[Any, ...]) -> Iterator[bool]:
        """Makes the copies continue the numbering of the modules whose compact methods run."""
        copies = dict(zip(map(id, values), mapped, strict=True))
        continued = [(i, t, names) for i, (t, names) in self._numbering.items() if i in copies]
        for i, _, names in continued:
            opened = method_stack.Declarations("compact")
            opened.names = names.copy()
            method_stack.swap_table(copies[i], opened)
        try:
            yield id(values[0]) in self._numbering
        finally:
            for i, table, _ in continued:
                closed = method_stack.swap_table(copies[i], None)
                if closed is not None:
                    table.names.add(closed.names)

    @contextlib.contextmanager
    def _suspended(self) -> Iterator[None]:
        # For this thread only: others may use a bound module meanwhile.
        thread = threading.get_ident()
        before = self.store.suspended.get(thread)
        self.store.suspended[thread] = self.label
        try:
            yield
        finally:
            if before is None:
                del self.store.suspended[thread]
            else:
                self.store.suspended[thread] = before


def _copy(thing: Any, inner: Inner, copied: Callable[[Any], Any]) -> Any:
    if isinstance(thing, Variable):
        return Variable(Scope(inner, thing._scope.path), thing.collection, thing.name)
    # The transformation is running already: a copy of the transformed class would begin it again.
    cls = getattr(type(thing), "__untransformed__", type(thing))
    values = field_values(thing)  # adopted modules; for the rest, what the constructor takes
    fields = {
        name: map_places(copied, values[name] if holds_modules(value) else value)
        for name, value in init_fields(thing).items()
    }
    with method_stack.entered(None):
        copy = cls(**fields, parent=None, name=thing.__dict__["name"])
    attach(copy, Scope(inner, thing._internal.scope.path))
    return copy


def _reduced_values(sown: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yields sown values that the next one is combined with; `commit` appends to tuples."""
    for name, value in sown.items():
        if isinstance(value, Mapping):
            yield from _reduced_values(value, (*path, name))
        elif not isinstance(value, (list, tuple)):
            yield (*path, name), value


def _with_containers_of(parts: Any, stored: Any) -> Any:
    """Restores lists and tuples in a tree where the stored variable has them."""
    if not isinstance(parts, dict):
        return parts
    if isinstance(stored, (list, tuple)):
        items = [_with_containers_of(parts[str(i)], item) for i, item in enumerate(stored)]
        return type(stored)(*items) if hasattr(stored, "_fields") else type(stored)(items)
    inside = stored if isinstance(stored, Mapping) else {}
    return {name: _with_containers_of(part, inside.get(name)) for name, part in parts.items()}


def tensors_of(output: Any, inner: Inner) -> list[Any]:
    """Returns the tensors of the output and writes of a run, for a transformation to return."""
    return flat_tensors([output, list(inner.writes().values())])


def describe(leaf: Leaf) -> str:
    """Formats a variable for an error: its path and collection."""
    collection, path = leaf
    return f"{show_path(path)} of the collection {collection!r}"
