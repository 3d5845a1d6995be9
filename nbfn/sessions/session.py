"""The session of a notebook: what its names hold, as one thing.

The idea of the "bound module" session: the notebook's namespace is the root of a module, and what
the user names, the session names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from nbfn.errors import NbfnError
from nbfn.functions import TracedFunction, live_functions
from nbfn.functions.segments.cell import TracedCell
from nbfn.functions.traces.variable_names import named_leaves, users_names
from nbfn.functions.watching.watched_function import WatchedFunction
from nbfn.sessions.cluster import strategy as cluster
from nbfn.text import count


class SessionKeyError(NbfnError, KeyError):
    """The session has no variable of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


class RestoreError(NbfnError, ValueError):
    """A snapshot does not fit the session; nothing was restored."""


class Session:
    """What the notebook holds now. It keeps nothing alive.

    Args:
        namespace: The namespace whose names the session has; a notebook's by default.
    """

    def __init__(self, namespace: dict[str, Any] | None = None) -> None:
        self._namespace = sys.modules["__main__"].__dict__ if namespace is None else namespace

    def _public(self) -> list[tuple[str, Any]]:
        return users_names(self._namespace)

    @property
    def functions(self) -> dict[str, TracedFunction]:
        """Every traced function that the notebook names, and traced methods of what it names."""
        named = {n: v for n, v in self._public() if isinstance(v, TracedFunction)}
        known = {id(function) for function in named.values()}
        owned = {id(value): name for name, value in self._public()}
        for function in live_functions():
            if not isinstance(function, TracedFunction):
                continue
            owner = function.owner
            if owner is not None and id(owner) in owned and id(function) not in known:
                named[f"{owned[id(owner)]}.{function.name}"] = function
        return named

    @property
    def watched(self) -> dict[str, WatchedFunction]:
        """The observer of every function that was made elsewhere, by the name to show."""
        return {f.label: f for f in live_functions() if isinstance(f, WatchedFunction)}

    @property
    def cells(self) -> dict[str, TracedCell]:
        """Every cell in segments that the notebook names."""
        return {name: value for name, value in self._public() if isinstance(value, TracedCell)}

    @property
    def modules(self) -> dict[str, tf.Module]:
        """Every ``tf.Module`` that the notebook names."""
        return {name: value for name, value in self._public() if isinstance(value, tf.Module)}

    @property
    def variables(self) -> dict[str, tf.Variable]:
        """Every variable that the notebook's names lead to, under its first name."""
        leaves = named_leaves(iter(self._public()))
        return {name: leaf for name, leaf in leaves.items() if isinstance(leaf, tf.Variable)}

    @property
    def state(self) -> dict[str, Any]:
        """The variables as nested dicts, ``state["model"]["hidden"]["kernel"]``."""
        tree: dict[str, Any] = {}
        for name, variable in self.variables.items():
            *parents, last = name.split("/")
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

        A traced function whose calls are found to be the same when the batch is split needs no
        `run`. This splits without asking.

        Returns:
            Rows that belong to rows of the batch, one after another; other floating values
            averaged; anything else once.

        Raises:
            StrategyError: If an argument cannot be split.
        """
        return cluster.run(function, args, kwargs)

    def __getitem__(self, name: str) -> tf.Variable:
        """The variable of a name such as ``model/hidden/kernel``.

        Raises:
            SessionKeyError: If there is none.
        """
        variables = self.variables
        if name not in variables:
            near = [each for each in variables if each.endswith(name.rsplit("/", 1)[-1])]
            hint = f"; did you mean {', '.join(near[:3])}?" if near else ""
            raise SessionKeyError(f"the session has no variable `{name}`{hint}")
        return variables[name]

    def snapshot(self) -> dict[str, tf.Tensor]:
        """The values of all variables now, by name."""
        return {name: tf.identity(v.read_value()) for name, v in self.variables.items()}

    def restore(self, snapshot: Mapping[str, tf.Tensor]) -> None:
        """Assigns the values of a snapshot to the variables of the same names.

        Raises:
            RestoreError: If a variable is gone or has another shape or dtype; nothing is assigned.
        """
        variables = self.variables
        for name, value in snapshot.items():
            if name not in variables:
                raise RestoreError(f"the session has no variable `{name}` any more")
            variable = variables[name]
            if variable.dtype != value.dtype or not variable.shape.is_compatible_with(value.shape):
                raise RestoreError(
                    f"`{name}` is {variable.dtype.name}{variable.shape}, "
                    f"its snapshot is {value.dtype.name}{value.shape}"
                )
        for name, value in snapshot.items():
            variables[name].assign(value)

    def __repr__(self) -> str:
        held = (
            (len(self.functions), "function"),
            (len(self.watched), "watched function"),
            (len(self.modules), "module"),
            (len(self.variables), "variable"),
        )
        listed = ", ".join(count(number, noun) for number, noun in held if number)
        return f"<nbfn session: {listed or 'nothing yet'}>"


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
