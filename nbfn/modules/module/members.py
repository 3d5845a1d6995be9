"""Parameters, variables, random draws and sowing in a module's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import (
    PlacementError,
    UnboundModuleError,
    VariableNotFoundError,
    show_path,
)
from nbfn.modules.lifecycle import method_stack
from nbfn.modules.lifecycle.naming import name_in_use
from nbfn.modules.module.template import Absent, Template
from nbfn.modules.variables.scope import Scope, Variable
from nbfn.modules.variables.store import MISSING
from nbfn.modules.variables.tree import as_tensors, grown


def _append(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    return (*values, value)


class Members(Template, library=True):
    """The variables and random streams of a module, as used by its methods."""

    @property
    def path(self) -> tuple[str, ...]:
        """The names from the root of this application to the module; ``()`` for the root.

        Raises:
          UnboundModuleError: the module is unbound.
        """
        scope = self._scope("path")
        scope.store.note_place()
        return scope.path

    def param(self, name: str, init_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Declares a parameter, in ``setup`` or a compact method.

        Args:
          name: the parameter's name in the collection ``params``.
          init_fn: called as ``init_fn(key, *args, **kwargs)`` if the parameter does not exist; the
            key is an int32 tensor of shape [2] from the stream ``params``.
          *args: usually the shape, and perhaps the dtype.
          **kwargs: for ``init_fn``.

        Returns:
          The parameter: a tensor, or in a bound module the ``tf.Variable`` itself.

        Raises:
          PlacementError: outside ``setup`` and compact methods.
          NameInUseError: the name is taken.
          ParamNotFoundError, CollectionNotFoundError: it does not exist and may not be created.
          ParamShapeError: it exists with another shape than ``init_fn`` gives.
          TypeError: ``init_fn`` is no function.

        Implements: Flax Module lifecycle, section "Compact Modules".
        """
        if not callable(init_fn):
            raise TypeError(
                f"the parameter {name!r} of {type(self).__name__} needs an initializer, a function "
                f"of a key; found {init_fn!r}"
            )
        if self._internal.scope is None and self._is_inspected():
            return Absent(f"The parameter {name!r} of {type(self).__name__}")
        scope = self._declares("params", name)
        parameter = scope.params.get(name)
        if parameter is not None:
            return parameter
        store = scope.store
        stored = store.find("params", scope.path, name)
        if stored is not MISSING:
            if ("params", scope.path, name) not in store.checked:
                scope.check_shape("params", name, init_fn, args, kwargs)
            if not store.bound:
                return as_tensors(stored)
            scope.params[name] = stored
            return stored
        return scope.ensure("params", name, lambda: init_fn(scope.draw("params"), *args, **kwargs))

    def variable(
        self,
        collection: str,
        name: str,
        init_fn: Callable[..., Any] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Variable[Any]:
        """Declares a variable of any collection, in ``setup`` or a compact method.

        Args:
          collection: such as ``"batch_stats"`` or ``"cache"``.
          name: the variable's name in the collection.
          init_fn: called as ``init_fn(*args, **kwargs)``, without a key, if the variable does not
            exist; None if it must exist.
          *args: for ``init_fn``.
          **kwargs: for ``init_fn``.

        Returns:
          A reference whose ``.value`` reads and writes the variable.

        Raises:
          PlacementError: outside ``setup`` and compact methods.
          NameInUseError: the name is taken in this collection.
          VariableNotFoundError, CollectionNotFoundError: it does not exist and may not be created.
        """
        if self._is_inspected():
            return Absent(f"The variable {name!r} of {type(self).__name__}")  # type: ignore[return-value]
        scope = self._declares(collection, name)
        if init_fn is None:
            scope.live(collection, name)
        else:
            scope.ensure(collection, name, lambda: init_fn(*args, **kwargs))
        return Variable(scope, collection, name)

    def get_variable(self, collection: str, name: str, default: Any = None) -> Any:
        """Returns the current value of a variable (tensors); ``default`` if it does not exist."""
        return self._scope("get_variable").read(collection, name, default)

    def put_variable(self, collection: str, name: str, value: Any) -> None:
        """Writes a variable, in any method; a dict updates only its own entries.

        Raises:
          ImmutableCollectionError: the collection is not mutable.
          AssignmentError: the module is bound and the value has another shape or dtype.
        """
        scope = self._scope("put_variable")
        if isinstance(value, dict) and scope.has(collection, name):
            value = _merge(scope.read(collection, name), value)
        scope.write(collection, name, value)

    def has_variable(self, collection: str, name: str) -> bool:
        """Returns whether the module has the variable."""
        return self._scope("has_variable").has(collection, name)

    def is_mutable_collection(self, collection: str) -> bool:
        """Returns whether variables of the collection may be written."""
        return collection in self._scope("is_mutable_collection").store.mutable

    def is_initializing(self) -> bool:
        """Returns whether ``init`` is running; False in ``apply``, even with ``mutable=True``."""
        return self._scope("is_initializing").store.initializing

    def make_rng(self, name: str = "params") -> Any:
        """Draws a new key from a random stream.

        The key depends on the stream's key, the module's path, and how often the module drew from
        the stream before, but not on other modules. In a bound module the count is a variable, so a
        traced function draws a new key in each call.

        Args:
          name: the stream; ``params`` takes its place if it does not exist.

        Returns:
          An int32 tensor of shape [2], for ``tf.random.stateless_*``.

        Raises:
          RngError: neither the stream nor ``params`` was passed.
        """
        return self._scope("make_rng").draw(name)

    def has_rng(self, name: str) -> bool:
        """Returns whether the stream itself was passed."""
        return name in self._scope("has_rng").store.rngs

    def sow(
        self,
        collection: str,
        name: str,
        value: Any,
        reduce_fn: Callable[[Any, Any], Any] = _append,
        init_fn: Callable[[], Any] = tuple,
    ) -> bool:
        """Offers a value to callers that collect it; does nothing otherwise.

        In ``apply``, callers that pass the collection as mutable get the values. In a bound module
        only ``with module.capture() as sown`` does, so that its variables do not grow from call to
        call.

        Args:
          collection: such as ``"intermediates"``.
          name: the value's name; may be used again.
          value: a tensor or a structure of tensors.
          reduce_fn: combines the value with earlier ones; by default a growing tuple.
          init_fn: returns the initial value; by default ``()``.

        Returns:
          Whether the value was kept.
        """
        scope = self._scope("sow")
        store = scope.store
        if store.bound:
            if store.sown is None or collection not in store.mutable:
                return False
            node = grown(store.sown, (collection, *scope.path))
            node[name] = reduce_fn(node[name] if name in node else init_fn(), value)
            return True
        if collection not in store.mutable or not store.keeps_sown:
            return False
        before = scope.read(collection, name) if scope.has(collection, name) else init_fn()
        scope.write(collection, name, reduce_fn(before, value))
        return True

    def perturb(self, name: str, value: Any, collection: str = "perturbations") -> Any:
        """Adds a zero variable to a value, so that the gradient of the value can be taken.

        ``init`` makes the zeros. A call with the collection adds its values; a call without it
        returns the value unchanged. The gradient with respect to the variable equals that with
        respect to the value.

        Args:
          name: the variable's name in the collection.
          value: a tensor of any shape and dtype.
          collection: the collection.

        Returns:
          The value, perturbed.

        Raises:
          VariableNotFoundError: the collection was passed, but has no such variable.

        Implements: Flax Linen, ``Module.perturb``.
        """
        scope = self._scope("perturb")
        store = scope.store
        if method_stack.table_of(self) is not None:
            self._declares(collection, name)
        if store.initializing and collection in store.mutable:
            is_static = value.shape.is_fully_defined()
            shape = value.shape if is_static else tf.shape(value)
            scope.ensure(collection, name, lambda: tf.zeros(shape, value.dtype))
        elif collection not in store.tree:
            return value
        elif not scope.has(collection, name):
            raise VariableNotFoundError(
                f"{scope} perturbs {name!r}, but the collection {collection!r} that was passed "
                "does not have it. Pass the zeros that init returned, or leave the collection out."
            )
        return value + scope.read(collection, name)

    # -- for nbfn itself -----------------------------------------------------------------------

    def _scope(self, what: str) -> Scope:
        """Returns the module's scope; raises an error if it has none or it is closed."""
        scope = self._internal.scope
        if scope is None:
            raise UnboundModuleError(
                f"{type(self).__name__}.{what} needs variables or random streams, but this module "
                "is unbound. Use it inside init or apply, or on module.bind(variables)."
            )
        scope.store.check_open(scope.path)
        return scope

    def _is_inspected(self) -> bool:
        """Returns whether ``setup`` of an unbound module runs only to find its submodules."""
        table = method_stack.table_of(self) if self._internal.scope is None else None
        return table is not None and table.kind == "setup"

    def _declares(self, collection: str, name: str) -> Scope:
        """Reserves a variable's name; returns the module's scope."""
        table = method_stack.here.tables.get(id(self))
        if table is None or table.kind == "declare":
            raise self._placement_error(collection, name)
        internal = self._internal
        scope = internal.scope
        if scope is None or scope.store.closed or scope.store.suspended:
            scope = self._scope("param" if collection == "params" else "variable")
        names = table.names if table.kind == "compact" else internal.names
        if not names.take_free(name, collection, internal.names):
            raise name_in_use(self, name, collection, names, internal.names)
        return scope

    def _placement_error(self, collection: str, name: str) -> PlacementError:
        label = f"{type(self).__name__}: the variable {name!r} of {collection!r}"
        if method_stack.table_of(self) is not None:
            return PlacementError(f"{label} cannot be declared in declare(). Do it in setup().")
        scope = self._scope("param" if collection == "params" else "variable")
        return PlacementError(
            f"{label} at {show_path(scope.path)} must be declared in setup or in a method "
            "decorated with @nn.compact. Elsewhere use get_variable and put_variable."
        )


def _merge(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{k: _merge(old.get(k), v) for k, v in new.items()}}
    return new
