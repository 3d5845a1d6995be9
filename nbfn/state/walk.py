"""Walks from a function to the sources that its traces depend on.

The walk visits what the code names, directly and in user helpers and objects. Code of libraries is
not followed, but what its methods read of their own objects counts, and the settings of modules and
of Keras objects. No user code runs: attributes are read from dictionaries and slots, never by
attribute access.
"""

from __future__ import annotations

import builtins
import functools
import importlib.util
import itertools
import logging
import sys
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from types import (
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import is_user_module, names_in_code, package_of
from nbfn.serial import serial
from nbfn.state.bytecode import special_methods
from nbfn.state.bytecode.dynamic_attributes import ANY
from nbfn.state.bytecode.graph_time import NOTHING, GraphTime
from nbfn.state.bytecode.read_parts import Part
from nbfn.state.bytecode.reads import Named, reads
from nbfn.state.columns import (
    AnyCheck,
    BuiltinsCheck,
    CodeCheck,
    IdentityCheck,
    NamesCheck,
    in_columns,
)
from nbfn.state.container_checks import container_check, has_content
from nbfn.state.state import OF_CLASS, Source, State
from nbfn.state.values.classes import fingerprint_of_class
from nbfn.state.values.fingerprints import (
    ABSENT,
    MAX_PARTS,
    UNDEFINED,
    Fingerprint,
    content_of,
    fingerprint,
    is_a,
    is_content,
    is_immutable,
    items_of,
)
from nbfn.state.values.introspection import (
    Fetch,
    closed_over,
    member,
    own_attributes,
    part_fetched,
    part_of,
    parts_of,
    reference_to,
    without_descriptor,
)
from nbfn.state.values.random_numbers import is_drawn_from
from nbfn.state.values.reached_variables import variables_of
from nbfn.state.values.referents import HOLDERS, WRAPPED, given_to, names_in, referents
from nbfn.state.values.settings import (
    Settings,
    SettingsCheck,
    config_checks,
    hooks,
    internal_names,
    part_name,
    setting_names,
    settings_hold,
    shown_parts,
)
from nbfn.state.values.storage import (
    MAX_ITEMS,
    attributes_of_methods,
    is_data,
    library_bases,
    read_by_methods,
)
from nbfn.state.values.unwrapping import (
    fingerprint_of_functions,
    is_decorator_object,
    unwrapped,
)

# `tf.summary` writes with the caller's writer, which `functions/traces/context.py` then reads.
_NAMED_ANYWAY = frozenset({"summary"})
_OF_MODULES = frozenset(
    {"variables", "trainable_variables", "non_trainable_variables", "submodules"}
)
"""Properties of ``tf.Module`` that collect from all attributes."""
_OF_TRAINABLE = frozenset({"trainable", "trainable_variables", "non_trainable_variables"})
"""Names whose values depend on ``trainable`` of variables."""
# Methods of C classes, such as `wrapt.ObjectProxy` below TensorFlow's tracked dicts; they have no
# weak references, and keep no object of the user's alive.
_OF_C = (GetSetDescriptorType, MethodDescriptorType, WrapperDescriptorType)
# Bounds of one walk, so that its time has a bound. What is beyond them is not guarded (see
# tests/state/test_walk.py).
_MAX_OBJECTS = MAX_PARTS
_MAX_ITEMS = 50 * MAX_PARTS
_MAX_FUNCTIONS = 500
_MAX_STORES = 100
_MAX_OTHERS = 200
_MAX_ROUNDS = 100


class Walk:
    """One walk, for a given set of attribute names.

    Values that the code reads are visited: they get a fingerprint, and a check at each call.
    Objects on the way are only followed.
    """

    def __init__(
        self,
        attributes: frozenset[Named],
        graph_time: GraphTime,
        classes: frozenset[str] | None = None,
    ) -> None:
        self._graph_time = graph_time
        self._classes = classes
        self.state = State(attributes=attributes)
        self.named: frozenset[Named] = frozenset()
        self._checks: list[AnyCheck] = []
        self._settings: list[SettingsCheck] = []
        self._parts: dict[str, set[Part]] = defaultdict(set)
        for name in attributes:
            # A part only counts if no code reads the whole attribute.
            if not isinstance(name, str) and name[0] not in attributes:
                self._parts[name[0]].add(name[1])
        names = {name if isinstance(name, str) else name[0] for name in attributes}
        # Python looks special methods up in the class only, so they are in `_specials`. Sorted, so
        # that the sources, and with them the messages, have the same order in each process.
        self._wanted = sorted(name for name in names if not name.startswith("__"))
        self._specials = special_methods.ALWAYS | (attributes & special_methods.IF_USED)
        self._read_in: dict[str, set[str]] = defaultdict(set)  # by package, in its methods
        self._seen: set[Any] = set()
        self._places: dict[str, list[Any]] = defaultdict(list)  # classes and modules, by name
        self._searched: set[int] = set()
        self._objects_left, self._items_left = _MAX_OBJECTS, _MAX_ITEMS
        self._functions_left, self._stores_left = _MAX_FUNCTIONS, _MAX_STORES
        self._found: deque[tuple[str, str, Any, Fetch]] = deque()

    @property
    def is_limited(self) -> bool:
        """Returns whether it has left out objects or functions, and so may have missed names."""
        return self._objects_left < 0 or self._functions_left < 0

    def follow(
        self, name: str, route: str, value: Any, fetch: Fetch, *, first: bool = False
    ) -> None:
        """Queues a value, so that `walk` visits what is reached from it."""
        if value is not None and value is not ABSENT and not is_immutable(value):
            add = self._found.appendleft if first else self._found.append
            add((name, route, value, fetch))

    def enter(self, name: str, route: str, value: Any) -> None:
        """Queues a value that no walked code reads by name."""
        # Such as `self` of a dict's method, whose items nothing else fingerprints.
        if is_content(value) and not is_immutable(value):
            self._visit(Source("argument", name, route), self._fetch_of(value), value)
        else:
            self.follow(name, route, value, self._fetch_of(value))

    def walk(self) -> None:
        """Visits what is reached from the queued values, the nearest first."""
        while self._found:
            name, route, value, fetch = self._found.popleft()
            self._follow_referents(name, route, value, fetch)
            self.named |= names_in(value)
            self.state.variables.update(map(serial, variables_of(value)))
            items = items_of(value)
            if items is not None:
                self._follow_items(name, route, value, items, fetch)
            functions = [] if items is not None else list(unwrapped(value))
            if functions:
                self._visit_functions(name, route, functions)
            is_users = bool(functions) and functions[0] is value
            if not is_users and (functions or is_a(value, FunctionType)):
                self._follow_given_to(name, route, value)
            if not any(self._graph_time.runs(each.__code__) for each in functions):
                self._follow_owner(name, route, value)
            if not functions or is_decorator_object(value):
                self._visit_attributes(name, route, value, fetch)
                self._visit_settings(name, route, value)
            elif not is_a(value, FunctionType):
                self._visit_attributes_of_wrapper(name, route, value, fetch)

    def finish(self) -> State:
        """Returns the state, with its checks."""
        # Columns first: they are the cheapest, and most changes show in them.
        settings = [functools.partial(settings_hold, self._settings)] if self._settings else []
        self.state.checks[:0] = [*in_columns(self._checks), *settings]
        return self.state

    def _fetch_of(self, value: Any) -> Fetch:
        """Returns a fetch of a value; the state keeps values alive that have no weak references."""
        reference = reference_to(value)
        self.state.keeps |= reference is None
        return reference or (lambda: value)

    def _unique_name(self, name: str, place: Any) -> str:
        """Returns the name of a class or a namespace, numbered if others have the same name."""
        places = self._places[name]
        number = next((i for i, each in enumerate(places) if each is place), len(places))
        if number == len(places):
            places.append(place)
        return f"{name}#{number}" if number else name

    def _is_new(self, *key: Any) -> bool:
        """Returns whether this key is seen for the first time."""
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    # Values -----------------------------------------------------------------------------

    def _visit_read(
        self, source: Source, fetch: Fetch, value: Any, parts: Collection[Part]
    ) -> None:
        """Visits what code reads of a value: some parts, or all; the rest may change."""
        if not parts or not parts_of(value, parts) or self._graph_time.changes(value):
            self._visit(source, fetch, value)
            return
        for part in sorted(parts, key=str):
            found = functools.partial(part_fetched, fetch, part)
            at = Source(source.kind, part.of(source.name), f"{source.route}{part}")
            if part.kind == "item":
                self._visit(at, found, found())
            else:  # lengths and shapes are new objects each time
                now = self.state.fingerprints[at] = fingerprint(found())
                self._check_content(found, now.content)

    def _visit(self, source: Source, fetch: Fetch, value: Any) -> None:
        """Fingerprints the value at a source, and follows it."""
        state = self.state
        functions: list[FunctionType] = []
        if is_a(value, ModuleType):
            found = Fingerprint(("module", serial(value)), f"module {value.__name__}", "object")
            if not is_user_module(value.__name__):
                state.fingerprints[source] = found
                self._check(fetch, value, found.content)
                return
        elif value is not ABSENT and self._graph_time.changes(value):
            # Its content changes when the graph runs, so only its identity counts.
            address = id(value)  # the check must not keep the value alive
            found = Fingerprint(("holder", address), f"another {type(value).__name__}")
            state.fingerprints[source] = found
            state.checks.append(lambda: id(fetch()) == address)
            return
        else:
            if value is not ABSENT and not is_content(value) and not is_decorator_object(value):
                functions = list(unwrapped(value))
            if functions:
                found = fingerprint_of_functions(functions, value, self._graph_time)
            elif (
                self._classes is not None and is_a(value, type) and is_user_module(value.__module__)
            ):
                found = fingerprint_of_class(value)
            else:
                found = ABSENT if value is ABSENT else fingerprint(value)
        state.fingerprints[source] = found
        state.opaque |= is_drawn_from(value)
        self._check(fetch, value, content_of(value) if functions else found.content)
        self.follow(source.name, source.route, value, fetch)

    def _check(self, fetch: Fetch, value: Any, content: Any) -> None:
        """Adds the cheapest check that a fetch returns the same value, or the same content."""
        reference = None if is_content(value) else reference_to(value)
        if value is ABSENT or is_immutable(value) or is_a(value, _OF_C):
            # A property of Cython makes a new tuple at each look.
            if fetch() is value:
                self._checks.append(IdentityCheck(fetch, value))
            else:
                self._check_content(fetch, content)
        elif reference is not None:
            self.state.references.append(reference)
            self._checks.append(IdentityCheck(fetch, value, is_weak=True))
        elif (check := container_check(value, fetch, content)) is not None:
            self.state.checks.append(check)
        else:
            self._check_content(fetch, content)

    def _check_content(self, fetch: Fetch, content: Any) -> None:
        self.state.checks.append(functools.partial(has_content, fetch, content))

    def _follow_referents(self, name: str, route: str, value: Any, fetch: Fetch) -> None:
        found = list(referents(value, fetch))
        if found and self._is_new("referents", id(value)):
            for text, referent in found:
                # Messages name what a wrapper calls as if it were called directly.
                named = (name + text.removeprefix(WRAPPED)).strip(". ") or "function"
                at = Source("attribute", named, route + text)
                self._visit(at, referent, referent())

    def _follow_owner(self, name: str, route: str, value: Any) -> None:
        """Follows the object whose method a value is."""
        owner = value.__self__ if is_a(value, MethodType) else None
        if is_a(value, _tensorflow.Function):
            owner = _tensorflow.method_owner(value)
        if owner is not None:
            above, _, last = name.rpartition(".")
            named = above if last == getattr(value, "__name__", None) else "self"
            self.enter(named, f"{route}.__self__", owner)

    def _follow_items(
        self, name: str, route: str, value: Any, items: Iterable[Any], fetch: Fetch
    ) -> None:
        """Follows the items of a container; its own fingerprint covers its content."""
        if not self._is_new("items", id(value)):
            return
        is_dict, is_set = is_a(_tensorflow.unwrap(value), dict), is_a(value, (set, frozenset))
        key: Any = None
        most = max(0, min(self._items_left, MAX_PARTS))
        for i, item in enumerate(itertools.islice(items, most)):
            self._items_left -= 1
            # Keys and values alternate: see `items_of`.
            if is_dict and not i % 2:
                key = item
            if not is_immutable(item):
                is_looked_up = is_set or (is_dict and not i % 2)
                if is_looked_up and is_user_module(type(item).__module__):
                    self.named |= special_methods.EQUALITY  # a look-up compares keys
                at = key if is_dict else i
                is_plain = type(at) in (int, str)
                path = f"[{at!r}]" if is_plain else "[…]"
                found = reference_to(item)
                if found is not None and not is_content(item):
                    self.state.contained.append(found)
                if found is None and is_plain and type(value) in (dict, list, tuple):
                    found = functools.partial(part_fetched, fetch, Part("item", at))
                at = Source("code", name + path, f"{route}[{i}]")
                if is_a(item, FunctionType) and (functions := list(unwrapped(item))):
                    # Its code may be replaced; the content of the container has the object.
                    code = fingerprint_of_functions(functions, item, self._graph_time)
                    self.state.fingerprints[at] = code
                self.follow(at.name, at.route, item, found or self._fetch_of(item))

    # Code -------------------------------------------------------------------------------

    def _visit_functions(self, name: str, route: str, functions: list[FunctionType]) -> None:
        """Visits what a user function leads to, and what is bound to its arguments."""
        # Checked even if the function runs at graph time: new code makes a new graph.
        for each in functions:
            self._check_code(name, route, each)
        if any(self._graph_time.runs(each.__code__) for each in functions):
            return
        for i, each in enumerate(functions):
            if self._is_new("code", id(each)):
                self._functions_left -= 1
                self.state.opaque |= self._functions_left < 0
                if self._functions_left >= 0:
                    self._visit_names(each, f"{route}/{i}")
            self._visit_own_attributes(
                name, f"{route}/{i}", weakref.ref(each), vars(each), self._wanted
            )

    def _check_code(self, name: str, route: str, function: FunctionType) -> None:
        """Adds checks of the code and the defaults, which are in the function's fingerprint."""
        reference, code = weakref.ref(function), function.__code__
        defaults: Any = function.__defaults__
        for part in ("__defaults__", "__kwdefaults__"):
            fetch = functools.partial(part_of, reference, part)
            value = fetch()
            if value is None or is_immutable(value):
                continue
            if value is defaults:  # compared by content: the state must not keep them alive
                defaults = ABSENT
            if not self._graph_time.runs(code):
                self._check(fetch, value, content_of(value))
                self.follow(name, f"{route}.{part}", value, fetch)
        absent = frozenset((*self._wanted, "__wrapped__")) - vars(function).keys()
        self._checks.append(CodeCheck(reference, code, defaults, absent))

    def _visit_names(self, function: FunctionType, route: str) -> None:
        """Visits the globals, modules and closure variables that a user function reads."""
        read = reads(function.__code__, self._graph_time, *_loggers_and_libraries(function))
        self.named |= read.attributes | (read.of_libraries & _NAMED_ANYWAY)
        self.state.opaque |= bool(read.written)
        self.state.stored |= read.stored
        namespace = function.__globals__
        values = map(namespace.get, read.globals)
        if "keras" in self.named or "keras" in read.of_libraries or any(map(_is_keras, values)):
            self._visit_config()
        module = self._unique_name(namespace.get("__name__", ""), namespace)
        hidden: set[str] = set()
        for name in sorted(read.globals):
            if name not in namespace and hasattr(builtins, name):
                hidden.add(name)
                continue
            fetch = functools.partial(namespace.get, name, ABSENT)
            source = Source("global", name, f"{module}:{name}")
            if name in namespace:
                self._visit_read(source, fetch, namespace[name], read.parts.get(name, ()))
            else:
                self.state.fingerprints[source] = UNDEFINED
                self._checks.append(IdentityCheck(fetch, ABSENT))
        if hidden:
            self._checks.append(BuiltinsCheck(namespace, frozenset(hidden)))
        for name in sorted(read.modules):
            if name.startswith("."):
                name = _absolute_name(name, namespace.get("__package__"))
            fetch = functools.partial(sys.modules.get, name, ABSENT)
            self._visit(Source("module", name, f"import {name}"), fetch, fetch())
        for i, name in enumerate(function.__code__.co_freevars):
            fetch = functools.partial(closed_over, weakref.ref(function), i)
            # `super()` without arguments reads the cell `__class__`, which no instruction loads
            # (Python 3.11).
            if name in read.used or name == "__class__":
                source = Source("closure", name, f"{route}<{name}>")
                self._visit_read(source, fetch, fetch(), read.parts.get(name, ()))

    # Keras ------------------------------------------------------------------------------

    def _visit_settings(self, name: str, route: str, value: Any) -> None:
        """Visits the settings of a module or a Keras object, and follows its parts."""
        names = setting_names(type(value))
        if not names or self._objects_left < 0 or not self._is_new("settings", id(value)):
            return
        self._objects_left -= 1
        self._visit_config()
        settings = Settings(value, (*names, *internal_names(self._wanted)))
        fingerprints, here = self.state.fingerprints, Source("setting", name, route)
        for each, plain in settings.plain.items():
            fingerprints[self._source_of_setting(here, value, each)] = fingerprint(plain)
        for each, parts in settings.parts.items():
            is_list = isinstance(vars(value)[each], list)
            if is_list:
                # Messages count the layers as `model.layers` does, which may omit the input layer.
                text = f"{len(shown_parts(value, each))} {each.lstrip('_')}"
                fingerprints[self._source_of_setting(here, value, each)] = Fingerprint(
                    content_of(parts), text
                )
            for i, part in enumerate(parts):
                path = part_name(value, each, part, i)
                at = Source("setting", name + path, route + path)
                if not is_list:
                    fingerprints[at] = fingerprint(part)
                self.follow(at.name, at.route, part, self._fetch_of(part))
        reference = weakref.ref(value)
        for each, other in settings.others.items():
            found = functools.partial(member, reference, each)
            self._visit(self._source_of_setting(here, value, each), found, other)
        self._settings.append(settings.check(value))

    def _source_of_setting(self, at: Source, owner: Any, attribute: str) -> Source:
        public = attribute.lstrip("_")
        is_public = public == attribute or hasattr(type(owner), public)
        kind = "setting" if is_public else "internal"
        return Source(kind, f"{at.name}.{public}", f"{at.route}.{public}")

    def _visit_config(self) -> None:
        """Visits Keras's global settings."""
        if self._is_new("config", 0):
            for name, fetch in config_checks():
                self._visit(Source("setting", name, name), fetch, fetch())

    # Objects, classes and modules ---------------------------------------------------------

    def _visit_attributes(self, name: str, route: str, value: Any, fetch: Fetch) -> None:
        """Visits the named attributes of an object, or of a user class or module.

        Of a library's object these are the ones that it has now: methods such as ``fit`` set them.
        """
        if ("object", id(value)) in self._seen:
            return
        is_class, is_module = is_a(value, type), is_a(value, ModuleType)
        classes: tuple[type, ...] = () if is_module else type(value).__mro__
        if is_class:
            classes = (*value.__mro__, *classes)
        users = [cls for cls in classes if is_user_module(cls.__module__)]
        is_module_object = is_a(value, tf.Module) or bool(setting_names(type(value)))
        holds = is_a(value, HOLDERS) or is_module_object
        own = {} if is_class else own_attributes(value)
        of_library = not (users or is_module or holds)
        if of_library and own:
            self._follow_given_to(name, route, value)
        stored = {} if is_module_object or not own else self._stored_in(type(value), own)
        if is_a(value, tf.Variable) and not _OF_TRAINABLE.isdisjoint(self._wanted):
            # Libraries such as GPflow freeze a variable by this private attribute.
            found = functools.partial(member, reference_to(value) or fetch, "_trainable")
            source = Source("attribute", f"{name}.trainable", f"{route}._trainable")
            self._visit(source, found, own.get("_trainable", ABSENT))
        if of_library and not stored and own.keys().isdisjoint(self._wanted):
            return
        self.state.opaque |= self.is_limited
        if self.is_limited:
            return
        self._seen.add(("object", id(value)))
        self._objects_left -= 1
        self._stores_left -= bool(stored)
        holder = reference_to(value) or fetch
        for attribute, without in stored.items():
            found, held = functools.partial(member, holder, attribute), own[attribute]
            self._check(found, held, content_of(held))
            # The attribute is the library's: messages name the object, or an item as users read it.
            self._visit_stored(
                Source("content of", name, f"{route}.{attribute}"), held, found, without
            )
        if of_library:
            self._visit_own_attributes(name, route, holder, own, self._wanted)
            return
        collects = not _OF_MODULES.isdisjoint(self._wanted) and is_a(value, tf.Module)
        every = _parts_of_module(value, own) if collects else ()
        others = [each for each in self._others(own, classes) if each not in stored]
        read = [*self._wanted, *others, *every, *(["__getattr__"] if is_module else [])]
        self._visit_own_attributes(name, route, holder, own, read)
        if not is_class:  # a new attribute may hide one of the class
            kind = weakref.ref(type(value)) if users else None
            self._check_no_other(holder, own, self._wanted, kind, is_all=collects)
        specials = self._specials
        if is_class:  # the code may create and enter instances
            making = special_methods.CONSTRUCTION | special_methods.CONTEXTS
            specials = making if name in (self._classes or ()) else specials | making
        for cls in users:
            held = vars(cls)
            wanted = {*self._wanted, *specials, *self._others(held, classes)}
            if not is_class:
                wanted |= hooks(type(value))
            if self._is_new("class", id(cls), id(type(value))):
                self._check_no_other(weakref.ref(cls), held, wanted)
            # What a cached property depends on matters again when its value is deleted.
            hidden = {n for n in own if not is_a(held.get(n), functools.cached_property)}
            for attribute in sorted(held.keys() & wanted - hidden):
                self._visit_class_attribute(cls, attribute)

    def _stored_in(self, cls: type, own: Mapping[str, Any]) -> dict[str, frozenset[str]]:
        """Returns the attributes of a library's object that its methods read for the code.

        With each are the keys in it that do not count: a widget has all its traits in one dict.
        """
        bases = library_bases(cls)
        if not bases or not self._stores_left:
            return {}
        package = package_of(bases[0].__module__)
        # Cells are not stale because another one has drawn on a figure, or has added a column.
        if self._classes is not None and package not in sys.stdlib_module_names:
            return {}
        indirect = self._read_in[package]
        read = read_by_methods(cls, set(self._wanted), indirect)
        indirect |= read.names
        return {
            attribute: read.others
            for attribute, value in own.items()
            if attribute in indirect and attribute not in self._wanted
            if is_data(attribute, value, package)
            if not (is_immutable(value) and attribute in read.assigned)
        }

    def _visit_stored(
        self, at: Source, value: Any, fetch: Fetch, without: frozenset[str] = frozenset()
    ) -> None:
        """Fingerprints a value in a library's object, or the items in it, and follows them."""
        is_divided = type(value) in (dict, list, tuple) and not is_immutable(value)
        if is_divided and len(value) <= MAX_ITEMS:
            if not self._is_new("stored", id(value)) or self._items_left < 0:
                return
            for key, item in value.items() if type(value) is dict else enumerate(value):
                if key in without:
                    continue
                self._items_left -= 1
                route = f"{at.route}[{key!r}]"
                inner = at._replace(name=f"{at.name}[{key!r}]", route=route)
                if key in self._wanted:  # read as `config.rate`
                    inner = Source("attribute", f"{at.name}.{key}", route)
                found = functools.partial(part_fetched, fetch, Part("item", key))
                self._visit_stored(inner, item, found)
            return
        self.state.fingerprints[at] = fingerprint(value)
        # What the code names comes first: a configuration may have more objects than a walk visits.
        is_named = at.name.rpartition(".")[2] in self._wanted
        self.follow(at.name, at.route, value, reference_to(value) or fetch, first=is_named)

    def _follow_given_to(self, name: str, route: str, value: Any) -> None:
        """Follows what a library's object or function was given, since it may call it."""
        for path, passed in given_to(value, self._searched):
            self.follow(name + path, route + path, passed, self._fetch_of(passed))

    def _visit_own_attributes(
        self, name: str, route: str, holder: Fetch, own: Mapping[str, Any], wanted: list[str]
    ) -> None:
        """Visits the wanted attributes in an object's own dictionary."""
        for attribute in wanted if own else ():
            if attribute in own:
                found = functools.partial(member, holder, attribute)
                source = Source("attribute", f"{name}.{attribute}", f"{route}.{attribute}")
                parts = self._parts.get(attribute, ())
                self._visit_read(source, found, own[attribute], parts)

    def _visit_attributes_of_wrapper(self, name: str, route: str, value: Any, fetch: Fetch) -> None:
        """Visits the wanted attributes that a user gave a traced function, a partial or a cache."""
        own = own_attributes(value)
        # Others are TensorFlow's and nbfn's own, such as the recorder of a traced function.
        public = [
            attribute
            for attribute in self._wanted
            if attribute[0] != "_" and package_of(type(own.get(attribute)).__module__) != "nbfn"
        ]
        self._visit_own_attributes(name, route, fetch, own, public)

    def _visit_class_attribute(self, cls: type, attribute: str) -> None:
        value = vars(cls)[attribute]
        place = self._unique_name(f"{OF_CLASS}{cls.__module__}.{cls.__qualname__}", cls)
        route = f"{place}.{attribute}"
        source = Source("attribute", f"{cls.__name__}.{attribute}", route)
        if source in self.state.fingerprints or is_a(value, MemberDescriptorType):
            return
        fetch = functools.partial(member, weakref.ref(cls), attribute)
        self._visit(source, fetch, without_descriptor(value))

    def _others(self, own: Mapping[str, Any], classes: tuple[type, ...]) -> list[str]:
        """Returns further attributes, not of libraries, if the code may read any attribute."""
        if ANY not in self.state.attributes:
            return []
        libraries = tuple(cls for cls in classes if not is_user_module(cls.__module__))
        is_mixed = any(package_of(cls.__module__) in ("tensorflow", "keras") for cls in libraries)
        # Keras and TensorFlow keep their bookkeeping, such as `history`, beside what users store.
        bookkeeping = attributes_of_methods(libraries) if is_mixed else frozenset[str]()
        attributes = self.state.attributes
        found = (
            (name, without_descriptor(value))
            for name, value in sorted(own.items())
            if name not in attributes and not name.startswith("__")
        )
        return [
            name
            for name, value in found
            if _is_state(value) and (name not in bookkeeping or any(True for _ in unwrapped(value)))
        ][:_MAX_OTHERS]

    def _check_no_other(
        self,
        holder: Fetch,
        own: Mapping[str, Any],
        wanted: Iterable[Any],
        cls: Fetch | None = None,
        *,
        is_all: bool = False,
    ) -> None:
        """Adds a check that an object gets none of the wanted attributes that it does not have."""
        is_all |= ANY in self.state.attributes
        names = frozenset(own) if is_all else frozenset(wanted).difference(own)
        if is_all or names or cls is not None:
            self._checks.append(NamesCheck(holder, names, cls, is_all))


def _parts_of_module(value: tf.Module, own: Mapping[str, Any]) -> list[str]:
    """Returns the attributes in which a ``tf.Module`` looks for its variables and submodules.

    The modules of `nbfn` list theirs by other means.
    """
    if any(package_of(base.__module__) == "nbfn" for base in type(value).__mro__):
        return []
    ignored = _tensorflow.ignored_attributes(type(value))
    return [
        name
        for name, part in own.items()
        if not (name in ignored or name.startswith("_self_") or is_immutable(part))
    ]


def _is_keras(value: Any) -> bool:
    """Returns whether a value is Keras, one of its modules, functions or classes."""
    name: object = None
    if is_a(value, ModuleType):
        name = value.__name__
    elif is_a(value, (FunctionType, type)):
        name = value.__module__
    return package_of(name) == "keras"


def _absolute_name(name: str, package: Any) -> str:
    """Returns the absolute name of a module that is imported by a relative one."""
    try:
        return importlib.util.resolve_name(name, package)
    except (AttributeError, ImportError):  # outside of a package the import fails
        return name


def _is_library(value: Any) -> bool:
    return is_a(value, ModuleType) and not is_user_module(value.__name__)


def _is_state(value: Any) -> bool:
    """Returns whether a value is plain, or leads to user state."""
    if is_content(value) or is_a(value, (*HOLDERS, tf.Tensor, tf.Variable)):
        return True
    if setting_names(type(value)):
        return True
    cls = value if is_a(value, type) else type(value)
    if is_user_module(cls.__module__) or any(True for _ in unwrapped(value)):
        return True
    # Such as a decimal.Decimal; what is called is code of a library.
    return not (callable(value) or is_a(value, ModuleType))


def state_of(
    values: Collection[tuple[str, Any]],
    graph_time: GraphTime = NOTHING,
    attributes: frozenset[Named] = frozenset(),
    *,
    classes: frozenset[str] | None = None,
) -> State:
    """Returns the state of what some functions and objects lead to.

    Args:
        values: The functions and objects, each with the user's name for it.
        graph_time: What traces run at graph time, and do not depend on.
        attributes: Attribute names in other code, which are read, too.
        classes: For the code of a cell: names of classes of which it only creates instances, whose
            methods count where they are called. User classes are then equal if they were defined
            again with the same code; a trace may depend on the class object, by ``isinstance``.
    """
    codes = tuple(each.__code__ for _, value in values for each in unwrapped(value))
    before = wanted = attributes | _named_before.get(codes, frozenset())
    for _ in range(_MAX_ROUNDS):  # until the code found names no new attributes
        # Again from the start: an object that was visited before an attribute's name was known was
        # visited without it.
        walk = Walk(wanted, graph_time, classes)
        for name, value in values:
            walk.enter(name, name, value)
        walk.walk()
        named = walk.named | attributes
        if wanted is before and not before <= named and not walk.is_limited:
            wanted = attributes  # what the code no longer reads must not be compared
        elif named <= wanted:
            break
        else:
            wanted |= named
    if codes:
        _named_before[codes] = wanted
    if len(_named_before) > _MAX_FUNCTIONS:
        _named_before.popitem(last=False)
    return walk.finish()


_named_before: OrderedDict[tuple[CodeType, ...], frozenset[Named]] = OrderedDict()
"""The attributes that code was found to read: a walk that begins with them takes one round."""


def _loggers_and_libraries(function: FunctionType) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the globals in a function's code that are loggers, and libraries."""
    loggers, libraries = [], []
    namespace = function.__globals__
    for name in names_in_code(function.__code__):
        value = namespace.get(name)
        if is_a(value, ModuleType):
            if value is logging:
                loggers.append(name)
            if _is_library(value):
                libraries.append(name)
        elif is_a(value, logging.Logger):
            loggers.append(name)
    return frozenset(loggers), frozenset(libraries)
