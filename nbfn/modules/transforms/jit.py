"""``nn.jit``: a method of a module as a traced function, also inside ``apply``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbfn._tensorflow import tf_function
from nbfn.modules.errors import TransformError, show_names
from nbfn.modules.lifting.axes import flatten, is_array
from nbfn.modules.lifting.lifting import Lift
from nbfn.modules.lifting.target import transform
from nbfn.modules.lifting.traces import call_traced

_DEFAULT = object()
_OPTIONS = tuple(inspect.signature(tf_function).parameters.keys() - {"func", "input_signature"})


def jit(
    target: Any,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    **options: Any,
) -> Any:
    """Traces a module's method once for each configuration and kind of input.

    Values, variables and random draws are those of the method itself. Modules with the same
    configuration share traces. A bound module needs this only for a part of a model: for the whole,
    use ``tf.function`` around its call. Arguments other than tensors and arrays are static: each
    value has its own trace.

    Example::

      x = tf.ones([2, 4])
      dense = nn.jit(nn.Dense)(3)
      variables = dense.init(nn.key(0), x)
      y = dense.apply(variables, x)  # traces
      y = dense.apply(variables, 2 * x)  # uses the same trace

    Args:
      target: a module class, or a function whose first argument is a module.
      methods: for a class, the methods to transform; or a dict of these, each with those of the
        options that differ.
      static_argnums: positions of arguments that must be static, i.e. not tensors or arrays; the
        module is argument 0.
      static_argnames: names of keyword arguments that must be static.
      **options: of ``tf.function``, such as ``jit_compile=True``.

    Returns:
      The transformed class (``JitDense``) or function.

    Raises:
      TransformError: a module was hidden in a closure, the target is not a module class or
        function, there is no such option, or an argument that must be static is a tensor.

    Implements: Flax Module lifecycle, section "Functionalization"; Flax Linen, ``nn.jit``.
    """
    own = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    unknown = options.keys() - set(_OPTIONS)
    if unknown:
        raise TransformError(
            f"nn.jit has no option {show_names(unknown)}; there is {show_names((*own, *_OPTIONS))}."
        )

    def call(
        fn: Callable[..., Any], options: Mapping[str, Any], module: Any, *args: Any, **kwargs: Any
    ) -> Any:
        chosen = {name: value for name, value in options.items() if value is not _DEFAULT}
        numbers, names = chosen.pop("static_argnums"), chosen.pop("static_argnames")
        _check_static((module, *args), kwargs, numbers, names)
        lift = Lift("nn.jit", (module, args, kwargs))
        store = lift.store
        keyless = store.initializing and not (store.rngs or store.lazy)
        if lift.is_creating() and not keyless:
            # Keras's initial values need a known key.
            return lift.once(fn, (module, *args), kwargs)
        return call_traced(lift, fn, module, args, kwargs, chosen)

    every = {**dict.fromkeys(_OPTIONS, _DEFAULT), **own, **options}
    return transform(target, "nn.jit", "Jit", call, methods, every)


def _check_static(args: Sequence[Any], kwargs: Mapping[str, Any], numbers: Any, names: Any) -> None:
    chosen = {n for n in ((numbers,) if isinstance(numbers, int) else numbers) if n < len(args)}
    found: dict[Any, Any] = {n: args[n] for n in chosen}
    found |= {n: kwargs[n] for n in ((names,) if isinstance(names, str) else names) if n in kwargs}
    for which, value in found.items():
        if any(map(is_array, flatten([value]))):
            raise TransformError(
                f"nn.jit: the argument {which!r} is static, but holds a tensor or an array "
                f"({type(value).__name__}). Pass a Python value, or do not name it as static."
            )
