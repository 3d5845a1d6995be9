"""Modules as templates: dataclasses by subclassing, frozen after construction.

Constructing a module creates no variables. This module contains instances and their attributes;
``members`` contains what a module can do inside its methods, ``module`` its lifecycle.
"""

from __future__ import annotations

import dataclasses
import dis
import inspect
import sys
import weakref
from collections.abc import Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any, dataclass_transform

import tensorflow as tf

from nbfn.modules.errors import (
    FrozenModuleError,
    PlacementError,
    ReservedFieldError,
    SetupFieldError,
    UnboundAttributeError,
    UnboundModuleError,
    UnknownAttributeError,
    did_you_mean,
)
from nbfn.modules.lifecycle import method_stack
from nbfn.modules.lifecycle.binding import InternalState, adopt, claim, hold_all, is_stored
from nbfn.modules.lifecycle.fields import holds_modules, init_fields, make_dataclass, map_modules
from nbfn.modules.lifecycle.methods import reraise_hidden, wrap_class
from nbfn.modules.lifecycle.naming import configuration
from nbfn.modules.lifecycle.reuse import known_child, may_be_reused
from nbfn.modules.lifecycle.setup import inspect_hook, prepare
from nbfn.modules.specs.config import ConfigOf
from nbfn.modules.variables.tree import leaves

# Attributes that notebooks and TensorFlow read of any object; reading must have no effect.
_PROBES = (
    *("__", "_self_", "_repr_", "_ipython_", "_tf_", "_keras_", "_serialize_", "_gather_"),
    "autograph_info__",
)


class _Implicit:
    """The default of ``parent``: the module whose method is running."""

    def __repr__(self) -> str:
        return "<implicit>"

    def __reduce__(self) -> str:
        return "_IMPLICIT"  # copies are the same object


_IMPLICIT = _Implicit()


class _Parent:
    """The attribute ``parent``, held weakly, so that a module is freed when it is dropped."""

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        if module is None:
            return None
        parent = module.__dict__.get("_parent")
        return parent() if isinstance(parent, weakref.ref) else parent

    def __set__(self, module: Any, value: Any) -> None:
        keep = value is None or isinstance(value, _Implicit)
        module.__dict__["_parent"] = value if keep else weakref.ref(value)


class Absent:
    """Placeholder for a variable while ``setup`` of an unbound module is inspected."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __getattr__(self, name: str) -> Any:
        raise UnboundModuleError(
            f"{self._label} has no value (not even .{name}) while setup runs for an unbound "
            "module, to find its submodules. Use the value in a method, or bind the module."
        )

    def __repr__(self) -> str:
        return f"Absent({self._label})"


class _Name:
    """The attribute ``name``; records reads, since a trace may depend on the name."""

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        if module is None:
            return None
        scope = module._internal.scope
        if scope is not None:
            scope.store.note_place()
        return module.__dict__["name"]

    def __set__(self, module: Any, value: Any) -> None:
        module.__dict__["name"] = value


@dataclass_transform(field_specifiers=(dataclasses.field,))
class Template(tf.Module):
    """A dataclass based on ``tf.Module`` whose instances hold arguments and no variables."""

    parent: Any = dataclasses.field(default=_IMPLICIT, kw_only=True, repr=False)
    name: str | None = dataclasses.field(default=None, kw_only=True)

    Config = ConfigOf()
    preserve_adopted_names = False  # whether modules in fields keep their own name=
    __field_names__ = tuple[str, ...]()  # not annotated, as that would make it a field
    __hooks__ = tuple[str, ...]()
    __iter__ = None  # otherwise Python would iterate by __getitem__, which takes paths
    _state = _rngs = _children = _held = None  # what TensorFlow tracks of a bound module
    if TYPE_CHECKING:  # at run time the annotation would make it a field
        _internal: InternalState

    def __init_subclass__(cls, kw_only: bool = False, library: bool = False, **kwargs: Any) -> None:
        """Turns the subclass into a dataclass and wraps its methods.

        Args:
          kw_only: whether the fields of this class (not of its subclasses) are keyword-only.
          library: whether the class is a base class of nbfn, which is not changed.
          **kwargs: for other base classes.

        Raises:
          ReservedFieldError: a field has a name that every module already has.
        """
        super().__init_subclass__(**kwargs)
        if library:
            cls.__library__ = True
            return
        for name in inspect.get_annotations(cls):
            if name in _reserved_names(cls):
                raise ReservedFieldError(
                    f"{cls.__name__} annotates {name!r}, which every module already has. "
                    "Choose another name for the field."
                )
        make_dataclass(cls, kw_only)
        wrap_class(cls)
        hooks = ("declare", "setup")
        cls.__hooks__ = tuple(n for n in hooks if getattr(cls, n) is not getattr(Template, n))

    def __new__(cls, /, *args: Any, **kwargs: Any) -> Any:
        """Returns the child of an earlier call, or a new instance with its private state."""
        reusable = may_be_reused(kwargs)
        child = known_child(cls, args, kwargs) if reusable else None
        if child is not None:
            return child
        self = _blank(cls)
        if reusable:
            self._internal.arguments = (args, kwargs)
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles as usual, but a copy is never a child of an earlier call."""
        _, (cls, *_), *state = super().__reduce_ex__(protocol)  # type: ignore[misc]
        return (_blank, (cls,), *state)

    def __post_init__(self) -> None:
        """Finds the parent, takes a name, and freezes the module.

        A subclass that overrides this may set attributes, and must call
        ``super().__post_init__()`` last.
        """
        parent = self.parent
        if isinstance(parent, _Implicit):
            parent = method_stack.current_module()
        if parent is not None and parent._internal.scope is None:
            parent = None  # methods of unbound modules construct top-level modules
        self.parent = parent
        self._internal.built = True
        if parent is None:
            return
        table = method_stack.table_of(parent)
        if table is None:
            raise PlacementError(
                f"{type(self).__name__} was constructed in a method of "
                f"{parent._internal.scope.label(parent)} that is "
                "neither setup nor decorated with @nn.compact. Construct it in one of these, or "
                "pass parent=None for a module of its own."
            )
        if table.kind == "compact":
            name = self.name or table.names.auto(type(self))
            claim(parent, name, self, auto=self.name is None)
        elif self.name is not None:
            claim(parent, self.name, self)
        else:
            self._internal.owned = True  # it is named and attached when setup assigns it

    def setup(self) -> None:
        """Declares submodules and variables by assigning them to attributes.

        Runs once for each bound instance when it is first used: when a method is called or an
        unknown attribute is read. Parameters may be declared here (``self.w = self.param(...)``)
        but not computed with, because a bound module would keep an outdated result.

        Implements: Flax Module lifecycle, section "Setup".
        """

    def declare(self) -> None:
        """Declares submodules that need no variables, so that they exist before binding.

        Like ``setup``, but it may not declare variables, and it also runs when an attribute of an
        *unbound* module is read: then ``auto_encoder.decoder`` is an unbound module that can be
        inspected and applied. ``setup`` keeps its meaning and runs afterwards.

        Implements: Flax Module lifecycle, section "Setup for unbound Modules", second solution.
        """

    def _name_of_part(self, name: str) -> str:
        """Returns the name of a submodule in a field, given the name of its place."""
        return name

    @classmethod
    def _argument_hints(cls, _names: Iterable[str]) -> str:
        """Returns hints, as sentences, for arguments that the class does not have."""
        return ""

    def _kind(self) -> str:
        """Returns the default name of the module's kind."""
        return type(self).__name__

    # -- attributes ----------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute during construction and in ``setup``; refuses otherwise.

        Raises:
          FrozenModuleError: the module is frozen.
          SetupFieldError: ``setup`` sets a construction argument.
          ReservedFieldError: ``setup`` sets a name that every module already has.
        """
        internal = self._internal
        if not internal.built or (name[0] == "_" and _is_record(name)):
            object.__setattr__(self, name, value)
            return
        table = method_stack.table_of(self)
        label = f"{type(self).__name__}.{name}"
        if table is None or table.kind == "compact":
            raise FrozenModuleError(
                f"{label} cannot be set: a module is frozen after construction. Use "
                f"module.clone({name}=...) for other arguments, setup for attributes, and "
                "self.variable(...) for state."
            )
        if name in self.__field_names__ or name == "name":
            raise SetupFieldError(
                f"{label} is a construction argument, so {table.kind} may not overwrite it. "
                "Assign to another attribute."
            )
        owner = next((base for base in type(self).__mro__ if name in vars(base)), None)
        if owner is not None and _is_library(owner) and name[0] != "_":
            raise ReservedFieldError(
                f"{table.kind} sets {label}, but every module has {name!r} already. Choose another "
                "name for the attribute."
            )
        if internal.scope is None:
            object.__setattr__(self, name, value)
        elif holds_modules(value):
            attached = map_modules(lambda m, n: adopt(self, m, n), value, name)
            object.__setattr__(self, name, attached)
        elif internal.scope.store.bound and not is_stored(value, internal.scope):
            super().__setattr__(name, value)  # makes TensorFlow track tables, assets and others
            if internal.scope.path:
                hold_all(self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        """Refuses, except for private attributes of tools.

        Raises:
          FrozenModuleError: always, for other attributes.
        """
        if not name.startswith(("__", "_self_")):
            raise FrozenModuleError(
                f"{type(self).__name__}.{name} cannot be deleted: a module is frozen."
            )
        super().__delattr__(name)

    def __getattr__(self, name: str) -> Any:
        """Runs ``setup`` when an unknown attribute is read.

        For an unbound module, it runs on a private copy without variables, so that
        ``auto_encoder.decoder`` is always the same unbound module. It only runs for code of the
        form ``module.name``: ``hasattr``, ``getattr``, copying, pickling and completion read
        arbitrary names and see only existing attributes.

        Raises:
          UnboundAttributeError: the module is unbound, and there is no such attribute, or it needs
            variables.
          UnknownAttributeError: there is no such attribute.

        Implements: Flax Module lifecycle, section "Setup for unbound Modules".
        """
        internal = self.__dict__.get("_internal")
        label = type(self).__name__
        if internal is None or name.startswith(_PROBES):
            raise AttributeError(f"{label!r} object has no attribute {name!r}")
        hidden = inspect.getattr_static(type(self), name, None)
        if hasattr(type(hidden), "__get__"):
            # The attribute exists, but its descriptor raised an AttributeError.
            reraise_hidden(hidden, self, name)
        if internal.scope is None:
            return self._of_unbound(name, sys._getframe(1))
        if not internal.ready and not internal.preparing:
            prepare(self)
            if name in self.__dict__:
                return self.__dict__[name]
        names = [n for n in self.__dict__ if not n.startswith("_")]
        where, hint = internal.scope.label(self), did_you_mean(name, names)
        raise UnknownAttributeError(f"{where} has no attribute {name!r}.{hint}")

    def _of_unbound(self, name: str, frame: FrameType) -> Any:
        """Returns an attribute that ``declare`` or ``setup`` gives a module without variables.

        Args:
          name: the attribute.
          frame: the frame that reads it.
        """
        internal, label, cause = self._internal, type(self).__name__, None
        members: dict[str, Any] = {}
        # In the setup of another module, it is bound with its submodules when it is assigned.
        is_alone = method_stack.current_module() is None
        if self.__hooks__ and internal.built and not internal.preparing:
            if "declare" in self.__hooks__:
                members = inspect_hook(self, "declare")
            if name not in members and is_alone and _is_written(frame):
                try:
                    members = inspect_hook(self, "setup")
                except Exception as error:  # `setup` is user code and may need a bound module
                    cause = error
        if name in members and not any(isinstance(v, Absent) for _, v in leaves(members[name])):
            return members[name]
        # AutoGraph's prefix of converted functions (TensorFlow 2.21).
        method = frame.f_code.co_name.removeprefix("tf__")
        if method_stack.current_module() is self and hasattr(type(self), method):
            raise UnboundAttributeError(
                f"{label} is unbound, and its method {method!r} reads {name!r}, which needs "
                f"variables. {_with_variables(method)}"
            )
        raise UnboundAttributeError(
            f"{label} has no attribute {name!r} while it is unbound: it has its fields, and the "
            "submodules of setup; variables, and what is computed with them, exist inside init and "
            f"apply, and after bind.{did_you_mean(name, (*self.__field_names__, *members))}"
        ) from cause

    def __dir__(self) -> list[str]:
        """Returns the attributes, including those of ``setup`` if the module is bound."""
        if self._internal.scope is not None:
            prepare(self)
        return sorted(set(super().__dir__()))

    # -- identity ------------------------------------------------------------------------------

    def _has_identity(self) -> bool:
        """Returns whether this instance is more than its arguments: bound, or with a parent."""
        return self._internal.scope is not None or self.parent is not None

    def __eq__(self, other: object) -> bool:
        """Compares unbound modules by arguments; a bound module equals only itself.

        ``tf.function`` keys its traces by equality: two bound modules with equal arguments must not
        share a trace, because each has its own variables.
        """
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Template)
        if self._has_identity() or other._has_identity():
            return False
        return configuration(self) == configuration(other)

    def __hash__(self) -> int:
        return id(self) if self._has_identity() else hash(configuration(self))

    def __repr__(self) -> str:
        """Formats the constructor call, and known submodules of a bound module; runs no setup."""
        defaults = {name: field.default for name, field in self.__dataclass_fields__.items()}
        shown = [f"{n}={v!r}" for n, v in init_fields(self).items() if v is not defaults[n]]
        if self.name is not None and self._internal.scope is None and self.parent is None:
            shown.append(f"name={self.name!r}")
        text = f"{type(self).__name__}({', '.join(shown)})"
        children = self._internal.children if self._internal.scope is not None else {}
        lines = [f"{name}: {child!r}" for name, child in children.items()]
        return "\n".join([text, *("  " + part for line in lines for part in line.splitlines())])


def _reserved_names(cls: type) -> set[str]:
    public = (n for base in cls.__mro__ if _is_library(base) for n in vars(base) if n[0] != "_")
    return {*public, "parent", "name"} - {"setup", "declare"}


def _blank(cls: type) -> Any:
    """Returns an instance of a module class before its construction."""
    self = tf.Module.__new__(cls)
    self.__dict__["_internal"] = InternalState()
    return self


def _is_record(name: str) -> bool:
    """Returns whether an attribute belongs to tools such as autoreload, or to TensorFlow."""
    is_property = isinstance(getattr(tf.Module, name, None), property)
    return name.startswith(("__", "_self_")) or is_property


def _is_written(frame: FrameType) -> bool:
    """Returns whether a frame is executing an expression ``object.name``."""
    # `hasattr`, `getattr` and tools that probe an object must not run the user's `setup`. `co_code`
    # shows the original opcode where CPython runs a specialised one (3.11).
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] in ("LOAD_ATTR", "LOAD_METHOD")


def _with_variables(method: str) -> str:
    """Describes how to call a method of an unbound module."""
    if method == "__call__":
        return "Call module.apply(variables, ...), or module.bind(variables)(...)."
    return (
        f'Call module.apply(variables, ..., method="{method}"), or '
        f"module.bind(variables).{method}(...)."
    )


def _is_library(base: type) -> bool:
    return base is tf.Module or base is Template or "__library__" in vars(base)


make_dataclass(Template)
Template.parent = _Parent()
Template.name = _Name()  # type: ignore[assignment]
