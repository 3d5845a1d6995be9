"""The session of a notebook: everything that its names lead to.

As in the "bound module" session, the notebook's namespace is the root of a module: the names of the
notebook are the names of the session.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow, protocol
from nbfn.errors import NbfnError
from nbfn.functions import TracedFunction, live_functions
from nbfn.functions.graphs.wrap import WrappedFunction
from nbfn.functions.segments.cell import TracedCell
from nbfn.functions.traces.variable_names import (
    children,
    named_leaves,
    notebook_namespace,
    public_names,
)
from nbfn.functions.watching.watch import observe
from nbfn.functions.watching.watched_function import WatchedFunction
from nbfn.functions.watching.watched_object import tf_functions
from nbfn.outlines.session_outline import SessionState
from nbfn.sessions.cluster import strategy as cluster
from nbfn.sessions.contents import kinds
from nbfn.sessions.contents.model import Model, model_of, trained
from nbfn.sessions.contents.savable_state import SavableState, savable_state
from nbfn.sessions.contents.statistics import Statistics, statistics_of
from nbfn.sessions.dependencies import Dependencies, dependencies_of
from nbfn.sessions.messages.environment import object_rows, update_environment, update_names
from nbfn.sessions.messages.feed import Feed, feed
from nbfn.sessions.messages.records import functions_of
from nbfn.sessions.session_placement import Memory, SessionPlacement, memory_of, session_placement
from nbfn.sessions.snapshot import Snapshot, restore_snapshot, snapshot_of
from nbfn.text import count, did_you_mean, join, shorten

_MAX_NAMES = 5

Function = TracedFunction | WatchedFunction | WrappedFunction
"""A function of the session: one made by nbfn, or the observer of another one."""


class SessionKeyError(NbfnError, KeyError):
    """Raised if no name of the notebook leads to a path."""

    def __str__(self) -> str:
        return str(self.args[0])


class Session:
    """The current contents of the notebook. It keeps nothing alive.

    Everything is named by the notebook's names and the path below them: ``model/hidden/kernel``.
    ``Out[3]`` is used only for a value without another name.

    Example::

        weight = tf.Variable(1.0)
        session = nbfn.session()
        before = session.snapshot()
        session["weight"].assign(2.0)
        session.restore(before)
        assert weight.numpy() == 1.0

    Args:
        namespace: The namespace to list; by default the notebook's.
    """

    def __init__(self, namespace: dict[str, Any] | None = None) -> None:
        self._namespace = notebook_namespace() if namespace is None else namespace

    def named(self) -> list[tuple[str, Any]]:
        """Returns the notebook's public names and their values."""
        return public_names(self._namespace)

    @property
    def functions(self) -> dict[str, Function]:
        """Every traced function that the notebook names, and traced methods of what it names.

        A plain ``tf.function`` is watched from now on and listed as its observer, under the
        observer's own name if it has one.
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
                    elif isinstance(function, TracedFunction) and function.owner is None:
                        named[f"{name}.{method}"] = function  # a static method
        ids = {id(function) for function in named.values()}
        # In reverse, so that the first of several names stays.
        owned = {id(value): name for name, value in reversed(public)}
        for function in live_functions():
            owner = getattr(function, "owner", None)
            if owner is not None and id(owner) in owned and id(function) not in ids:
                method = function.recorder.name.rpartition(".")[2]
                named[f"{owned[id(owner)]}.{method}"] = function
        return named

    def discover(self) -> None:
        """Observes the plain tf.functions of the notebook, with their existing traces.

        Of their calls only those that trace are recorded, as for functions found by
        `watch.discover`.
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
        """The observers of all functions that were made elsewhere, by display name."""
        return {f.label: f for f in live_functions() if isinstance(f, WatchedFunction)}

    @property
    def shown(self) -> SessionState:
        """The rows and totals that all views show."""
        if self._namespace is notebook_namespace():
            update_environment(self.named(), now=True)
            source = feed()
        else:
            cells = list(self.cells.values())
            inside = [each for cell in cells for each in functions_of(cell)]
            functions = list(
                {each.id: each for each in (*self.functions.values(), *inside)}.values()
            )
            source = Feed(lambda: (functions, cells), {})
            update_names(source.environment, self.named(), functions, cells)
            source.environment.objects = object_rows(self.named())
        source.flush()
        return source.shown

    @property
    def totals(self) -> protocol.Totals:
        """The totals that all views show."""
        return self.shown.totals

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
        return kinds.values_below(self.named(), kinds.is_optimizer)

    @property
    def tables(self) -> dict[str, Any]:
        """Every lookup table that the notebook's names lead to."""
        return kinds.values_below(self.named(), kinds.is_table)

    @property
    def datasets(self) -> dict[str, tf.data.Dataset]:
        """Every dataset that the notebook's names lead to."""
        return kinds.values_below(self.named(), kinds.is_dataset)

    @property
    def iterators(self) -> dict[str, tf.data.Iterator]:
        """Every iterator over a dataset that the notebook's names lead to."""
        return kinds.values_below(self.named(), kinds.is_iterator)

    @property
    def variables(self) -> dict[str, tf.Variable]:
        """Every variable that the notebook's names lead to, under its first name."""
        leaves = named_leaves(self.named())
        return {name: leaf for name, leaf in leaves.items() if isinstance(leaf, tf.Variable)}

    @property
    def state(self) -> dict[str, Any]:
        """The variables as nested dicts, ``state["model"]["hidden"]["kernel"]``.

        If a variable ``a`` exists beside another variable ``a/b``, the latter is ``state["a/b"]``.
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
        """The ``tf.distribute`` strategy in use, or None."""
        return cluster.used()

    def scope(self) -> AbstractContextManager[None]:
        """Returns a context in which models and optimizers are made under the strategy."""
        return cluster.scope()

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Calls a function on the replicas of the strategy, each with its share of the batch.

        The first argument with rows is the batch. Each argument with as many rows is split; others
        are passed whole to each replica. Traced functions get separate traces for such calls. Use
        ``session.run(step.run, x)`` to get the placement, too.

        Returns:
            Results with a row per row of the batch, concatenated; other floating results, averaged;
            any other result once.

        Raises:
            StrategyError: If an argument cannot be split, or if a call makes variables that should
                be made in the strategy's scope.
            TypeError: If the first argument is no function, as in ``session.run(step(x))``.
        """
        if not callable(function):
            raise TypeError(f"session.run calls a function with arguments; found {function!r}")
        return cluster.run(function, args, kwargs)

    @property
    def memory(self) -> dict[str, Memory]:
        """The memory of each device, by full name."""
        return memory_of(self.devices, self.variables.values())

    def used_by(self, name: str) -> tuple[str, ...]:
        """Returns the functions, including those of cells, with a trace that captures a variable.

        Raises:
            SessionKeyError: If the notebook names no such variable.
        """
        return self.users(self[name])

    @property
    def users(self) -> Callable[[tf.Variable], tuple[str, ...]]:
        """A callable that returns, for a variable, the functions with a trace that captures it."""
        captured = list(self._capture_ids())
        return lambda variable: tuple(name for name, ids in captured if id(variable) in ids)

    @property
    def unused(self) -> dict[str, tf.Variable]:
        """The variables that no trace captures."""
        used = {key for _, captured in self._capture_ids() for key in captured}
        return {name: each for name, each in self.variables.items() if id(each) not in used}

    def _capture_ids(self) -> Iterator[tuple[str, set[int]]]:
        for name, function in self.all_functions().items():
            captures = (each for each in function.captures if each.kind == "variable")
            variables = (each.target for each in captures if each.target is not None)
            yield name, {id(_tensorflow.distributed_variable(each)) for each in variables}

    def all_functions(self) -> dict[str, Any]:
        """Returns the functions that are named, of cells, of loaded models, and only watched."""
        named: dict[str, Any] = dict(self.functions)
        ids = {id(function) for function in named.values()}
        for name, value in self.named():
            loaded = value.functions if isinstance(value, Session) else {}
            named |= {f"{name}[{k!r}]": each for k, each in loaded.items() if id(each) not in ids}
        for name, cell in self.cells.items():
            named |= {f"{name}.functions[{i}]": each for i, each in enumerate(cell.functions)}
        ids = {id(function) for function in named.values()}
        watched = {n: each for n, each in self.watched.items() if id(each) not in ids}
        return named | {name: each for name, each in watched.items() if name not in named}

    def __getitem__(self, name: str) -> Any:
        """Returns what a path such as ``model/hidden/kernel`` leads to: variable, module or table.

        Raises:
            SessionKeyError: If it leads to nothing.
        """
        if not isinstance(name, str):
            raise SessionKeyError(f"expected a name or a path, found {shorten(repr(name))}")
        found = _below(self.named(), name, set())
        if found:
            return found[0]
        leaves = named_leaves(self.named())
        if name in leaves:  # several variables share this path and are numbered
            return leaves[name]
        last = name.rpartition("/")[2]
        ends_alike = [each for each in leaves if each.rpartition("/")[2] == last]
        if ends_alike:
            hint = f"; did you mean {join(ends_alike[:3], 'or')}?"
        else:
            below = [each for each in leaves if each.startswith(f"{name.partition('/')[0]}/")]
            roots = list({each.partition("/")[0]: None for each in leaves} | self.functions)
            # `difflib` compares the name with each of them: 1000 take 0.1 s.
            hint = did_you_mean(name, below[:1000] or roots, "{}", 3)
            if not hint:
                hint = f"; it has {join(roots[:_MAX_NAMES] or ['no variables or functions'])}"
        raise SessionKeyError(f"the session has no `{name}`{hint}")

    __iter__ = None  # otherwise Python would iterate by __getitem__, which takes paths

    def __getattr__(self, name: str) -> Any:
        """Raises an error that names the item, if there is one, which users expect here."""
        is_item = not name.startswith("_") and name in dict(self.named())
        hint = f'; use session["{name}"]' if is_item else ""
        raise AttributeError(f"a session has no attribute `{name}`{hint}")

    def statistics(self, path: str = "") -> Statistics:
        """Computes mean, extremes and histogram of variables, and their change since the last call.

        Args:
            path: A variable, or an object that holds variables; by default all variables.

        Raises:
            SessionKeyError: If it leads to no variable.
        """
        found = self.variables
        if path != "":
            # `variables` has each variable once, perhaps under another name than this path's.
            root = str(path).partition("/")[0]
            leaves = named_leaves(each for each in self.named() if each[0] == root).items()
            below = {id(each) for name, each in leaves if f"{name}/".startswith(f"{path}/")}
            found = {name: each for name, each in found.items() if id(each) in below}
            if not found:
                raise SessionKeyError(f"`{path}` ({type(self[path]).__name__}) holds no variable")
        return statistics_of(found.items())

    def tabulate(self, path: str, gradients: Iterable[tuple[Any, Any]] = ()) -> Model:
        """Returns a model as a tree: shapes, parameters, bytes, sharing, and changes by training.

        Args:
            path: The module, Keras model or layer.
            gradients: Pairs of a gradient and its variable, as optimizers take them.

        Returns:
            The tree. The change of each part is relative to the last call.

        Raises:
            SessionKeyError: If the path leads to no model.
        """
        value = self[path]
        if not kinds.is_module_or_layer(value):
            raise SessionKeyError(f"`{path}` ({type(value).__name__}) is not a module or layer")
        users = self.users
        return trained(model_of(value, path), value, gradients, lambda each: bool(users(each)))

    @property
    def placement(self) -> SessionPlacement:
        """What each device holds and has run in watched calls, and what was copied between devices.

        Calls are watched by ``f.run(...)`` or ``%tf_placement f(...)``.
        """
        return session_placement(self.all_functions().items(), self.memory, self.strategy)

    @property
    def dependencies(self) -> Dependencies:
        """What cells and traces have read, what of it has changed, and which cells to run again."""
        return dependencies_of(self.all_functions().items())

    def snapshot(self) -> Snapshot:
        """Returns a copy of the values of all variables and the entries of all tables, by name."""
        return snapshot_of(self._savable_state())

    def restore(self, snapshot: Mapping[str, Any], *, partial: bool = False) -> None:
        """Assigns the values of a snapshot to variables and tables.

        A model that was made again is restored if it has the same structure; the numbers in the
        names that Keras gives to layers may differ. A warning lists variables without a value in
        the snapshot, such as those that an optimizer has made since.

        Args:
            snapshot: What `snapshot` returned, or a part of it.
            partial: Whether to restore the rest if some of the snapshot has no place.

        Raises:
            RestoreError: If something in the snapshot has no place, or another shape or dtype. In
                this case nothing is changed.
        """
        restore_snapshot(snapshot, self._savable_state(), partial)

    def _savable_state(self) -> SavableState:
        return savable_state(self.named(), self.tables)

    def __repr__(self) -> str:
        totals = self.totals
        counts = (
            (totals.functions, "function"),
            (totals.cells, "cell"),
            (len(self.modules), "module"),
            (len(self.models), "Keras model"),
            (totals.variables, "variable"),
            (len(self.tables), "table"),
        )
        listed = ", ".join(count(number, noun) for number, noun in counts if number)
        return f"<nbfn session: {listed or 'nothing yet'}>"


def _below(named: Iterable[tuple[str, Any]], path: str, seen: set[int]) -> list[Any]:
    """Returns a list with the value that a path leads to; an empty list if there is none."""
    for name, value in named:
        if name == path:
            return [value]
        rest = path.removeprefix(f"{name}/") if name else path
        if (rest != path or not name) and id(value) not in seen:
            if hasattr(type(value), "named_variables") and hasattr(type(value), "__getitem__"):
                with contextlib.suppress(NbfnError):
                    return [value[rest]]  # modules of nbfn resolve their own paths
            # Only what is above counts as seen: a shared object must be found on each path to it.
            found = _below(children(value, whole=True), rest, seen | {id(value)})
            if found:
                return found
    return []


def session(strategy: Any = ...) -> Session:
    """Returns the session of this kernel or script.

    Args:
        strategy: A ``tf.distribute`` strategy to use from now on, or None to use none. By default
            the strategy stays as it is.

    Raises:
        StrategyError: If it is not a strategy.
    """
    if strategy is not ...:
        cluster.use(strategy)
    return Session()
