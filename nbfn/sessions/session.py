"""The session of a notebook: what its names hold, as one thing.

The idea of the "bound module" session: the notebook's namespace is the root of a module, and what
the user names, the session names.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from nbfn import protocol
from nbfn.errors import NbfnError
from nbfn.functions import TracedFunction, live_functions
from nbfn.functions.graphs.wrap import WrappedFunction
from nbfn.functions.segments.cell import TracedCell
from nbfn.functions.traces.variable_names import (
    children,
    named_leaves,
    notebook,
    users_names,
    walk,
)
from nbfn.functions.watching.watch import observe
from nbfn.functions.watching.watched_function import WatchedFunction
from nbfn.functions.watching.watched_object import tf_functions
from nbfn.sessions.cluster import strategy as cluster
from nbfn.sessions.contents import kinds
from nbfn.sessions.contents.held import Held, held_by
from nbfn.sessions.contents.model import Model, is_model, model_of, trained
from nbfn.sessions.contents.statistics import Statistics, statistics_of
from nbfn.sessions.dependencies import Dependencies, dependencies_of
from nbfn.sessions.environment import tell_environment, tell_names
from nbfn.sessions.feed import Feed, feed
from nbfn.sessions.placement import Memory, SessionPlacement, memory_of, session_placement
from nbfn.sessions.records import functions_of
from nbfn.sessions.snapshot import Snapshot, put_back, snapshot_of
from nbfn.text import count, join

_MAX_NAMES = 5

Function = TracedFunction | WatchedFunction | WrappedFunction
"""A function of the session: nbfn's own, or the observer of one that was made elsewhere."""


class SessionKeyError(NbfnError, KeyError):
    """No name of the notebook leads there."""

    def __str__(self) -> str:
        return str(self.args[0])


class Session:
    """What the notebook holds now. It keeps nothing alive.

    Everything goes by the names that the user gave, and by the path from there:
    ``model/hidden/kernel``. What only IPython keeps (``Out[3]``) is named last.

    Args:
        namespace: The namespace whose names the session has; by default the notebook's.
    """

    def __init__(self, namespace: dict[str, Any] | None = None) -> None:
        self._namespace = notebook() if namespace is None else namespace

    def named(self) -> list[tuple[str, Any]]:
        """The notebook's public names and what they stand for."""
        return users_names(self._namespace)

    @property
    def functions(self) -> dict[str, Function]:
        """Every traced function that the notebook names, and traced methods of what it names.

        A plain ``tf.function`` is watched from now on, and stands here as its observer, under its
        own name if it has one.
        """
        public = self.named()
        own = {id(value) for _, value in public}
        named: dict[str, Any] = {}
        for name, value in public:
            if isinstance(value, Function):
                if not (isinstance(value, WatchedFunction) and id(value.function) in own):
                    named[name] = value
            elif kinds.is_tf_function(value):
                named[name] = observe(value, name, hits=True)
            elif isinstance(value, tf.Module):
                for method, function in tf_functions(value).items():
                    if kinds.is_tf_function(function):
                        observe(function, f"{name}.{method}", value, hits=True)
        known = {id(function) for function in named.values()}
        owned = {id(value): name for name, value in reversed(public)}
        for function in live_functions():
            owner = getattr(function, "owner", None)
            if owner is not None and id(owner) in owned and id(function) not in known:
                method = function.recorder.name.rpartition(".")[2]
                named[f"{owned[id(owner)]}.{method}"] = function
        return named

    def discover(self) -> None:
        """Sees the plain tf.functions that the notebook has, with the traces that they have.

        Of their calls, those that trace are seen, as of those that `watch.discover` finds later.
        """
        for name, value in self.named():
            if kinds.is_tf_function(value):
                observe(value, name, hits=False)
            elif isinstance(value, tf.Module) or kinds.is_model(value):
                for method, function in tf_functions(value).items():
                    if kinds.is_tf_function(function):
                        observe(function, f"{name}.{method}", value, hits=False)

    @property
    def watched(self) -> dict[str, WatchedFunction]:
        """The observer of every function that was made elsewhere, by the name to show."""
        return {f.label: f for f in live_functions() if isinstance(f, WatchedFunction)}

    @property
    def _is_notebooks(self) -> bool:
        return self._namespace is notebook()

    @property
    def shown(self) -> protocol.Snapshot:
        """The rows and totals that all views show."""
        if self._is_notebooks:
            tell_environment(self.named(), now=True)
            source = feed()
        else:
            cells = list(self.cells.values())
            inside = [each for cell in cells for each in functions_of(cell)]
            functions = list(
                {each.id: each for each in (*self.functions.values(), *inside)}.values()
            )
            source = Feed(lambda: (functions, cells), {})
            tell_names(source.environment, self.named(), functions, cells)
        source.flush()
        return source.snapshot()

    @property
    def totals(self) -> protocol.Totals:
        """How much there is of everything, as all views show it."""
        return self.shown.totals or protocol.Totals()

    @property
    def cells(self) -> dict[str, TracedCell]:
        """Every cell in segments that the notebook names."""
        return {name: value for name, value in self.named() if isinstance(value, TracedCell)}

    @property
    def modules(self) -> dict[str, tf.Module]:
        """Every ``tf.Module`` that the notebook names."""
        return {name: value for name, value in self.named() if isinstance(value, tf.Module)}

    @property
    def models(self) -> dict[str, Any]:
        """Every Keras model and layer that the notebook names."""
        return {name: value for name, value in self.named() if kinds.is_layer(value)}

    @property
    def optimizers(self) -> dict[str, Any]:
        """Every optimizer that the notebook's names lead to."""
        return self._all(kinds.is_optimizer)

    @property
    def tables(self) -> dict[str, Any]:
        """Every lookup table that the notebook's names lead to."""
        return self._all(kinds.is_table)

    @property
    def datasets(self) -> dict[str, tf.data.Dataset]:
        """Every dataset that the notebook's names lead to."""
        return self._all(lambda value: isinstance(value, tf.data.Dataset))

    @property
    def iterators(self) -> dict[str, tf.data.Iterator]:
        """Every iterator over a dataset that the notebook's names lead to."""
        return self._all(lambda value: isinstance(value, tf.data.Iterator))

    def _all(self, is_one: Callable[[Any], bool]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        known: set[int] = set()
        for name, _, value in walk(self.named(), whole=True):
            if is_one(value) and id(value) not in known:
                known.add(id(value))
                found.setdefault(name, value)
        return found

    @property
    def variables(self) -> dict[str, tf.Variable]:
        """Every variable that the notebook's names lead to, under its first name."""
        leaves = named_leaves(self.named())
        return {name: leaf for name, leaf in leaves.items() if isinstance(leaf, tf.Variable)}

    @property
    def state(self) -> dict[str, Any]:
        """The variables as nested dicts, ``state["model"]["hidden"]["kernel"]``.

        Where a variable `a` stands beside another `a/b`, that is ``state["a/b"]``.
        """
        variables = self.variables
        tree: dict[str, Any] = {}
        for name, variable in variables.items():
            *parents, last = name.split("/")
            above = ["/".join(parents[: i + 1]) for i in range(len(parents))]
            if any(each in variables for each in above):
                tree[name] = variable
                continue
            node = tree
            for parent in parents:
                node = node.setdefault(parent, {})
            node[last] = variable
        return tree

    @property
    def devices(self) -> tuple[str, ...]:
        """TensorFlow's logical devices, by full name."""
        return tuple(device.name for device in tf.config.list_logical_devices())

    @property
    def strategy(self) -> Any:
        """The ``tf.distribute`` strategy that the notebook uses; None if it uses none."""
        return cluster.used()

    def scope(self) -> AbstractContextManager[None]:
        """A with-block: the models and optimizers made inside are made under the strategy."""
        return cluster.scope()

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Calls a function on the replicas of the strategy, each with its share of the batch.

        The first argument with rows is the batch: each argument with as many rows is split, others
        go to each replica whole. Traced functions get traces of their own for such calls; a plain
        call of theirs stays plain. ``session.run(step.run, x)`` has the placement, too.

        Returns:
            Rows that belong to rows of the batch, one after another; other floating values
            averaged; anything else once.

        Raises:
            StrategyError: If an argument cannot be split, or if a call makes variables that the
                strategy's scope should have made.
        """
        return cluster.run(function, args, kwargs)

    @property
    def memory(self) -> dict[str, Memory]:
        """What each device holds, in bytes, by its full name."""
        return memory_of(self.devices, self.variables.values())

    def used_by(self, name: str) -> tuple[str, ...]:
        """The functions, also those of cells, with a trace that captures a variable.

        Raises:
            SessionKeyError: If the notebook names no such variable.
        """
        return self.users(self[name])

    @property
    def users(self) -> Callable[[tf.Variable], tuple[str, ...]]:
        """Tells of any variable the functions with a trace that captures it."""
        captured = list(self._captured())
        return lambda variable: tuple(name for name, ids in captured if id(variable) in ids)

    @property
    def unused(self) -> dict[str, tf.Variable]:
        """The variables that no trace of any function captures."""
        used = {key for _, captured in self._captured() for key in captured}
        return {name: each for name, each in self.variables.items() if id(each) not in used}

    def _captured(self) -> Iterator[tuple[str, set[int]]]:
        for name, function in self._all_functions():
            captures = function.captures
            yield name, {id(c.value) for c in captures if c.kind == "variable" and c.is_alive}

    def _all_functions(self) -> Iterator[tuple[str, Any]]:
        """The functions that are named, those of cells, and those that nbfn only watches."""
        named: dict[str, Any] = dict(self.functions)
        for name, cell in self.cells.items():
            named |= {f"{name}.functions[{i}]": each for i, each in enumerate(cell.functions)}
        known = {id(function) for function in named.values()}
        watched = {n: each for n, each in self.watched.items() if id(each) not in known}
        named = named | {name: each for name, each in watched.items() if name not in named}
        yield from named.items()

    def __getitem__(self, name: str) -> Any:
        """What a path such as ``model/hidden/kernel`` leads to: a variable, a module, a table.

        Raises:
            SessionKeyError: If it leads to nothing.
        """
        found = _below(self.named(), name, set())
        if found:
            return found[0]
        leaves = named_leaves(self.named())
        if name in leaves:  # several have this path, and a number tells them apart
            return leaves[name]
        last = name.rpartition("/")[2]
        near = [each for each in leaves if each.rpartition("/")[2] == last]
        if not near:
            root = name.partition("/")[0]
            same_root = [each for each in leaves if each.partition("/")[0] == root][:1000]
            roots = list(dict.fromkeys(each.partition("/")[0] for each in leaves))
            near = difflib.get_close_matches(name, same_root or roots, cutoff=0.5)
        if near:
            hint = f"did you mean {join(near[:3], 'or')}?"
        else:
            hint = f"it has {join(roots[:_MAX_NAMES])}" if roots else "it has no variables"
        raise SessionKeyError(f"the session has no `{name}`; {hint}")

    def statistics(self, path: str = "") -> Statistics:
        """What the values of variables look like: mean, extremes, histogram, change since last.

        Args:
            path: The variable, or what holds the variables; all by default.

        Raises:
            SessionKeyError: If it leads to no variable.
        """
        found = [
            (name, variable)
            for name, variable in self.variables.items()
            if not path or name == path or name.startswith(f"{path}/")
        ]
        if path and not found:
            raise SessionKeyError(f"`{path}` ({type(self[path]).__name__}) holds no variable")
        return statistics_of(found)

    def tabulate(self, path: str, gradients: Iterable[tuple[Any, Any]] = ()) -> Model:
        """A model as a tree: shapes, parameters, bytes, sharing, and what a step has changed.

        Args:
            path: The module, Keras model or layer.
            gradients: Pairs of a gradient and its variable, as optimizers take them.

        Returns:
            The tree, which says of each part how far its values are from those of the last look.

        Raises:
            SessionKeyError: If it leads to no model.
        """
        value = self[path]
        if not is_model(value):
            raise SessionKeyError(f"`{path}` ({type(value).__name__}) is not a module or layer")
        users = self.users
        return trained(model_of(value, path), value, gradients, lambda each: bool(users(each)))

    @property
    def placement(self) -> SessionPlacement:
        """What each device holds and has run, as far as calls were watched, and what was copied.

        A call is watched by ``f.run(...)`` or ``%tf_placement f(...)``.
        """
        return session_placement(self._all_functions(), self.memory, self.strategy)

    @property
    def dependencies(self) -> Dependencies:
        """What cells and traces have read, what of it has changed, and what to run again."""
        return dependencies_of(self._all_functions())

    def snapshot(self) -> Snapshot:
        """A copy of the values of all variables and of the entries of all tables now, by name."""
        return snapshot_of(self.held())

    def restore(self, snapshot: Mapping[str, Any], *, partial: bool = False) -> None:
        """Gives variables and tables back what a snapshot has of them.

        A model that was made again is restored if it has the same structure: the numbers that Keras
        adds to the names of layers need not be the same. A warning names what has no value in the
        snapshot, such as variables that an optimizer has made since.

        Args:
            snapshot: What `snapshot` returned, or a part of it.
            partial: Whether to restore the rest if something of the snapshot is not there.

        Raises:
            RestoreError: If something of the snapshot is not there, or has another shape or dtype;
                nothing is changed then.
        """
        put_back(snapshot, self.held(), partial)

    def held(self) -> Held:
        """What can be saved: the variables and the mutable tables."""
        return held_by(self.named(), self.tables)

    def __repr__(self) -> str:
        totals = self.totals
        held = (
            (totals.functions, "function"),
            (totals.cells, "cell"),
            (len(self.modules), "module"),
            (len(self.models), "Keras model"),
            (totals.variables, "variable"),
            (len(self.tables), "table"),
        )
        listed = ", ".join(count(number, noun) for number, noun in held if number)
        return f"<nbfn session: {listed or 'nothing yet'}>"


def _below(named: Iterable[tuple[str, Any]], path: str, seen: set[int]) -> list[Any]:
    """What a path leads to from some names, in a list; an empty list for nothing."""
    for name, value in named:
        if name == path:
            return [value]
        rest = path.removeprefix(f"{name}/") if name else path
        if (rest != path or not name) and id(value) not in seen:
            with contextlib.suppress(NbfnError):
                if hasattr(type(value), "named_variables"):
                    return [value[rest]]  # a module of nbfn knows its paths
            found = _below(children(value, whole=True), rest, seen | {id(value)})
            if found:
                return found
    return []


def session(strategy: Any = ...) -> Session:
    """The session of this kernel, or of this script.

    Args:
        strategy: A ``tf.distribute`` strategy that the notebook uses from now on; None for none.

    Raises:
        StrategyError: If it is something else.
    """
    if strategy is not ...:
        cluster.use(strategy)
    return Session()
