"""tf.functions that were loaded from a SavedModel, which have graphs but no Python code."""

from __future__ import annotations

import inspect
from typing import Any

from nbfn._tensorflow.base import Function, degraded

_ANY = (
    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
)


def saved_graphs(function: Any) -> list[Any] | None:
    """Returns the concrete functions of a loaded tf.function; None for anything else."""
    graphs = getattr(function, "concrete_functions", None)
    return list(graphs) if isinstance(function, Function) and isinstance(graphs, list) else None


def saved_signature(function: Any) -> inspect.Signature:
    """Returns the parameters of a loaded tf.function; ``(*args, **kwargs)`` if unknown."""
    spec: Any = getattr(function, "function_spec", None)
    parameters = getattr(getattr(spec, "function_type", None), "parameters", None)
    defaults = getattr(spec, "default_values", None)
    if parameters is None or defaults is None:
        degraded("the parameters of loaded functions")
        return inspect.Signature(_ANY)
    return inspect.Signature(
        [
            inspect.Parameter(name, each.kind, default=defaults.get(name, inspect.Parameter.empty))
            for name, each in parameters.items()
        ]
    )
