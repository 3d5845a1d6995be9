"""Errors of the module lifecycle: one class per family, each with its Python equivalent.

Every message contains the module's path, what was found, what was expected, and what to do.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from nbfn import text
from nbfn.errors import NbfnError


class LifecycleError(NbfnError):
    """Base class of the errors of modules."""


class UnboundModuleError(LifecycleError, ValueError):
    """Variables, streams or compact methods were used on a module that has no variables yet."""


class UnboundAttributeError(UnboundModuleError, AttributeError):
    """An attribute that only ``setup`` defines was read from an unbound module."""


class UnknownAttributeError(LifecycleError, AttributeError):
    """A module has no attribute or method with that name."""


class FrozenModuleError(LifecycleError, AttributeError):
    """An attribute was set on a module after its construction."""


class SetupFieldError(FrozenModuleError):
    """``setup`` tried to overwrite a construction argument."""


class ReservedFieldError(LifecycleError, TypeError):
    """A class annotates, or ``setup`` sets, a name that every module already has."""


class PostInitError(LifecycleError, TypeError):
    """A class overrides ``__post_init__`` without calling ``super().__post_init__()``."""


class PropertyError(LifecycleError, RuntimeError):
    """A property raised ``AttributeError``, which Python would report as a missing attribute."""


class PlacementError(LifecycleError, ValueError):
    """A submodule or a variable was declared outside ``setup`` and ``nn.compact``."""


class NameInUseError(LifecycleError, ValueError):
    """Two things in one module have the same name."""


class AutoNameError(NameInUseError):
    """An automatic name was reused by a module of another type or configuration."""


class VariablesTypeError(LifecycleError, TypeError):
    """The variables are not a dict of collections with string keys."""


class VariablesStructureError(LifecycleError, ValueError):
    """The variables have the right types but are nested wrongly."""


class NotFoundError(LifecycleError, LookupError):
    """Base class of the errors for a missing collection, parameter, variable or path."""


class CollectionNotFoundError(NotFoundError):
    """A whole collection is missing and may not be created."""


class ParamNotFoundError(NotFoundError):
    """A parameter is missing and may not be created."""


class VariableNotFoundError(NotFoundError):
    """A variable is missing and may not be created."""


class PathNotFoundError(NotFoundError):
    """``module["a/b"]`` names neither a submodule nor a variable."""


class ParamShapeError(LifecycleError, ValueError):
    """A stored value's shape differs from that of its initializer or variable."""


class ImmutableCollectionError(LifecycleError, ValueError):
    """A variable of an immutable collection was written."""


class AssignmentError(LifecycleError, ValueError):
    """A value does not fit the ``tf.Variable`` that it should be assigned to."""


class SetupReadError(LifecycleError, ValueError):
    """``setup`` of a bound module read a parameter, so that it would keep an old value."""


class VariableCreationError(LifecycleError, ValueError):
    """A ``tf.Variable`` would have to be created while a function is being traced."""


class ScopeClosedError(LifecycleError, RuntimeError):
    """A module was used after the ``apply`` or ``init`` that it belongs to had returned."""


class FilterError(LifecycleError, TypeError):
    """A collection filter is not a bool, a name, names or an ``nn.DenyList``."""


class RngError(LifecycleError, ValueError):
    """A key or the ``rngs`` argument is malformed, or a random stream is missing."""


class MethodError(LifecycleError, TypeError):
    """``method=`` cannot be called with a module."""


class InstanceError(LifecycleError, TypeError):
    """A lifecycle method was called on a module class instead of an instance."""


class LazyInitError(LifecycleError, ValueError):
    """``lazy_init`` met an initial value that depends on an input's value."""


class TransformError(LifecycleError, ValueError):
    """A transformation cannot transform its target, or found a module that was not passed to it."""


class PartError(LifecycleError, TypeError):
    """A part of an ``nn.Sequential`` or ``nn.Composite`` cannot be called, or not in this way."""


class ArgumentError(LifecycleError, TypeError):
    """A module was constructed or called with an argument that it does not have."""


class EmptySequentialError(PartError, ValueError):
    """An ``nn.Sequential`` without layers was called."""


class DataFormatError(LifecycleError, ValueError):
    """``data_format`` is neither one of TensorFlow's constants nor one of Keras's."""


class SpecError(NbfnError, ValueError):
    """The fields of an ``nn.Spec`` do not match its class, or JSON cannot represent them."""


class SpecFieldError(SpecError, TypeError):
    """A field of an ``nn.Spec`` is unknown or missing."""


class SpecDefinitionError(SpecError, TypeError):
    """The definition of a class derived from ``nn.Spec`` is invalid."""


class FrozenSpecError(SpecError, AttributeError):
    """A field of an ``nn.Spec`` was set after its construction."""


def show_path(path: Sequence[str]) -> str:
    """Formats a module path: ``/ (the root module)`` or ``/hidden/Dense_0``."""
    return "/" + ("/".join(path) or " (the root module)")


def show_names(names: Iterable[str]) -> str:
    """Formats names for a message as a quoted, sorted list, or ``none``."""
    return ", ".join(repr(name) for name in sorted(names)) or "none"


did_you_mean = functools.partial(text.did_you_mean, form="{!r}", start=" Did")
"""Returns a sentence that suggests the most similar name, or an empty text."""
