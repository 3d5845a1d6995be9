"""What code shows and formats: values that it names count, the text of objects does not."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import nbfn

THREE = tf.constant(3.0)

STATE = """
from dataclasses import dataclass, field

@dataclass
class State:
    lr: float = 2.0
    step: int = 0

class Layer:
    def __init__(self): self.k, self.calls, self.name = 2.0, 0, "a"
    def __repr__(self): return f"Layer({self.calls})"

s, layers = State(), [Layer(), Layer()]
"""


@pytest.mark.parametrize(
    "body",
    [
        "print('tracing with', x, s)",
        "f'{layers[0]}', str(layers[0]), '%s' % layers[0]",
        "print(f'tracing with {s}')",
        "y = x * 2.0; print(f'{y} of {x.shape}')",
        "with tf.name_scope(f'a_{x.shape.rank}'): pass",
        "for i in range(2):\n        with tf.name_scope(f'layer_{i}'): x = x * layers[i].k",
        "for i in range(2):\n        with tf.name_scope('layer_%d' % i): x = x * layers[i].k",
        "for i, _ in enumerate(layers): f'{i}'",
        "for layer in layers: f'{layer.name} {layer.k:.3f}'",
        "['{}'.format(i) for i in range(2)]",
        "[f'{each.name}' for each in layers]",
        "k = [f'{i}{j}' for i in range(2) for j in range(2)]",
        "assert x.shape.rank == 0, f'{s} with {x}'",
        "if x.shape.rank: raise ValueError(f'{s} with {x}')",
        "isinstance(x, str), isinstance(x, (str, bytes))",
        "f'{s.lr} {len(layers)} {tf.rank(x)}'",
        "import time; f'{time.time()}'",
        "k = s.lr; str(k)",
        "n = 3 % 2; (x.shape.rank + 1) % n",
    ],
)
def test_what_is_no_part_of_a_text_makes_no_trace(body: str) -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf}
    exec(f"{STATE}\ndef f(x):\n    {body}\n    return x * s.lr", space)
    f = nbfn.function(space["f"], autograph=False)
    for _ in range(3):
        f(THREE)
        space["s"].step += 1
        space["layers"][0].calls += 1
    assert len(f.traces) == 1
    space["s"].lr = 3.0
    f(THREE)
    assert len(f.traces) == 2
