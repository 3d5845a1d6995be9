"""Attaches modules to variables: cloning, adoption of submodules, tracking by TensorFlow.

A module is completely defined by its construction arguments (Flax Module lifecycle, section
"Cloning"), so a clone is made by calling the constructor again. Modules among the arguments are
*adopted* when the clone is attached to a scope: cloned, named after the field, and attached below
it. An instance that occurs in two places stays one module.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import AutoNameError, PostInitError
from nbfn.modules.lifecycle import method_stack
from nbfn.modules.lifecycle.fields import (
    holds_modules,
    init_fields,
    is_module,
    map_modules,
    modules_in,
    own_init,
)
from nbfn.modules.lifecycle.naming import TakenNames, name_in_use, same_configuration
from nbfn.modules.variables.scope import Scope
from nbfn.modules.variables.tree import leaves
from nbfn.modules.variables.variable_store import VariableStore


class InternalState:
    """The private state of one module instance, which TensorFlow does not traverse.

    Attributes:
      scope: its place in a store, or None if unbound.
      ready: whether ``setup`` has run.
      preparing: whether ``setup`` is running.
      built: whether construction is over, so that attributes are frozen.
      owned: whether a running ``setup`` constructed it, so that it can be attached without cloning.
      names: names taken by ``setup`` and by adopted fields, which last as long as the instance.
      children: bound submodules by name; shared by the instances that a compact method makes at one
        path, call after call.
      given: original values of the fields in which modules were adopted.
      arguments: the arguments with which a method of another module constructed it.
      carried: for the result of ``rebind``, what happened to each variable.
      template: for an unbound module, the private instance on which ``declare`` and ``setup`` ran
        for inspection, by hook.
    """

    def __init__(self) -> None:
        self.scope: Scope | None = None
        self.ready = False
        self.preparing = False
        self.built = False
        self.owned = False
        self.names = TakenNames()
        self.children: dict[str, Any] = {}
        self.given: dict[str, Any] = {}
        self.template: dict[str, Any] = {}
        self.carried: Any = None
        self.arguments: tuple[Any, Any] | None = None


def clone(
    module: Any, updates: Mapping[str, Any] | None = None, parent: Any = None, **identity: Any
) -> Any:
    """Returns a new instance with the same arguments except for updates; unbound by default."""
    arguments = {**init_fields(module), **(updates or {})}
    scope = module._internal.scope
    if scope is None or not scope.path:  # below the root, the name depends on the place
        identity.setdefault("name", module.name)
    copy = type(module)(**arguments, parent=parent, **identity)
    check_built(copy)
    return copy


def unbound(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """Replaces every bound module in a value by an unbound clone; keeps sharing."""
    memo = {} if memo is None else memo
    if not any(is_bound(m) for m, _ in modules_in(value)):
        return value

    def free(module: Any, _: str) -> Any:
        if id(module) not in memo:
            if module._internal.scope is None:
                memo[id(module)] = module
            else:
                fields = {k: unbound(v, memo) for k, v in init_fields(module).items()}
                memo[id(module)] = clone(module, fields)
        return memo[id(module)]

    return map_modules(free, value, "")


def check_built(module: Any) -> None:
    """Raises `PostInitError` if the class's initializer did not call that of the base class."""
    if module._internal.built:
        return
    cls = type(module)
    own = own_init(cls)
    if own is not None:
        fields = [_as_field(each, module) for each in _parameters(own)]
        body = f", write `{'; '.join(fields)}` in the class body" if fields else ""
        raise PostInitError(
            f"{cls.__name__} defines __init__, but a module's fields are its arguments. Remove it"
            f"{body}, and compute in setup."
        )
    raise PostInitError(
        f"{cls.__name__}.__post_init__ must call super().__post_init__(), or the "
        "module is never finished. Add the call as its last line."
    )


def _parameters(function: Any) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    every = list(inspect.signature(function).parameters.values())[1:]
    return [each for each in every if each.kind not in kinds]


def _as_field(parameter: inspect.Parameter, module: Any) -> str:
    """Formats a parameter of ``__init__`` as a field of a class, with the type of its value."""
    kind = parameter.annotation
    if kind is parameter.empty:
        value = module.__dict__.get(parameter.name)
        kind = type(value) if type(value) in (int, float, str, bool) else "Any"
    text = getattr(kind, "__name__", str(kind))
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return f"{parameter.name}: {text}{default}"


def attach(module: Any, scope: Scope, tracked: bool = True) -> None:
    """Attaches a module to its scope: adopts modules in fields and tracks the variables."""
    internal = module._internal
    internal.scope = scope
    for name, value in init_fields(module).items():
        if holds_modules(value):
            adopted = map_modules(
                lambda m, n: adopt(module, m, _adopted_name(module, m, n)), value, name
            )
            internal.given[name] = value
            object.__setattr__(module, name, adopted)
    if tracked and scope.store.bound:
        module.__dict__["_children"] = internal.children
        module._track()
        _track_foreign(module)


def adopt(parent: Any, module: Any, name: str) -> Any:
    """Makes a module from elsewhere a submodule; returns the attached instance."""
    internal = module._internal
    if internal.scope is not None:
        return module
    check_built(module)
    store = parent._internal.scope.store
    if id(module) in store.adopted:
        return store.adopted[id(module)][1]
    # A module made in this setup has no other parent; others are cloned, as they may have several.
    child = module if internal.owned else clone(module)
    claim(parent, name, child)
    # With the module itself, which keeps the id valid.
    store.adopted[id(module)] = (module, child)
    return child


def claim(parent: Any, name: str, module: Any, auto: bool = False) -> None:
    """Attaches a module below its parent under a name.

    Raises:
      NameInUseError: the parent already has something with that name.
      AutoNameError: the name is automatic, and the variables there were made for a module of
        another type or configuration.
    """
    internal = parent._internal
    table = method_stack.table_of(parent)
    names = table.names if table is not None and table.kind == "compact" else internal.names
    if internal.names.taken(name, None) or names.taken(name, None):
        raise name_in_use(parent, name, None, internal.names, names)
    # Around `Template.__setattr__`, which refuses changes of a module that is complete.
    object.__setattr__(module, "name", name)
    object.__setattr__(module, "parent", parent)
    scope = internal.scope.child(name)
    older = internal.children.get(name)
    same = older is not None and same_configuration(older, module)
    if auto and older is not None and not same and any(scope.tree().values()):
        raise AutoNameError(
            f"{scope} was {older!r} and is now {module!r}: control flow gave one automatic name to "
            "two different modules, which would share variables. Construct both before the branch, "
            "or give each a name=."
        )
    names.take(name, None)
    if same:
        # A compact method constructs its children again in each call; they share the known state.
        module._internal.children = older._internal.children
    if not same or type(older) is not type(module):
        internal.children[name], same = module, False
    attach(module, scope, tracked=not same)


def track(module: Any) -> None:
    """Exposes the variables to TensorFlow: checkpoints, SavedModels, enclosing ``tf.Module``s."""
    scope = module._internal.scope
    assert isinstance(scope.store, VariableStore)
    for name, tree in (("_state", scope.tree()), ("_rngs", scope.store.rng_variables())):
        if tree:
            _show(module, name, tree)
    scope.store.track(module)


def _show(module: Any, name: str, value: Any) -> None:
    """Sets an attribute that TensorFlow tracks."""
    internal = module._internal
    # TensorFlow's attribute reads must not run `setup`.
    preparing, internal.preparing = internal.preparing, True
    try:
        # The setter of tf.Module wraps dicts and tracks their contents; `Template.__setattr__` does
        # not.

        tf.Module.__setattr__(module, name, value)
    finally:
        internal.preparing = preparing


def _adopted_name(parent: Any, module: Any, name: str) -> str:
    if parent.preserve_adopted_names and module.name is not None:
        return module.name  # type: ignore[no-any-return]
    return parent._name_of_part(name)  # type: ignore[no-any-return]


def _track_foreign(module: Any) -> None:
    """Makes TensorFlow track modules in fields that manage their own variables.

    These are other ``tf.Module``s, and modules that were already bound.
    """
    store = module._internal.scope.store
    foreign = {
        f"{name}_{i}": part
        for name, value in init_fields(module).items()
        for i, (_, part) in enumerate(leaves(value))
        if isinstance(part, tf.Module)
        and not (is_module(part) and getattr(part._internal.scope, "store", store) is store)
    }
    if foreign:
        hold(module, foreign)
    # TensorFlow's traversal of attributes fails at dicts like {1: ..., "a": ...} (TensorFlow 2.21).
    # The contents of such a field are among the children and the held parts.
    unsorted = {name for name, value in init_fields(module).items() if not _is_sorted(value)}
    if unsorted:
        ignored = type(module)._TF_MODULE_IGNORED_PROPERTIES | unsorted
        module.__dict__["_TF_MODULE_IGNORED_PROPERTIES"] = ignored


def _is_sorted(value: Any) -> bool:
    try:
        tf.nest.flatten(value)
    except TypeError:
        return False
    return True


def hold(module: Any, parts: Mapping[str, Any]) -> None:
    """Makes TensorFlow track parts from a bound module and its parents.

    Args:
      module: the module that uses the parts.
      parts: layers, ``tf.Module``s of other kinds, or tables, by name.
    """
    scope = module._internal.scope
    for above in scope.store.modules_above(scope.path):
        inside = scope.path[len(above.path) :]
        named = {"/".join((*inside, name)): part for name, part in parts.items()}
        _show(above, "_held", {**(above.__dict__.get("_held") or {}), **named})


def hold_all(module: Any, name: str, value: Any) -> None:
    """Makes TensorFlow track what an attribute set by ``setup`` holds."""
    parts = {
        f"{name}_{i}": part
        for i, (_, part) in enumerate(leaves(value))
        if hasattr(type(part), "_trackable_children") and not is_module(part)
    }
    if parts:
        hold(module, parts)


def is_stored(value: Any, scope: Any) -> bool:
    """Returns whether a value is a variable in the module's state, which is already tracked."""
    return isinstance(value, tf.Variable) and any(value is leaf for _, leaf in leaves(scope.tree()))


def is_bound(module: Any) -> bool:
    """Returns whether a module has variables, permanently or for one `apply`."""
    return module._internal.scope is not None
