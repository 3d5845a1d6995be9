"""Reads the object tree of a checkpoint of ``tf.train.Checkpoint``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"  # as in trackable/constants.py (TensorFlow 2.21)


def saved_objects(path: str) -> Saved | None:
    """Reads the tree of saved objects; returns None if there is none or it cannot be read."""
    reader = tf.train.load_checkpoint(path)
    try:
        from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

        graph = TrackableObjectGraph.FromString(reader.get_tensor(_OBJECT_GRAPH))
    except (ImportError, ValueError, tf.errors.OpError):
        return None
    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    return Saved(graph, 0, {key: tf.TensorSpec(shapes[key], dtypes[key]) for key in shapes})


class Saved:
    """A saved object: a node of the checkpoint's object graph."""

    def __init__(self, graph: Any, node: int, tensors: Mapping[str, tf.TensorSpec]) -> None:
        self._graph, self._node, self._tensors = graph, node, tensors

    @property
    def id(self) -> int:
        """Its number in the checkpoint."""
        return self._node

    @property
    def children(self) -> dict[str, Saved]:
        """Its tracked children by name."""
        listed = self._graph.nodes[self._node].children
        return {each.local_name: Saved(self._graph, each.node_id, self._tensors) for each in listed}

    @property
    def value(self) -> tf.TensorSpec | None:
        """Shape and dtype, if it is a variable."""
        for attribute in self._graph.nodes[self._node].attributes:
            if attribute.name == "VARIABLE_VALUE":
                return self._tensors.get(attribute.checkpoint_key)
        return None

    @property
    def table(self) -> tuple[tf.DType, tf.DType] | None:
        """The dtypes of keys and values, if it is a lookup table."""
        for attribute in self._graph.nodes[self._node].attributes:
            # The names that a mutable hash table saves its tensors by (TensorFlow 2.21).
            place = attribute.checkpoint_key
            keys, values = (self._tensors.get(f"{place}-{each}") for each in ("keys", "values"))
            if keys is not None and values is not None:
                return keys.dtype, values.dtype
        return None

    @property
    def key(self) -> str:
        """The name of its value in the checkpoint, without TensorFlow's suffix."""
        attributes = self._graph.nodes[self._node].attributes
        return next((a.checkpoint_key.partition("/.ATTR")[0] for a in attributes), "")

    def values(self) -> Iterator[Saved]:
        """Yields all saved objects with a value."""
        for number in range(len(self._graph.nodes)):
            each = Saved(self._graph, number, self._tensors)
            if each._graph.nodes[number].attributes:
                yield each
