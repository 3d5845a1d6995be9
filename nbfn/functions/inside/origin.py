"""Finds the user line of an operation; for a gradient, the line that is differentiated."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any
from weakref import WeakKeyDictionary

from nbfn import _tensorflow
from nbfn.functions.inside.words import (
    NOWHERE,
    Spot,
    TensorNames,
    frames,
    is_of_library,
    is_user_frame,
    spot_of,
)
from nbfn.serial import ByIdentity


@dataclass
class OperationOrigin:
    """The origin of an operation.

    Attributes:
        type: The operation's type.
        name: Its name in the graph; empty if it was executed eagerly.
        spot: The place in user code that made it; for a gradient, the line that is differentiated.
        inputs: The user's name for each of its inputs.
        is_gradient: Whether it computes a gradient.
        asked_at: For a gradient, where it was requested.
        is_in_library: Whether a library such as Keras, which the line calls, made it.
    """

    type: str
    name: str
    spot: Spot
    inputs: tuple[str, ...] = ()
    is_gradient: bool = False
    asked_at: Spot = NOWHERE
    is_in_library: bool = False

    @property
    def where(self) -> str:
        """The line and the expression as text."""
        if self.spot.site.file is None and self.name:
            return f"{'gradient in ' if self.is_gradient else ''}`{self.name}`"
        text = f", `{self.spot.text}`" if self.spot.text else ""
        if self.is_in_library and self.name:
            text += f", in `{self.name}`"
        return f"{'gradient of ' if self.is_gradient else ''}{self.spot.site}{text}"


class Origins:
    """The origins of the operations of one trace and of its nested traces."""

    def __init__(self, until: CodeType) -> None:
        """Creates an empty index.

        Args:
            until: The code of the nbfn function that traces; its callers are not examined.
        """
        self._until = until
        self._names = TensorNames()
        self._by_tensor: ByIdentity[OperationOrigin] = ByIdentity()
        # Weakly, because a function with the stance "check_numerics" keeps it for all its traces.
        self._in_graph: WeakKeyDictionary[Any, dict[str, OperationOrigin]] = WeakKeyDictionary()

    def of(self, new: _tensorflow.NewOperation) -> OperationOrigin:
        """Returns the origin of a new operation."""
        users, derived, is_gradient, is_in_library = None, None, False, False
        for frame in frames(new.frame, self._until):
            if derived is None:
                derived = _tensorflow.differentiated(frame)
            is_gradient |= _tensorflow.makes_gradients(frame)
            if is_user_frame(frame):
                users = frame
                if derived is None and not is_gradient:
                    # A custom gradient has a user line of its own.
                    is_gradient = any(map(_tensorflow.makes_gradients, frames(frame, self._until)))
                break
            is_in_library |= derived is None and is_of_library(frame)
        spot = NOWHERE if users is None else spot_of(users)
        name = "" if new.operation is None else str(new.operation.name)
        origin = OperationOrigin(new.type, name, spot, (), is_gradient)
        origin.is_in_library = is_in_library and users is not None
        forward = None if derived is None else self._differentiated_origin(derived)
        if is_gradient:
            origin.asked_at = spot
        if forward is not None:
            origin.spot, origin.is_in_library = forward.spot, forward.is_in_library
        origin.inputs = tuple(self._name(each, users, origin) for each in new.inputs)
        self._note(origin, new)
        return origin

    def at(self, graph: Any, name: str) -> OperationOrigin | None:
        """Returns the origin of an operation of a graph by its name."""
        return self._in_graph.get(graph, {}).get(name)

    def known(self, tensor: Any) -> OperationOrigin | None:
        """Returns the origin of an earlier tensor; None if it is an argument."""
        return self._by_tensor.get(tensor)

    def replaced(self, origin: OperationOrigin, tensors: Any) -> None:
        """Records that tensors have replaced an operation's outputs."""
        for tensor in tensors:
            self._by_tensor[tensor] = origin
            self._names.note(tensor, self._text(origin))

    def _note(self, origin: OperationOrigin, new: _tensorflow.NewOperation) -> None:
        if new.operation is not None:
            self._in_graph.setdefault(new.operation.graph, {})[origin.name] = origin
        if new.type != "Placeholder":  # TensorFlow makes it where a capture is first used
            self.replaced(origin, new.outputs)

    @staticmethod
    def _text(origin: OperationOrigin) -> str:
        if origin.is_gradient and origin.spot is not origin.asked_at:
            return f"gradient of {origin.spot.text}"
        return origin.spot.text

    def _name(self, tensor: Any, users: FrameType | None, origin: OperationOrigin) -> str:
        try:
            return self._names.of(tensor, users, self._text(origin))
        except Exception:  # the name is optional
            return ""

    def _differentiated_origin(self, derived: _tensorflow.Differentiated) -> OperationOrigin | None:
        """Returns the origin of the operation that is differentiated."""
        if derived.operation is not None:
            return self.at(derived.operation.graph, derived.operation.name)
        for tensor in derived.tensors:
            forward = self.known(tensor)
            if forward is not None and forward.type == derived.type:
                return forward
        for tensor in derived.tensors:  # its inputs, which other operations may also use
            operation = getattr(tensor, "op", None)
            using = [] if operation is None else tensor.consumers()
            found = [self.at(each.graph, each.name) for each in using if each.type == derived.type]
            for origin in reversed(found):
                if origin is not None:
                    return origin
        # A heuristic: without known tensors, the line that has all operations of the type.
        every = [each for graph in self._in_graph.values() for each in graph.values()]
        same = [each for each in every if each.type == derived.type and not each.is_gradient]
        return same[-1] if len({each.spot for each in same}) == 1 else None
