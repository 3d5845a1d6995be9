"""Reads the contents of a SavedModel on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import internal
from nbfn._tensorflow.trackables.wrappers import trackable_children

_can_encode = getattr(internal("saved_model.nested_structure_coder"), "can_encode", None)

_fingerprinting = getattr(internal("saved_model.pywrap_saved_model"), "fingerprinting", None)

if not hasattr(_fingerprinting, "CreateFingerprintDef"):
    _fingerprinting = None


def can_be_saved(structure: Any) -> bool:
    """Returns whether a SavedModel can represent a structure of specs and Python values."""
    if _can_encode is None:
        return True  # otherwise saving raises an error
    return bool(_can_encode(structure))


class SavedModel:
    """The definitions of a SavedModel.

    Attributes:
        functions: The ``FunctionDef`` of each function, by name.
    """

    def __init__(self, folder: Path) -> None:
        from tensorflow.core.protobuf.saved_model_pb2 import SavedModel as Proto

        (meta,) = Proto.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs
        self.functions = {each.signature.name: each for each in meta.graph_def.library.function}
        self._objects = meta.object_graph_def.nodes
        self._assets = [folder / "assets" / each.filename for each in meta.asset_file_def]

    def traces(self, attribute: str) -> list[str]:
        """Returns the names of the saved traces of a function of the root, in loading order."""
        for child in self._objects[0].children:
            if child.local_name == attribute:
                return list(self._objects[child.node_id].function.concrete_functions)
        return []

    def assets(self, root: Any) -> Iterator[tuple[Path, Path]]:
        """Yields each asset file, with the original that it is a copy of."""
        waiting, seen = [(root, 0)], set[int]()
        while waiting:
            value, number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            node = self._objects[number]
            if node.WhichOneof("kind") == "asset" and hasattr(value, "asset_path"):
                original = Path(tf.compat.as_str(value.asset_path.numpy()))
                yield self._assets[node.asset.asset_file_def_index], original
            below = trackable_children(value)
            waiting += [
                (below[each.local_name], each.node_id)
                for each in node.children
                if each.local_name in below
            ]


def definitions(concrete: Any) -> dict[str, Any]:
    """Returns the ``FunctionDef`` of a trace and of all functions that it calls, by name."""
    found = {each.signature.name: each for each in concrete.graph.as_graph_def().library.function}
    own = getattr(concrete, "function_def", None)
    return found if own is None else found | {own.signature.name: own}


def difference(one: Any, other: Any) -> str | None:
    """Describes the first difference between two function definitions; None if equal.

    Differences that saving causes are ignored: static shapes, names of gradients, defaults.
    """
    if len(one.node_def) != len(other.node_def):
        return f"{len(one.node_def)} operations, not {len(other.node_def)}"
    nodes = {node.name: node for node in other.node_def}
    for node in one.node_def:
        twin = nodes.get(node.name)
        if twin is None or (node.op, list(node.input)) != (twin.op, list(twin.input)):
            return f"operation `{node.name}`"
        for name in node.attr.keys() & twin.attr.keys():
            mine, others = node.attr[name], twin.attr[name]
            # Private attributes have the static shapes and the names of gradients.
            if name[:1] != "_" and mine != others and _bytes(mine) != _bytes(others):
                return f"`{name}` of operation `{node.name}`"
        if ("value" in node.attr) != ("value" in twin.attr):
            return f"`value` of operation `{node.name}`"
    if dict(one.ret) != dict(other.ret):
        return "its outputs"
    return None


def _bytes(attribute: Any) -> bytes:
    """Serialises an attribute, as NaN compares unequal to itself."""
    return bytes(attribute.SerializeToString(deterministic=True))


def is_as_written(folder: Path) -> bool:
    """Returns whether the files of a SavedModel still match its fingerprint."""
    if _fingerprinting is None:
        return True
    from tensorflow.core.protobuf.fingerprint_pb2 import FingerprintDef

    written = FingerprintDef.FromString((folder / "fingerprint.pb").read_bytes())
    now = FingerprintDef.FromString(_fingerprinting.CreateFingerprintDef(str(folder)))
    now.uuid = written.uuid  # random in each fingerprint
    return bool(_bytes(now) == _bytes(written))
