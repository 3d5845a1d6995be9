"""Modules: the Flax Linen lifecycle on ``tf.Module``, public as ``nbfn.nn``."""

from typing import Any as _Any

# Imported before Keras, so that TensorFlow is reported first if both are missing.
import tensorflow as _tensorflow

from nbfn.modules import activations, errors, initializers
from nbfn.modules.activations import *  # noqa: F403
from nbfn.modules.containers.composite import Composite
from nbfn.modules.containers.normalizing import NormalizingActivation
from nbfn.modules.containers.sequential import Sequential
from nbfn.modules.errors import *  # noqa: F403
from nbfn.modules.initializers import ones_init, zeros_init
from nbfn.modules.layers import layers as _layers
from nbfn.modules.layers.dense_general import DenseGeneral
from nbfn.modules.layers.flax_names import advice as _advice
from nbfn.modules.layers.keras_layer import Keras
from nbfn.modules.layers.layers import *  # noqa: F403
from nbfn.modules.layers.recurrent import RNN, GRUCell, LSTMCell
from nbfn.modules.lifecycle.interception import intercept_methods
from nbfn.modules.lifecycle.methods import compact, nowrap
from nbfn.modules.lifecycle.run import apply, init, init_with_output
from nbfn.modules.lifting.arguments import Partial
from nbfn.modules.lifting.axes import broadcast
from nbfn.modules.module.bound import Carried, Snapshot
from nbfn.modules.module.module import Module
from nbfn.modules.module.name_scope import compact_name_scope
from nbfn.modules.module.rows import Row
from nbfn.modules.module.sharing import merge_param, share_scope
from nbfn.modules.specs.spec import Spec
from nbfn.modules.transforms.branching import cond, switch
from nbfn.modules.transforms.custom_vjp import custom_vjp
from nbfn.modules.transforms.differentiation import grad, jvp, value_and_grad, vjp
from nbfn.modules.transforms.fold_rngs import fold_rngs
from nbfn.modules.transforms.jit import jit
from nbfn.modules.transforms.looping import while_loop
from nbfn.modules.transforms.map_variables import map_variables
from nbfn.modules.transforms.remat import checkpoint, remat
from nbfn.modules.transforms.remat_scan import remat_scan
from nbfn.modules.transforms.scan import scan
from nbfn.modules.transforms.vmap import vmap
from nbfn.modules.variables.filters import DenyList
from nbfn.modules.variables.keys import key
from nbfn.modules.variables.scope import Variable

# Each of these packages lists its public names.
__all__ = [
    "RNN",
    "Carried",
    "Composite",
    "DenseGeneral",
    "DenyList",
    "GRUCell",
    "Keras",
    "LSTMCell",
    "Module",
    "NormalizingActivation",
    "Partial",
    "Row",
    "Sequential",
    "Snapshot",
    "Spec",
    "Variable",
    "apply",
    "broadcast",
    "checkpoint",
    "compact",
    "compact_name_scope",
    "cond",
    "custom_vjp",
    "fold_rngs",
    "grad",
    "init",
    "init_with_output",
    "initializers",
    "intercept_methods",
    "jit",
    "jvp",
    "key",
    "map_variables",
    "merge_param",
    "nowrap",
    "ones_init",
    "remat",
    "remat_scan",
    "scan",
    "share_scope",
    "switch",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
    "zeros_init",
]
__all__ += activations.__all__
__all__ += errors.__all__
__all__ += _layers.__all__


def __getattr__(name: str) -> _Any:
    raise AttributeError(f"nbfn.nn has no attribute {name!r}{_advice(name, __all__)}")
