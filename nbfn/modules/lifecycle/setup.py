"""Runs ``setup`` once for each bound instance at its first use, completely or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import SetupReadError
from nbfn.modules.lifecycle import method_stack
from nbfn.modules.lifecycle.binding import clone
from nbfn.modules.variables.tree import leaves

# Re-entrant, because `setup` may read an attribute that the `setup` of another module gives.
_setup_lock = threading.RLock()


class _Cloning(threading.local):
    def __init__(self) -> None:
        self.classes: list[type] = []


_cloning = _Cloning()


def prepare(module: Any) -> None:
    """Runs ``declare`` and ``setup`` of an attached module if they have not run yet.

    Raises:
      SetupReadError: ``setup`` of a bound module computed with a parameter.
    """
    internal = module._internal
    if internal.ready:
        return
    if not module.__hooks__:
        internal.ready = True
        return
    with _setup_lock:
        if internal.ready or internal.preparing:
            return
        undo = _snapshot(module)
        internal.preparing = True
        try:
            _run_hooks(module)
            if internal.scope.store.bound and _keeps_graph_tensors(module):
                # `setup` ran inside a trace, but its attributes must outlive the trace.
                undo()
                with tf.init_scope():
                    _run_hooks(module)
            internal.ready = True
        except BaseException:
            undo()  # so that the next use raises the same error
            raise
        finally:
            internal.preparing = False


def inspect_hook(module: Any, hook: str) -> dict[str, Any]:
    """Returns the attributes that ``declare``, and maybe ``setup``, give an unbound module.

    They run on a private instance without variables, so the submodules among the attributes are
    separate unbound modules.

    Raises:
      UnboundModuleError: the hook needs variables.
    """
    cache: dict[str, Any] = module._internal.template
    if hook not in cache:
        if type(module) in _cloning.classes:
            return {}  # its __post_init__ reads an attribute of setup
        _cloning.classes.append(type(module))
        try:
            private = clone(module)
        finally:
            _cloning.classes.pop()
        private._internal.preparing = True
        for each in module.__hooks__:
            if each in ("declare", hook):
                _run_hook(private, each)
        fields = (*module.__field_names__, "parent", "name")
        cache[hook] = {n: v for n, v in private.__dict__.items() if n[0] != "_" and n not in fields}
    found: dict[str, Any] = cache[hook]
    return found


def _run_hooks(module: Any) -> None:
    scope = module._internal.scope
    if not scope.store.bound:
        for hook in module.__hooks__:
            _run_hook(module, hook)
        return
    # A tape records each read of a trainable variable.
    with tf.GradientTape() as tape:
        for hook in module.__hooks__:
            _run_hook(module, hook)
    read = {id(variable) for variable in tape.watched_variables()}
    for path, leaf in leaves(scope.tree().get("params", {})):
        if id(leaf) in read:
            raise SetupReadError(
                f"{type(module).__name__}.setup at {scope} read the parameter "
                f"{'/'.join(path)!r}. What it computed would stay as it is while the parameter "
                "is trained. Keep the parameter itself, and compute in the method that uses it."
            )


def _snapshot(module: Any) -> Callable[[], None]:
    """Returns a function that undoes the changes of ``setup``."""
    internal = module._internal
    children, attributes, names = (
        dict(internal.children),
        dict(module.__dict__),
        internal.names.copy(),
    )

    def undo() -> None:
        internal.names = names.copy()
        internal.children.clear()
        internal.children.update(children)
        module.__dict__.clear()
        module.__dict__.update(attributes)

    return undo


def _keeps_graph_tensors(module: Any) -> bool:
    return any(
        tf.is_tensor(leaf) and not isinstance(leaf, tf.Variable) and tf.is_symbolic_tensor(leaf)
        for value in module.__dict__.values()
        for _, leaf in leaves(value)
    )


def _run_hook(module: Any, kind: str) -> None:
    previous = method_stack.swap_table(module, method_stack.Declarations(kind))
    try:
        with method_stack.entered(module):
            getattr(module, kind)()
    finally:
        method_stack.swap_table(module, previous)
