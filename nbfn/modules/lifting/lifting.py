"""Functionalization: a method of modules with variables as a pure function of their state.

A ``Lift`` collects what the modules among the arguments hold. It runs the user's function on copies
of these modules whose variables are tensors in a store of their own, and tells what the function
wrote, so that a transformation can carry the state in and out. Meanwhile the original modules may
not be used: they would be invisible to the transformation.

AutoGraph converts the user's function as it would where the transformation is called: inside a
tf.function, but not below ``autograph=False``. What it cannot convert anywhere it cannot convert
here: several lambdas on one line, code without source, and the ``call`` of Keras layers.

Implements: Flax Module lifecycle, section "Functionalization".
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from nbfn._tensorflow import Conversion
from nbfn.modules.errors import TransformError, show_path
from nbfn.modules.lifecycle import context
from nbfn.modules.lifecycle.binding import attach
from nbfn.modules.lifecycle.fields import is_module
from nbfn.modules.lifecycle.methods import is_entered, wrap
from nbfn.modules.lifecycle.naming import fingerprint
from nbfn.modules.lifting.arguments import has_place, map_places, places_in, scope_of
from nbfn.modules.lifting.axes import flatten, is_array
from nbfn.modules.lifting.inner_store import Inner, Streams, same_streams
from nbfn.modules.variables.filters import Filter
from nbfn.modules.variables.scope import Scope, Variable
from nbfn.modules.variables.store import MISSING, Path
from nbfn.modules.variables.tree import as_tensors, leaves

_EVERYTHING = Filter.of(True)
_MAX_COMPLETE = 1024
_complete: OrderedDict[int, None] = OrderedDict()
"""Hashes of what has run and made no variables; the keys themselves would keep classes alive."""
_lock = threading.Lock()
Leaf = tuple[str, Path]
Writes = dict[Leaf, Any]


class Lift:
    """The state that a transformed function works on.

    Attributes:
      label: the transformation, such as ``"nn.vmap"``, for errors.
      store: the variables of the modules outside.
      roots: the paths of the modules, without those below others.
      user: calls the user's functions, converted by AutoGraph where their caller is.
    """

    def __init__(self, label: str, values: Any) -> None:
        """Finds the modules among the arguments.

        Raises:
          TransformError: there is none with variables, or they belong to several applications.
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
        # Every run of the function starts from the names that are taken now.
        tables = {id(m): context.table_of(m) for m in found if is_module(m)}
        self._numbering = {
            i: (table, table.names.for_a_run())
            for i, table in tables.items()
            if table is not None and table.kind == "compact"
        }
        self._values, self._found = values, found
        paths = {scope.path for scope in scopes}
        self.roots = sorted(
            p for p in paths if not any(p[: len(q)] == q for q in paths if len(q) < len(p))
        )

    @property
    def root(self) -> Path:
        """The place at which the transformation draws random numbers."""
        first: Path = self.roots[0]
        return first

    def is_creating(self, functions: Sequence[Callable[..., Any]] = ()) -> bool:
        """Whether variables may still have to be made.

        Args:
          functions: what is run; if it made nothing when it ran last (`note_made`), nothing has.
        """
        store = self.store
        if store.initializing:
            return True
        return (
            "params" in store.mutable
            and not any(store.node("params", root) for root in self.roots)
            and not (functions and self._run_of(functions) in _complete)
        )

    def note_made(self, functions: Sequence[Callable[..., Any]], *stores: Inner) -> None:
        """Notes for `is_creating` whether functions have made variables in these stores."""
        is_open = self.is_creating() and not self.store.initializing
        if is_open and not any(inner.made for inner in stores):
            with _lock:
                _complete[self._run_of(functions)] = None
                if len(_complete) > _MAX_COMPLETE:
                    _complete.popitem(last=False)

    def _run_of(self, functions: Sequence[Callable[..., Any]]) -> int:
        # What is made may depend on a flag, but not on what a tensor holds.
        static = [v for v in flatten(self._values) if not (is_array(v) or places_in(v))]
        modules = tuple((scope_of(thing).path, named(thing)) for thing in self._found)
        there = frozenset(self.leaves(_EVERYTHING))
        return hash((self.label, tuple(map(what, functions)), modules, fingerprint(static), there))

    def leaves(self, wanted: Filter) -> dict[Leaf, Any]:
        """The variables of the wanted collections at the roots and below, as tensors."""
        return {
            (collection, (*root, *path)): as_tensors(leaf)
            for collection in sorted(self.store.tree)
            if collection in wanted
            for root in self.roots
            for path, leaf in leaves(self.store.node(collection, root) or {})
        }

    def once(
        self, fn: Callable[..., Any], values: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Any:
        """Calls the function once, with all there is, and keeps what it wrote."""
        streams = same_streams(self.store)
        variables = self.leaves(_EVERYTHING)
        output, inner = self.run(fn, values, options, variables, streams, _EVERYTHING)
        self.commit(inner.writes(), inner.made)
        self.count_draws(inner, streams)
        self.note_made([fn], inner)
        return output

    def run(
        self,
        fn: Callable[..., Any],
        values: tuple[Any, ...],
        options: Mapping[str, Any],
        variables: Mapping[Leaf, Any],
        streams: Streams,
        mutable: Filter,
    ) -> tuple[Any, Inner]:
        """Calls the function on copies of the modules.

        Args:
          fn: the user's function.
          values: its arguments; modules are replaced by copies.
          options: its keyword arguments; likewise.
          variables: what the copies hold.
          streams: their random streams.
          mutable: the collections that may be written inside, if they may outside.

        Returns:
          The output, and the store, which knows what was written.

        Raises:
          TransformError: the function used a module that it was not given, or returns one.
        """
        if inspect.ismethod(fn) and has_place(fn.__self__):
            fn = fn.__func__  # the module is among the values, as it is for a plain function
        inner = Inner(self.store, self.label, self._tree(variables), streams, mutable)
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

    def make(self, made: Mapping[Leaf, Any]) -> None:
        """Makes those variables outside that do not exist there, with these initial values."""
        for (collection, (*where, name)), value in made.items():
            if self.store.find(collection, tuple(where), name) is MISSING:
                self.store.make(collection, tuple(where), name, value)

    def commit(self, writes: Mapping[Leaf, Any], made: Mapping[Leaf, Any] | None = None) -> None:
        """Writes to the modules outside what was written inside.

        Args:
          writes: what was written, leaf by leaf.
          made: the initial values of what was declared inside; None if all that does not exist
            outside was declared.
        """
        if made is not None:
            self.make(made)
        for (collection, path), value in writes.items():
            *where, name = path
            place = tuple(where)
            if self.store.find(collection, place, name) is not MISSING:
                self.store.check_mutable(collection, place, name)
                self.store.assign(collection, place, name, value)
            elif self.store.bound and self.store.sown is not None:
                node = self.store.sown.setdefault(collection, {})
                for part in place:
                    node = node.setdefault(part, {})
                node[name] = (*node.get(name, ()), *value) if isinstance(value, tuple) else value
            elif made is None:
                self.store.make(collection, place, name, value)
            else:
                self.store.create(collection, place, name, value)

    def count_draws(self, inner: Inner, names: Iterable[str]) -> None:
        """Counts outside what was drawn inside from streams that are not split."""
        for (name, path), draws in inner.drawn.items():
            if name in names:
                self.store.advance(name, path, draws)

    def _tree(self, variables: Mapping[Leaf, Any]) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for (collection, path), value in variables.items():
            node = tree.setdefault(collection, {})
            for part in path[:-1]:
                node = node.setdefault(part, {})
            node[path[-1]] = value
        # A variable may itself be a list or tuple, which the flat form has taken apart.
        for collection, path in self._structured(variables):
            *where, name = path
            whole = as_tensors(self.store.find(collection, tuple(where), name))
            node = tree[collection]
            for part in where:
                node = node[part]
            node[name] = _filled(whole, node[name])
        return tree

    def _structured(self, variables: Mapping[Leaf, Any]) -> set[Leaf]:
        found: set[Leaf] = set()
        for collection, path in variables:
            for depth in range(1, len(path)):
                held = self.store.find(collection, path[: depth - 1], path[depth - 1])
                if isinstance(held, (list, tuple)):
                    found.add((collection, path[:depth]))
                    break
        return found

    @contextlib.contextmanager
    def _tables(self, values: tuple[Any, ...], mapped: tuple[Any, ...]) -> Iterator[bool]:
        """Lets the copies go on with the numbering of the modules whose compact methods run."""
        copies = dict(zip(map(id, values), mapped, strict=True))
        continued = [(i, t, names) for i, (t, names) in self._numbering.items() if i in copies]
        for i, _, names in continued:
            opened = context.Table("compact")
            opened.names = names.copy()
            context.swap_table(copies[i], opened)
        try:
            yield id(values[0]) in self._numbering
        finally:
            for i, table, _ in continued:
                closed = context.swap_table(copies[i], None)
                if closed is not None:
                    table.names.add(closed.names)

    @contextlib.contextmanager
    def _suspended(self) -> Iterator[None]:
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
    cls = getattr(type(thing), "__untransformed__", type(thing))
    fields = {name: map_places(copied, thing.__dict__[name]) for name in thing.__field_names__}
    context.push(None)
    try:
        made = cls(**fields, parent=None, name=thing.__dict__["name"])
    finally:
        context.pop()
    attach(made, Scope(inner, thing._life.scope.path))
    return made


def _filled(whole: Any, parts: Any) -> Any:
    """The structure of ``whole`` with the leaves that the nested dict ``parts`` has by path."""
    if isinstance(whole, Mapping):
        return {key: _filled(item, parts[key]) for key, item in whole.items()}
    if isinstance(whole, (list, tuple)):
        items = [_filled(item, parts[str(i)]) for i, item in enumerate(whole)]
        return type(whole)(*items) if hasattr(whole, "_fields") else type(whole)(items)
    return parts


def what(function: Any) -> Hashable:
    """What a function does, for comparisons."""
    # A method is what it is; a function made here may have other values in its closure.
    return function if hasattr(function, "__nbfn_wrapped__") else fingerprint(function)


def fields_of(thing: Any) -> list[Any]:
    """The construction arguments of a module, without modules of its own; of a variable none."""
    if not is_module(thing):
        return [thing.collection, thing.name]
    values = [thing.__dict__[name] for name in thing.__field_names__]
    return [map_places(lambda _: None, value) for value in values]


def named(thing: Any) -> Hashable:
    """The configuration of a module, or which variable it is, for comparisons."""
    if not is_module(thing):
        return thing.collection, thing.name
    # A class that was transformed in a method is another one in each call.
    cls = getattr(type(thing), "__untransformed__", type(thing))
    return cls, fingerprint([thing.__dict__[name] for name in cls.__field_names__])


def describe(leaf: Leaf) -> str:
    """A variable for an error: its path and collection."""
    collection, path = leaf
    return f"{show_path(path)} of the collection {collection!r}"
