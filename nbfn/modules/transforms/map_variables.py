"""``nn.map_variables``: a module whose variables are mapped by a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbfn.modules.lifting.inner_store import Inner
from nbfn.modules.lifting.lifting import Leaf, Lift
from nbfn.modules.lifting.target import transform
from nbfn.modules.lifting.trees import Trees
from nbfn.modules.variables.filters import EVERYTHING, Filter, FilterLike


def _same(variables: Any) -> Any:
    return variables


def map_variables(
    target: Any,
    mapped_collections: FilterLike = "params",
    trans_in_fn: Callable[[Any], Any] = _same,
    trans_out_fn: Callable[[Any], Any] = _same,
    init: bool = False,
    mutable: bool = False,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
) -> Any:
    """Runs a module with variables that are a function of the stored ones.

    So weights can be tied, masked, normalized or quantized without changing the module::

      Tied = nn.map_variables(nn.Dense, trans_in_fn=transpose, trans_out_fn=transpose, init=True)

    Args:
      target: a module class, or a function whose first argument is a module.
      mapped_collections: the collections that are mapped.
      trans_in_fn: maps the stored variables, ``{collection: {module: {name: value}}}`` below the
        module, to those that the module sees. For several modules it is called once for each.
      trans_out_fn: the inverse mapping, for variables that the module creates or writes.
      init: whether the module may create the mapped variables.
      mutable: whether it may write them.
      methods: for a class, the methods to transform.

    Returns:
      The transformed class (``MappedDense``) or function.

    Raises:
      TransformError: a function does not return dicts of collections, or a module was hidden in a
        closure.

    Implements: Flax Linen, ``nn.map_variables``.
    """

    def call(
        fn: Callable[..., Any], options: Mapping[str, Any], module: Any, *args: Any, **kwargs: Any
    ) -> Any:
        mapped = Filter.of(options["mapped_collections"])
        making, mutable = options["init"], options["mutable"]
        trans_in_fn, trans_out_fn = options["trans_in_fn"], options["trans_out_fn"]
        lift = Lift("nn.map_variables", (module, args, kwargs))
        trees = Trees("nn.map_variables", [module, list(args), kwargs])

        def through(fn: Any, variables: Mapping[Leaf, Any], name: str) -> dict[Leaf, Any]:
            results = [
                # All variables of modules among the arguments may belong to the first.
                lift.user.call(fn, (tree,), {}) if tree or i == 0 else tree
                for i, tree in enumerate(trees.each(trees.build(variables), name))
            ]
            return trees.flat(trees.filled(results), f"what {name} returns")

        others, stored = lift.leaves(~mapped), lift.leaves(mapped)

        def run(seen: Mapping[Leaf, Any], writable: Filter) -> tuple[Any, Inner]:
            by_leaf = {**others, **seen}
            return lift.run(fn, (module, *args), kwargs, by_leaf, lift.streams, writable)

        if making and lift.is_creating() and not stored:
            _, inner = run({}, EVERYTHING)
            mapped_writes = {k: v for k, v in inner.writes().items() if k[0] in mapped}
            lift.commit(through(trans_out_fn, mapped_writes, "trans_out_fn"))
            stored = lift.leaves(mapped)
        seen = through(trans_in_fn, stored, "trans_in_fn")
        output, inner = run(seen, EVERYTHING if mutable else ~mapped)
        writes = inner.writes()
        lift.commit({k: v for k, v in writes.items() if k[0] not in mapped})
        changed = {k: v for k, v in writes.items() if k[0] in mapped}
        if changed:
            # trans_out_fn maps whole collections, so it also gets unwritten variables.
            lift.commit(through(trans_out_fn, {**seen, **changed}, "trans_out_fn"))
        lift.count_draws(inner, lift.streams)
        return output

    options = {
        "mapped_collections": mapped_collections,
        "trans_in_fn": trans_in_fn,
        "trans_out_fn": trans_out_fn,
        "init": init,
        "mutable": mutable,
    }
    return transform(target, "nn.map_variables", "Mapped", call, methods, options)
