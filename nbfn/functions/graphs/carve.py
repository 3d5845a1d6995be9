"""Carves a function out of a graph: chosen tensors become inputs, others outputs.

RFC "Functions, not Sessions", section "Derived/Related Graphs" (``NewGraphFunction``).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.graphs.elements import CarveError, element, tensor_of
from nbfn.functions.graphs.subgraph import Cut, cut
from nbfn.functions.recording.registry import unregister

if TYPE_CHECKING:
    from nbfn.functions.traced.traced_function import TracedFunction
    from nbfn.functions.traces.trace import Trace

__all__ = ["CarveError", "carve"]


class LostVariableError(NbfnError, ReferenceError):
    """A carved function was to be traced again after a captured variable had been deleted."""


def carve(
    graph: tf.Graph | Trace | Any, inputs: Any, outputs: Any, prune: bool = False
) -> TracedFunction:
    """Makes a function of the part of a graph between some tensors.

    Captured variables and tensors stay captured, by reference. Everything else that the outputs
    need must be computable from the inputs.

    Args:
        graph: A `Trace`, a ``ConcreteFunction`` or any ``tf.Graph``.
        inputs: The inputs: a tensor, or the name of a tensor or operation (``"Square:0"``), a
            sequence of these, or a dict of them by parameter name. Intermediate tensors are
            allowed.
        outputs: The outputs, given as `inputs`; an operation without outputs is run and gives
            ``None``. One output gives its value, a list or tuple of several a list, a dict a dict.
        prune: Whether to leave out stateful operations that no output needs. Otherwise they run at
            each call, as in the whole graph. (In a graph that is not a function's, and in
            TensorFlow 1.x code, only needed operations run.)

    Returns:
        A `TracedFunction` with one trace. Its parameters have the dtypes and shapes of the fed
        tensors.

    Raises:
        CarveError: If a name is unknown or ambiguous, a tensor belongs to another graph, an output
            needs what is neither fed nor captured, no output depends on an input, or a stateful
            operation that would have to run needs what is not fed.
        TypeError: If `graph` is not a graph.
    """
    source, captures = _source(graph)
    feeds = _parameters(source, inputs)
    wanted: list[Any] = []

    def fetch(item: Any) -> str:
        wanted.append(element(source, item, "output"))
        return str(wanted[-1].name)

    fetches = _structure(outputs, fetch)
    if not wanted:
        raise CarveError("no output is given; name at least one tensor or operation to compute")
    captured = {capture.name for capture in captures}
    part = cut(source, list(feeds.values()), captured, wanted, prune=prune)
    body = _Body(
        part,
        tuple(capture for capture in captures if capture.name in part.given),
        tuple(tensor.name for tensor in feeds.values()),
        fetches,
    )
    return _function_of(body, feeds, str(getattr(source, "name", "") or "graph"))


@dataclass(frozen=True)
class _Body:
    """The operations of a carved function, and how they connect to the graph being traced.

    Attributes:
        part: The operations.
        captures: Their captures.
        feeds: Name of the fed tensor for each parameter.
        fetches: Names of tensors and operations in the structure of the outputs.
    """

    part: Cut
    captures: tuple[Any, ...]
    feeds: tuple[str, ...]
    fetches: Any

    def build(self, arguments: Iterable[Any]) -> Any:
        """Imports the operations into the graph being traced, connected to the arguments."""
        graph = tf.compat.v1.get_default_graph()
        by_name = dict(zip(self.feeds, arguments, strict=True))
        for capture in self.captures:
            captured = capture.enter(graph)
            if captured is None:
                raise LostVariableError(
                    f"a variable that the carved function captured as `{capture.name}` no longer "
                    "exists; keep it alive as long as the function is called"
                )
            by_name[capture.name] = captured
        read = self.part.read
        mapping = {name: tensor for name, tensor in by_name.items() if name in read}
        # Without a prefix, so that the operations keep their names, by which they are found below.
        tf.graph_util.import_graph_def(self.part.graph_def, input_map=mapping, name="")

        def fetched(name: str) -> Any:
            if ":" not in name:
                return None
            return by_name[name] if name in by_name else graph.get_tensor_by_name(name)

        return _structure(self.fetches, fetched)


def _function_of(body: _Body, feeds: Mapping[str, Any], name: str) -> TracedFunction:
    from nbfn.functions.traced.function import function

    taken = {node.name for node in body.part.graph_def.node}
    names = [_free(parameter, taken) for parameter in feeds]
    specs = [
        tf.TensorSpec(tensor.shape, tensor.dtype, parameter)
        for parameter, tensor in zip(names, feeds.values(), strict=True)
    ]

    def carved(*arguments: Any) -> Any:
        return body.build(arguments)

    carved.__name__ = carved.__qualname__ = _identifier(f"{name}_carved")
    carved.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in names]
    )
    options: dict[str, Any] = {"input_signature": specs, "autograph": False}
    if any(node.op == "Enter" for node in body.part.graph_def.node):
        # Automatic control dependencies must not lead out of a version 1 loop; such a graph
        # has its own order.
        options["experimental_attributes"] = _tensorflow.WITHOUT_CONTROL_DEPENDENCIES
    traced = function(carved, **options)
    traced.known_as = None
    try:
        # At once, so that an error of the part is raised here.
        traced.get_concrete_function()
    except BaseException:
        unregister(traced)  # the caller never gets it
        raise
    return traced


def _source(graph: Any) -> tuple[tf.Graph, list[_tensorflow.GraphCapture]]:
    found = graph if isinstance(graph, tf.Graph) else getattr(graph, "graph", None)
    if not isinstance(found, tf.Graph):
        raise TypeError(
            f"cannot carve {type(graph).__name__} {graph!r}; expected a tf.Graph, or a trace or "
            "concrete function, such as f.traces[0] or f.graph_function(...)"
        )
    return found, _tensorflow.graph_captures(found)


def _parameters(graph: tf.Graph, inputs: Any) -> dict[str, Any]:
    """Returns the fed tensors by parameter name."""
    if isinstance(inputs, Mapping):
        named = {str(name): tensor_of(graph, item, "input") for name, item in inputs.items()}
        for name in named:
            if not name.isidentifier():
                raise CarveError(
                    f"the input name {name!r} is not a name in Python; choose one, such as `x`"
                )
    else:
        items = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        named = {}
        for item in items:
            tensor = tensor_of(graph, item, "input")
            named[_free(_identifier(tensor.name.removesuffix(":0")), named)] = tensor
    seen: set[str] = set()
    for tensor in named.values():
        if tensor.name in seen:
            raise CarveError(f"the input `{tensor.name}` is given twice")
        seen.add(tensor.name)
    return named


def _structure(outputs: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(outputs, Mapping):
        return {name: change(item) for name, item in outputs.items()}
    if isinstance(outputs, (list, tuple)):
        return change(outputs[0]) if len(outputs) == 1 else [change(item) for item in outputs]
    return change(outputs)


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    return name if name.isidentifier() else f"_{name}"


def _free(name: str, taken: Iterable[str]) -> str:
    while name in taken:
        name += "_"
    return name
