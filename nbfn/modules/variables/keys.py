"""Random keys: stateless key tensors, and named streams of them.

A key is an int32 tensor of shape [2]. A draw from stream ``s`` of the module at ``path`` is
``fold(key of s, path, count)``: it depends on where and how often the module drew, never on draws
of other modules.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from nbfn.modules.errors import RngError
from nbfn.text import shorten


def key(seed: int) -> tf.Tensor:
    """Returns the random key for a seed.

    Args:
      seed: any integer, of which 64 bits are used.

    Returns:
      An int32 tensor of shape [2], for ``tf.random.stateless_*``, ``tf.random.split`` and
      ``tf.random.fold_in``.

    Raises:
      RngError: ``seed`` is not an integer.
    """
    try:
        number = operator.index(seed)
    except TypeError:
        raise RngError(
            f"nn.key needs an integer seed, not {seed!r}. To derive a key from a tensor use "
            "tf.random.fold_in(nn.key(0), tensor)."
        ) from None
    bits = number & (2**64 - 1)
    words = [bits >> 32, bits & (2**32 - 1)]
    # In two's complement: `tf.constant` refuses numbers that int32 does not have.
    return tf.constant([w - 2**32 if w >= 2**31 else w for w in words], tf.int32)


def check_key(value: Any, what: str) -> Any:
    """Returns a key as a tensor (a ``tf.Variable`` stays one).

    Raises:
      RngError: it is not an integer tensor of shape [2].
    """
    found = None
    if not isinstance(value, (bool, int)):
        try:
            # Tensors are not converted: in a trace, a known key must remain known.
            tensor = value if tf.is_tensor(value) else tf.convert_to_tensor(value)
        except (TypeError, ValueError):
            pass
        else:
            if tensor.dtype in (tf.int32, tf.int64) and tensor.shape == [2]:
                return tensor
            found = f"a value of dtype {tensor.dtype.name} and shape {tensor.shape}"
    raise RngError(
        f"{what} is not a random key: expected an int32 tensor of shape [2], "
        f"found {found or shorten(repr(value))}. "
        f"Make one with nn.key({value if isinstance(value, int) else 'seed'})."
    )


def check_rngs(rngs: Any) -> dict[str, Any]:
    """Returns the streams by name, given the argument ``rngs``.

    Args:
      rngs: ``None``, one key (the stream ``"params"``), or a dict from stream names to keys.

    Raises:
      RngError: it is something else.
    """
    if rngs is None:
        return {}
    if not isinstance(rngs, Mapping):
        return {"params": check_key(rngs, "rngs")}
    for name in rngs:
        if not isinstance(name, str):
            raise RngError(f"rngs must name its streams with strings, found the name {name!r}.")
    return {name: check_key(value, f"rngs[{name!r}]") for name, value in rngs.items()}


def fold(stream_key: Any, path: Sequence[str], count: Any) -> tf.Tensor:
    """Returns the key of draw number ``count`` at ``path``.

    Args:
      stream_key: the key of the stream, int32 or int64 of shape [2].
      path: the module's path.
      count: number of draws that the module has made from the stream before; an int, or an int32
        scalar when the count itself lives in a ``tf.Variable``.

    Returns:
      An int32 key of shape [2].
    """
    here = tf.random.fold_in(stream_key, tf.constant(path_number(path), tf.int32))
    return tf.random.fold_in(here, tf.cast(count, tf.int32))


def as_number(key: tf.Tensor) -> int:
    """Returns a known key as a 64-bit number."""
    high, low = (int(word) & 0xFFFFFFFF for word in key.numpy())
    return high << 32 | low


def path_number(path: Sequence[str]) -> int:
    """Returns a stable 31-bit number for a path; ``("ab", "c")`` and ``("a", "bc")`` differ."""
    # Lengths separate the parts, because names may contain any separator.
    text = b"".join(b"%d:%s" % (len(part.encode()), part.encode()) for part in path)
    # Not `hash`, which is salted in each process. Without `usedforsecurity=False`, a Python in FIPS
    # mode would refuse SHA-1.
    return int.from_bytes(hashlib.sha1(text, usedforsecurity=False).digest()[:4], "big") >> 1
