"""A bound module in a notebook: views, new versions of its code, snapshots, its tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from nbfn._tensorflow import no_autograph
from nbfn.modules.errors import AssignmentError, RngError, show_names
from nbfn.modules.lifecycle import binding, context
from nbfn.modules.lifecycle.fields import init_fields
from nbfn.modules.lifecycle.run import INIT_MUTABLE, check_instance
from nbfn.modules.module.bound import Bound
from nbfn.modules.module.call_shapes import call_shapes
from nbfn.modules.module.lazy import lazy_run, values
from nbfn.modules.module.rows import Row, as_text, rows_of
from nbfn.modules.variables.keys import key
from nbfn.modules.variables.scope import Scope
from nbfn.modules.variables.tree import as_tensors, leaves
from nbfn.modules.variables.variable_store import VariableStore


@dataclass(frozen=True)
class Snapshot:
    """The values of a bound module at one time; nothing changes them.

    Attributes:
      path: the module's path.
      variables: the values by collection, as ``apply`` takes them.
      rngs: of a root module, key and counts of each random stream.
    """

    path: tuple[str, ...]
    variables: Mapping[str, Any]
    rngs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Carried:
    """What ``rebind`` did with each variable, by ``(collection, path)``.

    Attributes:
      kept: variables that the new module goes on with.
      made: variables that only the new module has.
      changed: variables that have another shape or dtype now, and a new initial value.
      dropped: variables that the new module does not have.
    """

    kept: tuple[tuple[str, str], ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()


class Live(Bound, library=True):
    """What a notebook does with a module that has variables."""

    def view(self, **updates: Any) -> Self:
        """The same variables under other construction arguments: ``model.view(training=False)``.

        Nothing is copied: what one of the two trains, the other sees.

        Args:
          **updates: the arguments that differ.

        Returns:
          A bound module at the same place.

        Raises:
          UnboundModuleError: the module is not bound; use ``clone``.
          TypeError: there is no such argument.
        """
        store, scope = self._bound_store("view"), self._scope("view")
        context.push(None)
        try:
            made = type(self)(**{**init_fields(self), **updates}, parent=None, name=self.name)
            # The variables may not fit the new arguments, so their shapes are compared anew.
            depth = len(scope.path)
            store.checked = {c for c in store.checked if c[1][:depth] != scope.path}
            binding.attach(made, Scope(store, scope.path))
        finally:
            context.pop()
        object.__setattr__(made, "parent", self.parent)
        return made

    def rebind(self, module: Any, *args: Any, rngs: Any = None, **kwargs: Any) -> Any:
        """A new version of the module that goes on with the variables of this one.

        After a cell that defines the class has run again, ``model = model.rebind(Net(...), x)``
        keeps what was trained: a variable of the same collection, path, shape and dtype is the
        same ``tf.Variable``, also for optimizers and traced functions. Others get new values.

        Args:
          module: an unbound module, of any class.
          *args: inputs for its call, to find out which variables it has: values, or a
            ``tf.TensorSpec`` for each. Nothing is computed. Without inputs all variables are
            carried over as they are.
          rngs: the key for new variables, as in ``init``.
          **kwargs: for the call.

        Returns:
          The bound module, with the random streams of this one. Its attribute ``carried`` says
          what was kept, made, changed and dropped.

        Raises:
          RngError: there are new variables, and no key.
        """
        store, state = self._bound_store("rebind"), self.state
        check_instance(module)
        if args or kwargs:
            given = key(0) if rngs is None else rngs
            wanted = lazy_run(module, given, args, kwargs, None, INIT_MUTABLE, values)
            state, carried = _carry(state, wanted)
            if rngs is None and (carried.made or carried.changed):
                new = ("/".join((c, p)) for c, p in (*carried.made, *carried.changed))
                raise RngError(
                    f"rebind must make {show_names(new)}, which needs a random key: "
                    "rebind(module, ..., rngs=nn.key(0))."
                )
        else:
            carried = Carried(kept=tuple(_named(state)))
        made: Live = module.bind(state, mutable=store.mutable)
        made._bound_store("rebind").rngs.update(store.rngs)
        made._track()
        made._life.carried = carried
        return made

    @property
    def carried(self) -> Carried | None:
        """What ``rebind`` did with each variable; None for a module that was not rebound."""
        carried: Carried | None = self._life.carried
        return carried

    @no_autograph
    def snapshot(self) -> Snapshot:
        """The present values of a bound module, for ``restore``.

        Raises:
          UnboundModuleError: the module is not bound.
        """
        store, scope = self._bound_store("snapshot"), self._scope("snapshot")
        variables = {c: as_tensors(tree) for c, tree in scope.tree().items()}
        rngs = {} if scope.path else as_tensors(store.rng_variables())
        return Snapshot(scope.path, variables, rngs)

    @no_autograph
    def restore(self, snapshot: Snapshot) -> None:
        """Assigns the values of a snapshot; variables that were made since then stay.

        Args:
          snapshot: of this module, or of another with variables of the same names and shapes.

        Raises:
          UnboundModuleError: the module is not bound.
          AssignmentError: a variable is missing, or has another shape or dtype; nothing has been
            assigned then.
        """
        store, scope = self._bound_store("restore"), self._scope("restore")
        tree = {**scope.tree(), "": store.rng_variables()}
        target = dict(leaves(tree))
        source = dict(leaves({**snapshot.variables, "": dict(snapshot.rngs)}))
        for path, value in source.items():
            variable = target.get(path)
            if variable is None:
                raise AssignmentError(
                    f"The snapshot has {'/'.join(path)!r}, but {type(self).__name__} at {scope} "
                    "has no such variable. Restore into a module of the same structure."
                )
            if variable.dtype != value.dtype or not variable.shape.is_compatible_with(value.shape):
                raise AssignmentError(
                    f"The snapshot has {'/'.join(path)!r} as {value.dtype.name} of shape "
                    f"{value.shape}, but the variable is {variable.dtype.name} of shape "
                    f"{variable.shape}."
                )
        for path, value in source.items():
            target[path].assign(value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A copy of a bound module is bound: it pickles and copies with its variables."""
        store = getattr(self._life.scope, "store", None)
        if not isinstance(store, VariableStore):
            return super().__reduce_ex__(protocol)
        return (_revived, (binding.unbound(self), self.state, dict(store.rngs), store.mutable))

    def describe(self, *args: Any, **kwargs: Any) -> list[Row]:
        """The submodules and variables, with shapes, dtypes, sizes and sharing, as records.

        Of an unbound module, the submodules that its fields and ``setup`` name. Modules of compact
        methods are known once the bound module has been called.

        Args:
          *args: of a bound module, inputs for a call: then the records say what each module takes
            and gives there, otherwise what it took and gave in the last call. Nothing is computed;
            a ``tf.TensorSpec`` stands for a tensor.
          **kwargs: for the call.
        """
        if args or kwargs:
            self._bound_store("describe")
            return rows_of(self, call_shapes(self, args, kwargs))
        return rows_of(self, getattr(getattr(self._life.scope, "store", None), "shapes", None))

    def show(self, *args: Any, **kwargs: Any) -> str:
        """``describe`` as an indented plain text."""
        return as_text(self.describe(*args, **kwargs))


def _revived(module: Any, state: Any, rngs: Mapping[str, Any], mutable: Any) -> Any:
    made = module.bind(state, mutable=mutable)
    made._bound_store("bind").rngs.update(rngs)
    made._track()
    return made


def _named(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(c, "/".join(path)) for c, tree in state.items() for path, _ in leaves(tree)]


def _carry(state: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[dict[str, Any], Carried]:
    old, found = dict(leaves(state)), dict[str, list[tuple[str, str]]]()

    def told(kind: str, path: tuple[str, ...]) -> None:
        found.setdefault(kind, []).append((path[0], "/".join(path[1:])))

    result: dict[str, Any] = {}
    new = dict(leaves(wanted))
    for path, value in new.items():
        before = old.get(path)
        fits = before is not None and (
            before.dtype == value.dtype and before.shape.is_compatible_with(value.shape)
        )
        told("kept" if fits else "made" if before is None else "changed", path)
        node = result
        for part in path[:-1]:
            node = node.setdefault(part, {})
        node[path[-1]] = before if fits else value
    for path in old.keys() - new.keys():
        told("dropped", path)
    return result, Carried(**{kind: tuple(sorted(names)) for kind, names in found.items()})
