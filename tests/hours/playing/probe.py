"""What kernels are asked for beside the cells: values, and what nbfn says of them."""

from __future__ import annotations

import ast
import builtins
import contextlib
import gc
import itertools
import json
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import keras
import numpy as np
import tensorflow as tf

MOST = 40
"""Number of elements of an array that are shown one by one; of all others only sums are."""


def prepare(*, with_nbfn: bool) -> None:
    """Makes a kernel's nbfn independent of time, or has it leave all functions as they stand."""
    if with_nbfn:
        from nbfn.functions.recording import eviction
        from nbfn.functions.segments.speed import SegmentTimes
        from nbfn.sessions.messages import environment

        # Whatever may be a graph is traced after its first run, however short it is.
        SegmentTimes.misses_too_often = lambda self: self.misses >= 3  # type: ignore[method-assign]
        for name, answer in (
            ("is_worth_a_trace", True),
            ("amortizes_tracing", True),
            ("is_long", True),
            ("is_known_to_be_short", False),
            ("is_slower_as_graph", False),
            ("needs_sample", False),
        ):
            setattr(SegmentTimes, name, lambda _, answer=answer: answer)
        # People take longer from cell to cell than these tests.
        environment.PATIENCE = eviction.PATIENCE = 0
        return
    import nbfn

    nbfn.nn.jit = _as_it_stands  # type: ignore[assignment]
    plain = types.ModuleType("nbfn")
    plain.__dict__.update(
        function=_as_it_stands,
        watch=lambda found: found,
        stance=lambda _: contextlib.nullcontext(),
        expect_traces=lambda *_, **__: contextlib.nullcontext(),
        nn=nbfn.nn,
        NbfnWarning=nbfn.NbfnWarning,
    )
    mock.patch.dict(sys.modules, {"nbfn": plain}).start()


def _as_it_stands(function: Callable[..., Any] | None = None, **_: Any) -> Any:
    return _as_it_stands if function is None else function


# Values ----------------------------------------------------------------------------------


def values() -> str:
    """The values of the notebook's names, as JSON."""
    found = {}
    for name, value in _users_names():
        found[name] = _described(value, 4, ())
    return json.dumps(found)


def _users_names() -> Iterator[tuple[str, Any]]:
    shell = _shell()
    for name, value in list(shell.user_ns.items()):
        if name.startswith("_") or name in shell.user_ns_hidden:
            continue
        yield name, value


def _shell() -> Any:
    from IPython.core.getipython import get_ipython

    return get_ipython()  # type: ignore[no-untyped-call]


def _described(value: Any, depth: int, above: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    kind = type(value).__name__
    if depth == 0 or id(value) in above:
        return {"is": kind}
    inner = (depth - 1, (*above, id(value)))
    for is_one, describe in _KINDS:
        if isinstance(value, is_one):
            try:
                return describe(value, *inner)
            except Exception as error:
                return {"is": kind, "cannot": type(error).__name__}
    if callable(value) and not hasattr(type(value), "variables"):
        return {"is": "callable"}
    described: dict[str, Any] = {"is": kind}
    if isinstance(value, tf.Module):
        described["variables"] = _each(value.variables, *inner)
    if not _is_installed(type(value)):
        described["holds"] = _items(_held(value), *inner)
    return described


def _is_installed(cls: type) -> bool:
    module = sys.modules.get(cls.__module__)
    return "-packages" in (getattr(module, "__file__", None) or "") or cls.__module__ in (
        sys.builtin_module_names
    )


def _held(value: Any) -> dict[str, Any]:
    return {
        name: each
        for name, each in getattr(value, "__dict__", {}).items()
        if not name.startswith("_") and not callable(each)
    }


def _array(value: Any, *_: Any) -> Any:
    array = np.asarray(value)
    described: dict[str, Any] = {
        "is": "array" if isinstance(value, np.ndarray | np.generic) else "tensor",
        "dtype": array.dtype.name,
        "shape": list(array.shape),
    }
    if array.dtype.kind in "OSU":
        texts = [each.decode() if isinstance(each, bytes) else str(each) for each in array.flat]
        return {**described, "elements": texts[:MOST]}
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    flat = array.reshape(-1)
    described["elements"] = flat[:MOST].tolist()
    if flat.size > MOST and flat.dtype.kind in "fiu":
        wide = flat.astype(np.float64)
        described["sums"] = [float(wide.sum()), float(np.abs(wide).sum())]
    return described


def _each(found: Sequence[Any], depth: int, above: tuple[int, ...]) -> list[Any]:
    return [_described(each, depth, above) for each in itertools.islice(found, MOST)]


def _items(found: Mapping[Any, Any], depth: int, above: tuple[int, ...]) -> dict[str, Any]:
    chosen = itertools.islice(found.items(), MOST)
    return {_key(name): _described(each, depth, above) for name, each in chosen}


def _key(name: Any) -> str:
    is_plain = isinstance(name, bool | int | float | str | tuple)
    return str(name) if is_plain else type(name).__name__


def _layer(layer: Any, *inner: Any) -> Any:
    return {
        "is": type(layer).__name__,
        "trainable": len(layer.trainable_variables),
        "variables": [_array(each) for each in layer.variables],
        "holds": None if _is_installed(type(layer)) else _items(_own(layer), *inner),
    }


def _own(layer: Any) -> dict[str, Any]:
    """What the user's class has put into a layer, as far as it is plain."""
    known = vars(keras.Model()).keys() | vars(keras.layers.Layer()).keys() | {"built", "name"}
    plain = bool | int | float | str | list | dict | tf.Variable
    return {
        name: each
        for name, each in _held(layer).items()
        if name not in known and isinstance(each, plain)
    }


_KINDS: tuple[tuple[Any, Callable[..., Any]], ...] = (
    ((tf.Tensor, tf.Variable, np.ndarray, np.generic, keras.Variable), _array),
    (
        tf.RaggedTensor,
        lambda ragged, *inner: {"is": "ragged", "rows": _each(ragged.to_list(), *inner)},
    ),
    (keras.layers.Layer, _layer),
    (keras.metrics.Metric, lambda metric, *_: [_array(each) for each in metric.variables]),
    (keras.optimizers.Optimizer, lambda it, *_: [_array(each) for each in it.variables]),
    (tf.random.Generator, lambda generator, *_: _array(generator.state)),
    (Mapping, lambda found, *inner: _items(found, *inner)),
    ((list, tuple), lambda found, *inner: _each(found, *inner)),
    ((types.ModuleType, type), lambda found, *_: {"is": type(found).__name__}),
    ((types.FunctionType, types.MethodType), lambda *_: {"is": "callable"}),
    (tf.data.Dataset, lambda found, *_: {"is": "dataset", "of": str(found.element_spec)}),
    (tf.data.Iterator, lambda *_: {"is": "iterator"}),
)


# What nbfn says --------------------------------------------------------------------------


def state() -> str:
    """What nbfn says of the session, and what there is, as JSON."""
    import nbfn
    from nbfn.functions import live_functions
    from nbfn.functions.traces.capture import capture_id
    from nbfn.sessions.messages.feed import feed
    from nbfn.views.bundle import bundle_of

    sent = feed().snapshot().state.variables  # before the questions below have more sent
    session = nbfn.session()
    variables = session.variables
    named = {id(variable): name for name, variable in variables.items()}
    dependencies = session.dependencies
    captures, said = {}, []
    functions: dict[str, Any] = {each.id: each for each in live_functions()}  # clones share one
    for function in functions.values():
        for capture in function.captures:
            value = capture.value if capture.is_alive else None
            said.append(
                [
                    f"{function.label} ({function.id})",
                    capture.name,
                    capture.is_alive and capture.is_current,
                ]
            )
            captures[capture.id] = [capture.name, named.get(id(value)), value is not None]
    return json.dumps(
        {
            "functions": {id: _function(each) for id, each in functions.items()},
            "captures": captures,
            "captured": said,
            "variables": list(variables),
            "named": {capture_id(variable): name for name, variable in variables.items()},
            "sent": {id: [row.name, row.kind] for id, row in sent.items()},
            "session": bundle_of(session)["text/plain"],
            "stale": [cell.id for cell in dependencies.run_again],
            "dependencies": repr(dependencies),
        }
    )


def _function(function: Any) -> dict[str, Any]:
    return {
        "name": function.label,
        "calls": function.calls,
        "hits": function.hits,
        "traces": len(function.traces),
        "retraces": function.recorder.retraces_made,
        "listed": [
            {
                "number": each.number,
                "causes": [cause.sentence for cause in each.causes],
                "remedy": None if each.remedy is None else each.remedy.sentence,
                "code": None if each.remedy is None else each.remedy.code,
                "unknown": [] if each.remedy is None else _unknown(each.remedy.code),
            }
            for each in function.retraces[-20:]
        ],
    }


def _unknown(code: str | None) -> list[str]:
    """The names that the code of a remedy reads and that neither it nor the notebook has."""
    if code is None or code.startswith("%"):
        return []
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except SyntaxError:
        return [code]
    given = {
        alias.asname or alias.name.split(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return sorted(read - given - _shell().user_ns.keys() - vars(builtins).keys())


# What is left at the end -----------------------------------------------------------------


def values_and_state() -> str:
    """Both, as a list of JSON."""
    return f"[{values()}, {state()}]"


def remains() -> str:
    """How much is alive of what can pile up, as JSON."""
    _forget_outputs()
    for _ in range(2):
        gc.collect()
    kinds: dict[str, int] = {"variables": 0, "graphs": 0, "functions": 0}
    for each in gc.get_objects():
        cls = type(each)
        if issubclass(cls, tf.Variable):
            kinds["variables"] += 1
        elif cls.__name__ == "FuncGraph":
            kinds["graphs"] += 1
        elif cls.__name__ == "TracedCell":
            kinds["functions"] += 1
    return json.dumps(kinds)


def _forget_outputs() -> None:
    """Drops the results and errors that IPython keeps."""
    shell = _shell()
    shell.displayhook.flush()
    for name in ("last_value", "last_type", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
