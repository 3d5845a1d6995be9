"""What something changeable holds: changes that can be made again, and taken back."""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nbfn.notebook.cells.contents import change_of, changed, content_of, put_back

T = tf.constant(1.0)


def made_of(*items: Any) -> tf.Module:
    module = tf.Module()
    module.items = list(items)
    return module.items


CASES: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (lambda: [1, 2], lambda it: it.append(T)),
    (lambda: [1, 2], lambda it: it.__setitem__(0, T)),
    (lambda: [1, 2], lambda it: it.insert(0, T)),
    (lambda: made_of(1, T), lambda it: it.append(T)),
    (lambda: made_of(1, T), lambda it: it.insert(0, 2)),
    (lambda: deque([1, 2], maxlen=3), lambda it: it.extend([3, 4])),
    (lambda: deque([1, 2]), lambda it: it.appendleft(3)),
    (lambda: bytearray(b"ab"), lambda it: it.extend(b"c")),
    (lambda: bytearray(b"ab"), lambda it: it.__setitem__(0, 99)),
    (lambda: array("d", [1.0]), lambda it: it.append(2.0)),
    (lambda: {"a": 1, "b": 2}, lambda it: (it.pop("a"), it.update(c=T))),
    (lambda: OrderedDict(a=1, b=2), lambda it: it.move_to_end("a")),
    (lambda: {1, 2}, lambda it: (it.add(3), it.discard(1))),
    (lambda: np.zeros(4), lambda it: it.__setitem__(2, 5.0)),
    (lambda: np.array([1, None], object), lambda it: it.__setitem__(1, T)),
    (lambda: SimpleNamespace(a=1, b=2), lambda it: (it.__dict__.pop("a"), vars(it).update(c=T))),
]


def shown(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return vars(value) if isinstance(value, SimpleNamespace) else (type(value).__name__, str(value))


@pytest.mark.parametrize(("make", "change"), CASES)
def test_a_change_is_told_made_and_taken_back(make: Any, change: Any) -> None:
    value = make()
    before, at_first = content_of(value), shown(value)
    assert changed(value, before) is None
    change(value)
    told, after = changed(value, before), shown(value)
    assert told is not None
    put_back(value, before, told)
    assert shown(value) == at_first
    again = change_of(value, told)
    for _ in range(2):  # an interrupt may come into the first
        again()
        assert shown(value) == after


def test_what_was_put_there_since_stays() -> None:
    value = {"a": 1}
    before = content_of(value)
    value["b"] = 2
    told = changed(value, before)
    assert told is not None
    put_back(value, before, told)
    value["of the user"] = 3
    change_of(value, told)()
    assert value == {"a": 1, "of the user": 3, "b": 2}
