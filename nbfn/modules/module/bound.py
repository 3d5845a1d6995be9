"""Bound modules: their interface as ``tf.Module``, and tools for notebooks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import tensorflow as tf

from nbfn.modules.errors import (
    PathNotFoundError,
    RngError,
    UnboundModuleError,
    did_you_mean,
    show_names,
)
from nbfn.modules.lifecycle import binding, method_stack
from nbfn.modules.lifecycle.application import INIT_MUTABLE, check_instance
from nbfn.modules.lifecycle.fields import init_fields, modules_in
from nbfn.modules.lifecycle.interception import wanted_outputs
from nbfn.modules.lifecycle.setup import inspect_hook, prepare
from nbfn.modules.module.lazy import lazy_run, values
from nbfn.modules.module.members import Members
from nbfn.modules.module.rows import Row, rows_of
from nbfn.modules.variables.keys import check_rngs, key
from nbfn.modules.variables.scope import Scope
from nbfn.modules.variables.tree import grown, leaves, params_first
from nbfn.modules.variables.variable_store import VariableStore, fits


@dataclass(frozen=True)
class Carried:
    """The effect of ``rebind`` on each variable, by ``(collection, path)``.

    Attributes:
      kept: variables that the new module continues to use.
      made: variables that only the new module has.
      changed: variables with another shape or dtype, which have new initial values.
      dropped: variables that the new module does not have.
    """

    kept: tuple[tuple[str, str], ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()


class Bound(Members, library=True):
    """The interface of modules that have variables."""

    @property
    def state(self) -> dict[str, Any]:
        """The variables of this module and below by collection, in new dicts.

        Leaves are the ``tf.Variable``s of a bound module, and tensors inside ``apply``.

        Raises:
          UnboundModuleError: the module is unbound.
        """
        return self._scope("state").tree()

    def named_variables(self) -> dict[str, tf.Variable]:
        """Returns the variables of a bound module by path, such as ``"hidden/kernel"``.

        The path omits the collection. If two collections have the same path, ``params`` comes first
        and the others are named ``"path (collection)"``. Random streams are ``"rngs/dropout/key"``
        and ``"rngs/dropout/counts"``.

        Raises:
          UnboundModuleError: the module is unbound.
        """
        scope = self._scope("named_variables")
        named: dict[str, tf.Variable] = {}
        tree = scope.tree()
        for collection in params_first(tree):
            for path, leaf in leaves(tree[collection]):
                text = "/".join(path)
                named[f"{text} ({collection})" if text in named else text] = leaf
        if isinstance(scope.store, VariableStore):
            for path, leaf in leaves(scope.store.rng_variables()):
                text = "/".join(("rngs", *path))
                named[f"{text} (rngs)" if text in named else text] = leaf
        return {name: leaf for name, leaf in named.items() if isinstance(leaf, tf.Variable)}

    @property
    def variables(self) -> tuple[tf.Variable, ...]:
        """Every ``tf.Variable`` of a bound module, as ``tf.Module`` means it; else ``()``."""
        found: tuple[tf.Variable, ...] = super().variables
        return found

    @property
    def trainable_variables(self) -> tuple[tf.Variable, ...]:
        """The trainable variables, in the order of ``tf.nest.flatten(self.state["params"])``."""
        others = self._variables_outside_params()
        return tuple(v for v in self.variables if v.trainable and id(v) not in others)

    @property
    def non_trainable_variables(self) -> tuple[tf.Variable, ...]:
        """The variables of all collections except ``params``, and frozen parameters."""
        others = self._variables_outside_params()
        return tuple(v for v in self.variables if not v.trainable or id(v) in others)

    @property
    def submodules(self) -> tuple[tf.Module, ...]:
        """The modules below this one; those of compact methods once they have been called."""
        for child in self._known_children().values():
            child.submodules  # noqa: B018  (runs setup there)
        found: tuple[tf.Module, ...] = super().submodules
        return found

    @property
    def name_scope(self) -> Any:
        """A ``tf.name_scope`` with the module's name."""
        return tf.name_scope(self.name or type(self).__name__)

    def reseed(self, rngs: Any) -> None:
        """Restarts random streams of a bound module, also for functions traced before.

        Args:
          rngs: as in ``bind``; streams that are not named stay as they are.

        Raises:
          UnboundModuleError: the module is not bound.
          RngError: ``rngs`` is malformed.
          VariableCreationError: a stream is new and a function is being traced.
        """
        store = self._bound_store("reseed")
        if store.reseed(check_rngs(rngs)):
            for module in store.modules_above():
                module._track()

    @contextlib.contextmanager
    def capture(self, outputs: Any = False) -> Iterator[dict[str, Any]]:
        """Collects what bound modules sow inside the ``with`` block.

        A traced function sows when it is traced, not in later calls.

        Args:
          outputs: whether to collect outputs of calls in ``intermediates`` too: True for every
            ``__call__``, or a function of module and method name that decides.

        Yields:
          ``{collection: {module: {name: value}}}`` with paths from the root; it fills during calls.

        Raises:
          UnboundModuleError: the module is not bound.
        """
        store = self._bound_store("capture")
        outer = store.sown, store.wanted
        store.sown, store.wanted = {}, wanted_outputs(outputs)
        try:
            yield store.sown
        finally:
            store.sown, store.wanted = outer

    # -- in a notebook --------------------------------------------------------------------------

    def view(self, **updates: Any) -> Self:
        """Returns a module with the same variables and other construction arguments.

        For example ``model.view(training=False)``. Nothing is copied; both modules share the
        variables.

        Args:
          **updates: the arguments that differ.

        Returns:
          A bound module at the same place.

        Raises:
          UnboundModuleError: the module is not bound; use ``clone``.
          TypeError: there is no such argument.
        """
        store, scope = self._bound_store("view"), self._scope("view")
        with method_stack.entered(None):
            view = type(self)(**{**init_fields(self), **updates}, parent=None, name=self.name)
            # The variables may not fit the new arguments, so their shapes are compared again.
            depth = len(scope.path)
            store.checked = {c for c in store.checked if c[1][:depth] != scope.path}
            binding.attach(view, Scope(store, scope.path))
        object.__setattr__(view, "parent", self.parent)
        return view

    def rebind(self, module: Any, *args: Any, rngs: Any = None, **kwargs: Any) -> Any:
        """Returns a new version of the module that continues with the variables of this one.

        After the cell that defines the class has run again, ``model = model.rebind(Net(...), x)``
        keeps what was trained: a variable with the same collection, path, shape and dtype stays the
        same ``tf.Variable``, also for optimizers and traced functions. Others get new values.

        Args:
          module: an unbound module, of any class.
          *args: inputs for a call, which determine the variables: values, or a ``tf.TensorSpec``
            for each. Nothing is computed. Without inputs, all variables are carried over.
          rngs: the key for new variables, as in ``init``.
          **kwargs: for the call.

        Returns:
          The bound module, with the random streams of this one. Its attribute ``carried`` lists
          what was kept, made, changed and dropped.

        Raises:
          RngError: there are new variables, and no key.
        """
        store, state = self._bound_store("rebind"), self.state
        check_instance(module)
        if args or kwargs:
            keys = key(0) if rngs is None else rngs
            wanted = lazy_run(module, keys, args, kwargs, None, INIT_MUTABLE, values)
            state, carried = _carry(state, wanted)
            if rngs is None and (carried.made or carried.changed):
                new = ("/".join((c, p)) for c, p in (*carried.made, *carried.changed))
                raise RngError(
                    f"rebind must make {show_names(new)}, which needs a random key: "
                    "rebind(module, ..., rngs=nn.key(0))."
                )
        else:
            names = [(c, "/".join(path)) for c, tree in state.items() for path, _ in leaves(tree)]
            carried = Carried(kept=tuple(names))
        bound = _revived(module, state, store.rngs, store.mutable)
        bound._internal.carried = carried
        return bound

    @property
    def carried(self) -> Carried | None:
        """The effect of ``rebind`` on each variable; None for a module that was not rebound."""
        carried: Carried | None = self._internal.carried
        return carried

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles and copies a bound module with its variables; the copy is bound."""
        store = getattr(self._internal.scope, "store", None)
        if not isinstance(store, VariableStore):
            return super().__reduce_ex__(protocol)
        return (_revived, (binding.unbound(self), self.state, dict(store.rngs), store.mutable))

    def describe(self) -> list[Row]:
        """Returns the submodules and variables, with shapes, dtypes, sizes and sharing.

        For an unbound module, lists the submodules that its fields and ``setup`` name. Modules of
        compact methods are known once the bound module has been called, and so are the types of
        inputs and outputs.
        """
        return rows_of(self, getattr(getattr(self._internal.scope, "store", None), "shapes", None))

    # -- paths ---------------------------------------------------------------------------------

    def __getitem__(self, path: str) -> Any:
        """Returns a submodule or variable by path: ``m["Dense_0"]``, ``m["hidden/kernel"]``.

        For an unbound module, these are the unbound submodules in its fields or assigned by
        ``declare`` and ``setup``. For a bound module, they are its submodules and ``tf.Variable``s
        (``params`` first); a submodule of a compact method is known once the method has been
        called.

        Raises:
          PathNotFoundError: there is nothing with that name.
        """
        children = self._known_children()
        first, _, rest = str(path).partition("/")
        for name in children:
            if "/" in name and f"{path}/".startswith(f"{name}/"):
                first, rest = name, str(path)[len(name) + 1 :]
        if first in children:
            # The child resolves the rest, because containers also have parts that are not modules.
            return children[first][rest] if rest else children[first]
        parts = str(path).split("/")
        found = self._variable_at(parts)
        if found is None:
            raise self._nothing_at(parts, children)
        return found

    def __truediv__(self, name: str) -> Any:
        """Same as ``m["block/conv"]``: ``m / "block" / "conv"``."""
        return self[name]

    def _track(self) -> None:
        binding.track(self)

    def _known_children(self) -> dict[str, Any]:
        if self._internal.scope is not None:
            prepare(self)
            return dict(self._internal.children)
        children: dict[str, Any] = {}
        for name, value in {**init_fields(self), **inspect_hook(self, "setup")}.items():
            for module, part in modules_in(value, name):
                children.setdefault(self._name_of_part(part), module)
        return children

    def _variable_at(self, parts: list[str]) -> Any:
        scope = self._internal.scope
        if scope is None:
            return None
        where = scope.child(*parts[:-1])
        for collection in params_first(scope.store.tree):
            if where.has(collection, parts[-1]):
                leaf = where.live(collection, parts[-1])
                if not isinstance(leaf, Mapping):
                    return leaf
        return None

    def _nothing_at(self, parts: list[str], children: Mapping[str, Any]) -> PathNotFoundError:
        scope = self._internal.scope
        where = scope.label(self) if scope else f"unbound {type(self).__name__}"
        trees = scope.tree().values() if scope else ()
        variables = {path[0] for tree in trees for path, _ in leaves(tree)}
        hint = did_you_mean(parts[0], {*children, *variables})
        if parts[0] in variables:
            hint = (
                " Its variables exist, but a compact method makes the submodule: call the module "
                "once first."
            )
        contents = [f"the submodules {show_names(children)}"] if children else []
        contents += [f"here or below, the variables {show_names(variables)}"] if variables else []
        return PathNotFoundError(
            f"{where} has neither a submodule nor a variable {'/'.join(parts)!r}; it has "
            f"{' and, '.join(contents) or 'none at all'}.{hint}"
        )

    def _variables_outside_params(self) -> set[int]:
        if self._internal.scope is None:
            return set()
        tree = self._internal.scope.tree()
        return {id(leaf) for c, node in tree.items() if c != "params" for _, leaf in leaves(node)}

    def _bound_store(self, what: str) -> VariableStore:
        store = self._scope(what).store
        if isinstance(store, VariableStore):
            return store
        raise UnboundModuleError(
            f"{type(self).__name__}.{what} is for modules made with bind; inside apply, use rngs= "
            "and mutable= of the apply call."
        )


def _revived(module: Any, state: Any, rngs: Mapping[str, Any], mutable: Any) -> Any:
    bound = module.bind(state, mutable=mutable)
    bound._bound_store("bind").rngs.update(rngs)
    bound._track()
    return bound


def _carry(state: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[dict[str, Any], Carried]:
    old, found = dict(leaves(state)), dict[str, list[tuple[str, str]]]()

    def note(kind: str, path: tuple[str, ...]) -> None:
        found.setdefault(kind, []).append((path[0], "/".join(path[1:])))

    result: dict[str, Any] = {}
    new = dict(leaves(wanted))
    for path, value in new.items():
        before = old.get(path)
        is_kept = before is not None and fits(value, before)
        note("kept" if is_kept else "made" if before is None else "changed", path)
        grown(result, path[:-1])[path[-1]] = before if is_kept else value
    for path in old.keys() - new.keys():
        note("dropped", path)
    return result, Carried(**{kind: tuple(sorted(names)) for kind, names in found.items()})
