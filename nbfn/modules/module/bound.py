"""A bound module as a ``tf.Module``: its variables, submodules, streams and paths."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from nbfn._tensorflow import no_autograph
from nbfn.modules.errors import PathNotFoundError, UnboundModuleError, did_you_mean, show_names
from nbfn.modules.lifecycle import binding
from nbfn.modules.lifecycle.fields import init_fields, map_modules
from nbfn.modules.lifecycle.interception import wanted_outputs
from nbfn.modules.lifecycle.setup import inspect_hook, prepare
from nbfn.modules.module.members import Members
from nbfn.modules.variables.keys import check_rngs
from nbfn.modules.variables.tree import leaves
from nbfn.modules.variables.variable_store import VariableStore


class Bound(Members, library=True):
    """What can be asked of a module that has variables."""

    @property
    def state(self) -> dict[str, Any]:
        """The variables of this module and below by collection, in new dicts.

        Leaves are the ``tf.Variable``s of a bound module, and tensors inside ``apply``.

        Raises:
          UnboundModuleError: the module is unbound.
        """
        return self._scope("state").tree()

    def named_variables(self) -> dict[str, tf.Variable]:
        """The variables of a bound module by path, such as ``"hidden/kernel"``.

        The path leaves the collection out. Where two collections have the same path, ``params``
        comes first and the others are called ``"path (collection)"``. Random streams are
        ``"rngs/dropout/key"`` and ``"rngs/dropout/counts"``.

        Raises:
          UnboundModuleError: the module is unbound.
        """
        scope = self._scope("named_variables")
        named: dict[str, tf.Variable] = {}
        tree = scope.tree()
        for collection in sorted(tree, key=lambda c: (c != "params", c)):
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
        """The variables of all collections but ``params``, and frozen parameters."""
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

    @no_autograph
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
            for module in [reference() for reference in store.tracked]:
                if module is not None:
                    module._track()

    @contextlib.contextmanager
    def capture(self, outputs: Any = False) -> Iterator[dict[str, Any]]:
        """Keeps what bound modules sow inside the ``with`` block.

        A traced function sows when it is traced, not when it is called again.

        Args:
          outputs: whether the outputs of calls are kept too, in ``intermediates``: True for those
            of every ``__call__``, or a function of module and method name that says which.

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

    # -- paths ---------------------------------------------------------------------------------

    def __getitem__(self, path: str) -> Any:
        """A submodule or variable by path: ``m["Dense_0"]``, ``m["hidden/kernel"]``.

        Of an unbound module, the unbound submodules that its fields hold or that ``declare`` and
        ``setup`` assign. Of a bound module, its submodules, and its ``tf.Variable``s (``params``
        first); a submodule of a compact method is known once the method has been called.

        Raises:
          PathNotFoundError: there is nothing of that name.
        """
        children = self._known_children()
        first, _, rest = str(path).partition("/")
        for name in children:
            if "/" in name and f"{path}/".startswith(f"{name}/"):
                first, rest = name, str(path)[len(name) + 1 :]
        if first in children:
            # The child itself goes on, because containers also know parts of other kinds.
            return children[first][rest] if rest else children[first]
        parts = str(path).split("/")
        found = self._variable_at(parts)
        if found is None:
            raise self._nothing_at(parts, children)
        return found

    def __truediv__(self, name: str) -> Any:
        """``m / "block" / "conv"``: the same as ``m["block/conv"]``."""
        return self[name]

    def _track(self) -> None:
        binding.track(self)

    def _known_children(self) -> dict[str, Any]:
        if self._life.scope is not None:
            prepare(self)
            return dict(self._life.children)
        children: dict[str, Any] = {}
        for name, value in {**init_fields(self), **inspect_hook(self, "setup")}.items():
            map_modules(lambda m, n: children.setdefault(self._name_of_part(n), m), value, name)
        return children

    def _variable_at(self, parts: list[str]) -> Any:
        scope = self._life.scope
        if scope is None:
            return None
        where = scope.child(*parts[:-1])
        for collection in sorted(scope.store.tree, key=lambda c: (c != "params", c)):
            if where.has(collection, parts[-1]):
                leaf = where.live(collection, parts[-1])
                if not isinstance(leaf, Mapping):
                    return leaf
        return None

    def _nothing_at(self, parts: list[str], children: Mapping[str, Any]) -> PathNotFoundError:
        scope = self._life.scope
        where = f"{type(self).__name__} at {scope}" if scope else f"unbound {type(self).__name__}"
        variables = (
            {path[0] for tree in scope.tree().values() for path, _ in leaves(tree)}
            if (scope)
            else set()
        )
        hint = did_you_mean(parts[0], {*children, *variables})
        if parts[0] in variables:
            hint = (
                " Its variables exist, but a compact method makes the submodule: call the module "
                "once first."
            )
        held = [f"the submodules {show_names(children)}"] if children else []
        held += [f"here or below, the variables {show_names(variables)}"] if variables else []
        return PathNotFoundError(
            f"{where} has neither a submodule nor a variable {'/'.join(parts)!r}; it has "
            f"{' and, '.join(held) or 'none at all'}.{hint}"
        )

    def _variables_outside_params(self) -> set[int]:
        if self._life.scope is None:
            return set()
        tree = self._life.scope.tree()
        return {id(leaf) for c, node in tree.items() if c != "params" for _, leaf in leaves(node)}

    def _bound_store(self, what: str) -> VariableStore:
        store = self._scope(what).store
        if isinstance(store, VariableStore):
            return store
        raise UnboundModuleError(
            f"{type(self).__name__}.{what} is for modules made with bind; inside apply, use rngs= "
            "and mutable= of the apply call."
        )
