"""Derivatives of functions of modules: ``nn.vjp``, ``nn.jvp``, ``nn.grad`` and others."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import TransformError
from nbfn.modules.lifting.axes import flat_tensors, flatten, pack
from nbfn.modules.lifting.inner_store import Inner
from nbfn.modules.lifting.lifting import Leaf, Lift
from nbfn.modules.lifting.trees import Trees
from nbfn.modules.variables.filters import EVERYTHING, Filter, FilterLike


def vjp(
    fn: Callable[..., Any],
    module: Any,
    *primals: Any,
    has_aux: bool = False,
    vjp_variables: FilterLike = "params",
) -> tuple[Any, ...]:
    """Returns ``fn(module, *primals)`` and a function that computes gradients.

    Args:
      fn: a function of the module and tensors.
      module: a module with variables, or a structure of modules.
      *primals: tensors, or structures of tensors.
      has_aux: whether ``fn`` returns ``(output, aux)``, of which ``aux`` has no gradient.
      vjp_variables: the collections whose gradients are wanted.

    Returns:
      ``(output, backward)``, or ``(output, backward, aux)``. ``backward(cotangent)`` returns
      ``(variable_gradients, *primal_gradients)``, the former as ``{collection: {module: {name:
      gradient}}}`` below the module; for a structure of modules, a structure of these (a variable
      that several of them have appears once). Where the output does not depend on something its
      gradient is zero.

    Raises:
      TransformError: a module was hidden in a closure.

    Implements: Flax Linen, ``nn.vjp``.
    """
    once = _Once("nn.vjp", fn, module, primals, Filter.of(vjp_variables))
    # Persistent, because `backward` may be called several times.
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(once.sources)
        result, inner = once.run()
    output, aux = _split_aux(once.lift.keep(result, inner), has_aux, "nn.vjp")
    targets = flat_tensors(output)

    def backward(cotangent: Any) -> tuple[Any, ...]:
        found = tape.gradient(
            targets,
            once.sources,
            output_gradients=flat_tensors(cotangent),
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        variables = dict(zip(once.watched, found, strict=False))
        return once.trees.build(variables), *pack(once.primals, found[len(variables) :])

    return (output, backward, aux) if has_aux else (output, backward)


def value_and_grad(
    fn: Callable[..., Any], module: Any, *primals: Any, has_aux: bool = False
) -> tuple[Any, Any]:
    """Returns the scalar ``fn(module, *primals)`` and its gradients with respect to the primals.

    Args:
      fn: a function of the module and tensors that returns a scalar.
      module: a module with variables, or a structure of modules; for gradients of variables use
        ``nn.vjp``, or a ``tf.GradientTape`` around ``apply`` or a bound module.
      *primals: tensors, or structures of tensors.
      has_aux: whether ``fn`` returns ``(value, aux)``.

    Returns:
      ``(value, gradients)``, or ``((value, aux), gradients)``; ``gradients`` is a tuple with one
      for each primal.

    Raises:
      TransformError: the value is not a scalar, there is no primal, or a module was hidden in a
        closure.

    Implements: Flax Linen, ``nn.value_and_grad``.
    """
    if not primals:
        raise TransformError(
            "nn.grad takes the gradient with respect to inputs, but there is none. For gradients "
            "of variables use nn.vjp, or a tf.GradientTape."
        )
    if has_aux:
        value, backward, aux = vjp(fn, module, *primals, has_aux=True, vjp_variables=False)
    else:
        value, backward = vjp(fn, module, *primals, vjp_variables=False)
    value = tf.convert_to_tensor(value)
    if value.shape.rank not in (0, None):
        raise TransformError(
            f"nn.grad needs a scalar, but the function returned the shape {value.shape}. Reduce "
            "it, for instance with tf.reduce_sum."
        )
    _, *found = backward(tf.ones_like(value))
    return ((value, aux) if has_aux else value), tuple(found)


def grad(fn: Callable[..., Any], module: Any, *primals: Any, has_aux: bool = False) -> Any:
    """Returns the gradients of the scalar ``fn(module, *primals)`` for the primals.

    Args:
      fn: as in ``nn.value_and_grad``.
      module: likewise.
      *primals: likewise.
      has_aux: likewise.

    Returns:
      A tuple with a gradient for each primal; with ``has_aux`` a pair ``(gradients, aux)``.

    Implements: Flax Linen, ``nn.grad``.
    """
    value, gradients = value_and_grad(fn, module, *primals, has_aux=has_aux)
    return (gradients, value[1]) if has_aux else gradients


def jvp(
    fn: Callable[..., Any],
    module: Any,
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    variable_tangents: Any = None,
) -> tuple[Any, Any]:
    """Returns ``fn(module, *primals)`` and its derivative along the tangents.

    Args:
      fn: a function of the module and tensors.
      module: a module with variables, or a structure of modules.
      primals: the inputs.
      tangents: their directions, with the same structure.
      variable_tangents: directions of variables, ``{collection: {module: {name: tangent}}}`` below
        the module, or a structure of these for a structure of modules; those that are missing are
        zero.

    Returns:
      ``(output, output_tangent)``.

    Raises:
      TransformError: a tangent has no variable, or a module was hidden in a closure.

    Implements: Flax Linen, ``nn.jvp``.
    """
    once = _Once("nn.jvp", fn, module, tuple(primals), EVERYTHING)
    directions = once.directions(variable_tangents)
    once.watch_only({collection for collection, _ in directions})
    along = [
        *(directions.get(leaf, tf.zeros_like(t)) for leaf, t in once.watched.items()),
        *flat_tensors(list(tangents)),
    ]
    with tf.autodiff.ForwardAccumulator(once.sources, along) as accumulator:
        output, inner = once.run()
    once.lift.keep(output, inner)
    zero = tf.UnconnectedGradients.ZERO
    changes = [accumulator.jvp(tensor, zero) for tensor in flat_tensors(output)]
    return output, pack(output, changes)


class _Once:
    """One call whose inputs are watched for derivatives."""

    def __init__(
        self, label: str, fn: Any, module: Any, primals: tuple[Any, ...], wanted: Filter
    ) -> None:
        self.fn, self.module = fn, module
        # Copies that nothing else uses, so that only this call is watched.
        own = [tf.identity(primal) for primal in flatten(list(primals))]
        self.primals = pack(list(primals), own)
        self.lift = Lift(label, (module,))
        self.trees = Trees(label, module)
        self.variables = {k: tf.identity(v) for k, v in self.lift.variables.items()}
        self.watch_only(wanted)

    def watch_only(self, wanted: Container[str]) -> None:
        """Selects the collections whose variables are watched."""
        self.watched = {k: v for k, v in self.variables.items() if k[0] in wanted}
        self.sources = [*self.watched.values(), *flatten(self.primals)]

    def run(self) -> tuple[Any, Inner]:
        values = (self.module, *self.primals)
        return self.lift.run(self.fn, values, {}, self.variables)

    def directions(self, tangents: Any) -> dict[Leaf, Any]:
        """Returns the tangents by variable."""
        if not tangents:
            return {}
        found = self.trees.flat(tangents, "variable_tangents")
        for leaf in found.keys() - self.variables.keys():
            raise TransformError(
                f"{self.lift.label}: variable_tangents has {self.trees.text(leaf)!r} in "
                f"{leaf[0]!r}, but the module has no such variable."
            )
        return {leaf: tf.convert_to_tensor(tangent) for leaf, tangent in found.items()}


def _split_aux(result: Any, has_aux: bool, label: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise TransformError(
            f"{label}: with has_aux=True the function must return (output, aux), found {result!r}."
        )
    return result
