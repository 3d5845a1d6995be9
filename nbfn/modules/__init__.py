"""Modules: the Flax Linen lifecycle on ``tf.Module``, public as ``nbfn.nn``.

Each name is loaded on first use; ``__init__.pyi`` lists them.
"""

from __future__ import annotations

from typing import Any

import lazy_loader

# Imported before Keras, so that TensorFlow is reported first if both are missing.
import tensorflow as _tensorflow

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        value = globals()[name] = _load(name)
        return value
    if name.startswith("__"):
        raise AttributeError(name)
    from nbfn.modules.layers.flax_names import advice

    raise AttributeError(f"nbfn.nn has no attribute {name!r}{advice(name, __all__)}")
