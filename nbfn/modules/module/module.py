"""``nn.Module``: templates, pure outputs (``apply``) and bound modules (``bind``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from nbfn.modules.lifecycle import binding, method_stack
from nbfn.modules.lifecycle.application import INIT_MUTABLE, Application, check_instance
from nbfn.modules.lifecycle.fields import init_fields
from nbfn.modules.module.bound import Bound
from nbfn.modules.module.lazy import lazy_run, paths, values
from nbfn.modules.module.table import table
from nbfn.modules.variables.filters import DenyList, Filter, FilterLike
from nbfn.modules.variables.keys import check_rngs
from nbfn.modules.variables.scope import Scope
from nbfn.modules.variables.tree import as_tensors, check_variables
from nbfn.modules.variables.variable_store import VariableStore


class Module(Bound, library=True):
    """Base class of all modules.

    A subclass is a dataclass: its annotated attributes are construction arguments. Constructing it
    creates a template without variables. ``init`` and ``apply`` are pure functions around it, with
    variables as plain nested dicts of tensors. ``bind`` returns a module that has variables: a
    ``tf.Module`` for notebooks, ``tf.function``, ``tf.GradientTape`` and optimizers.

    Example::

      class MLP(nn.Module):
        hidden_size: int
        out_size: int

        @nn.compact
        def __call__(self, x):
          h = nn.relu(nn.Dense(self.hidden_size)(x))
          return nn.Dense(self.out_size)(h)

      x = tf.ones([2, 4])
      mlp = MLP(hidden_size=5, out_size=3)
      variables = mlp.init(nn.key(0), x)
      y = mlp.apply(variables, x)

    Implements: Flax Module lifecycle, section "Definition".
    """

    # -- pure ----------------------------------------------------------------------------------

    def apply(
        self,
        variables: Mapping[str, Any],
        *args: Any,
        rngs: Any = None,
        method: Any = None,
        mutable: FilterLike = False,
        capture_intermediates: Any = False,
        **kwargs: Any,
    ) -> Any:
        """Calls the module with these variables; changes neither them nor the module.

        Args:
          variables: ``{collection: {module: {name: value}}}``; each value is a tensor, an array or
            a ``tf.Variable``.
          *args: for the method.
          rngs: keys of random streams by name, or one key for the stream ``params``.
          method: None for ``__call__``, a name, a method, or any function of the module.
          mutable: the collections that the call may write.
          capture_intermediates: True keeps the output of every ``__call__`` in the collection
            ``intermediates``; a function of module and method name chooses the methods.
          **kwargs: for the method.

        Returns:
          The output ``y``; or ``(y, updated)`` if ``mutable`` is anything but False or outputs are
          captured, where ``updated`` holds all the mutable collections that exist, written or not.

        Raises:
          VariablesTypeError, VariablesStructureError, RngError, FilterError, MethodError,
          UnknownAttributeError: an argument is invalid.

        Implements: Flax Module lifecycle, section "Lifecycle".
        """
        run = Application(self, variables, rngs, method, mutable, False, capture_intermediates)
        return run(*args, **kwargs)

    def init_with_output(
        self,
        rngs: Any,
        *args: Any,
        method: Any = None,
        mutable: FilterLike = INIT_MUTABLE,
        **kwargs: Any,
    ) -> tuple[Any, dict[str, Any]]:
        """Like ``init``, but also returns the output: ``(y, variables)``."""
        run = Application(self, {}, rngs, method, mutable, True)
        result: tuple[Any, dict[str, Any]] = run(*args, **kwargs)
        return result

    def init(
        self,
        rngs: Any,
        *args: Any,
        method: Any = None,
        mutable: FilterLike = INIT_MUTABLE,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Makes the variables that a call uses.

        The same as ``apply({}, ..., rngs={"params": key}, mutable=True)``, except that
        ``is_initializing()`` is true and that ``intermediates`` are not kept.

        Args:
          rngs: the key of the stream ``params``, or keys by stream.
          *args: for the method; their shapes determine the shapes of the variables.
          method: as in ``apply``.
          mutable: the collections to make.
          **kwargs: for the method.

        Returns:
          The variables, as nested dicts of tensors.

        Implements: Flax Module lifecycle, section "Construction/initialization".
        """
        run = Application(self, {}, rngs, method, mutable, True)
        result: dict[str, Any] = run(*args, **kwargs)[1]
        return result

    def lazy_init(
        self,
        rngs: Any,
        *args: Any,
        method: Any = None,
        mutable: FilterLike = INIT_MUTABLE,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Makes the variables from the shapes of the inputs alone, without calling the module.

        Args:
          rngs: as in ``init``.
          *args: for the method; a ``tf.TensorSpec`` describes a tensor, of any size.
          method: as in ``init``.
          mutable: as in ``init``.
          **kwargs: for the method.

        Returns:
          The variables that ``init`` would return.

        Raises:
          LazyInitError: an initial value depends on an input.

        Implements: Flax Linen, ``Module.lazy_init``.
        """
        found: dict[str, Any] = lazy_run(self, rngs, args, kwargs, method, mutable, values)
        return found

    def module_paths(self, rngs: Any = None, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Returns the modules that a call uses, by path: ``{"": root, "Block_0/Dense_0": ...}``.

        Args:
          rngs: for an unbound module, as in ``lazy_init``; nothing is computed.
          *args: for ``lazy_init``.
          **kwargs: for ``lazy_init``.

        Returns:
          Unbound copies. For a bound module, modules of compact methods are known once called.

        Implements: Flax Linen, ``Module.module_paths``.
        """
        if self._internal.scope is not None:
            return paths(self)
        found: dict[str, Any] = self._read_lazily(rngs, args, kwargs, paths)
        return found

    def tabulate(
        self, rngs: Any = None, *args: Any, depth: int | None = None, **kwargs: Any
    ) -> str:
        """Formats the modules and variables as a plain-text table.

        Args:
          rngs: for an unbound module, as in ``lazy_init``; nothing is computed.
          *args: for ``lazy_init``.
          depth: number of levels of modules that get a line; lower ones are counted in the last
            one.
          **kwargs: for ``lazy_init``.

        Returns:
          One line for each module, with its own variables, and the totals. For a bound module,
          modules of compact methods are known once they have been called.
        """
        if self._internal.scope is not None:
            return table(self, depth)
        text: str = self._read_lazily(rngs, args, kwargs, lambda module: table(module, depth))
        return text

    def _read_lazily(self, rngs: Any, args: Any, kwargs: Any, read: Any) -> Any:
        method, mutable = kwargs.pop("method", None), kwargs.pop("mutable", INIT_MUTABLE)
        return lazy_run(self, rngs, args, kwargs, method, mutable, lambda run: read(run.module))

    # -- to and from variables -----------------------------------------------------------------

    def bind(
        self,
        variables: Mapping[str, Any],
        rngs: Any = None,
        mutable: FilterLike = DenyList("params"),  # noqa: B008  (immutable)
    ) -> Self:
        """Returns a clone that has variables, for as long as it is referenced.

        Args:
          variables: as in ``apply``. Each value becomes a ``tf.Variable`` (trainable if in
            ``params``); a ``tf.Variable`` is used as it is.
          rngs: as in ``apply``; the streams become variables.
          mutable: the collections that calls may write; by default all except ``params``.
            Parameters are trained by assigning to their variables.

        Returns:
          The bound module.

        Raises:
          VariableCreationError: variables would be created while a function is being traced.
          VariablesTypeError: `variables` is not a mapping.
          VariablesStructureError: `variables` does not have the structure of collections.
          RngError: `rngs` are not keys.
          FilterError: `mutable` is not a filter.
          AssignmentError: a value cannot be stored in a variable.

        Implements: Flax Module lifecycle, section "Bind".
        """
        check_instance(self)
        checked, streams = check_variables(variables), check_rngs(rngs)
        with method_stack.entered(None):
            module = binding.clone(binding.unbound(self))
            binding.attach(module, Scope(VariableStore(checked, streams, Filter.of(mutable))))
        return module  # type: ignore[no-any-return]

    def unbind(self) -> tuple[Self, dict[str, Any]]:
        """Returns the template of a bound module, and the current values of its variables.

        Raises:
          UnboundModuleError: the module is unbound.
        """
        tree = self._scope("unbind").tree()
        with method_stack.entered(None):
            return binding.unbound(self), {c: as_tensors(node) for c, node in tree.items()}

    def clone(self, *, parent: Any = None, **updates: Any) -> Self:
        """Returns a new module with the same construction arguments, except for the updates.

        Args:
          parent: None for an unbound module; or a module, such as ``self`` in a compact method, of
            which the clone is a new submodule.
          **updates: other construction arguments, and ``name``.

        Raises:
          PlacementError: the parent has variables, but is not in ``setup`` or a compact method.

        Implements: Flax Module lifecycle, section "Cloning".
        """
        with method_stack.entered(None):
            name = {"name": updates.pop("name")} if "name" in updates else {}
            return binding.clone(binding.unbound(self), updates, parent, **name)  # type: ignore[no-any-return]

    def copy(self, *, name: str | None = None, **updates: Any) -> Self:
        """Returns a new module with the same construction arguments, except for the updates.

        Unlike a clone, it belongs to the place where it is made: in a compact method it is a new
        submodule with its own name; in ``setup`` it is named by the attribute.

        Args:
          name: its name; by default an automatic one.
          **updates: other construction arguments, and ``parent``.

        Implements: Flax Linen, ``Module.copy``.
        """
        return type(self)(**{**init_fields(self), **updates}, name=name)
