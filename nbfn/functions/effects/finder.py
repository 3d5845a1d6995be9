"""Finds the statements of code that Python must run: effects, new objects, values it needs.

One finder serves cells in segments, the remarks under cells of definitions, and ``check``. It walks
the syntax tree of code, and of the user functions that it calls, and resolves names to live
objects. No user code runs.
"""

from __future__ import annotations

import ast
import collections
import functools
import inspect
import itertools
import operator
import os
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import (
    closure,
    is_generated,
    is_user_module,
    names_in_code,
    package_of,
    plain_function,
)
from nbfn.functions.effects import rules
from nbfn.functions.effects.abstract_values import (
    FRESH,
    FUNCTION,
    LIBRARIES,
    TENSOR,
    UNKNOWN,
    AbstractValue,
    CodeScope,
    bound_to,
    class_attribute,
    elements_of,
    is_library_class,
    names_of_function,
    value_of,
)
from nbfn.functions.effects.rules import Reason
from nbfn.functions.effects.syntax_trees import parameters, source_of
from nbfn.text import cut

Keywords = Mapping[str | None, AbstractValue]
"""The values of a call's keyword arguments; the key None means that there may be more of them."""

# Code that calls more user functions counts as code of unknown effects.
MAX_FUNCTIONS = 200
_GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_MUTABLE = (list, dict, set, bytearray, collections.deque, np.ndarray)
_ARRAYS = (np.ndarray, np.generic)
_SLOTS = types.MethodWrapperType | types.MethodDescriptorType | types.WrapperDescriptorType
_OF_EAGER_TENSORS = ("__class__", "device")
_OF_ARRAYS = ("write", "scatter", "split", "unstack")
_STORES = "return the value, or use a tf.Variable"
_CLOSED = (
    *(ast.Import, ast.ImportFrom, ast.ClassDef, ast.AsyncFunctionDef, ast.Raise),
    *(ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith),
)
"""Nodes that are not walked into: one reason is enough."""

_PYTHON: dict[type, Reason] = {
    **dict.fromkeys((ast.Import, ast.ImportFrom), Reason("unknown", "imports")),
    ast.ClassDef: Reason("unknown", "defines a class"),
    ast.AsyncFunctionDef: Reason("unknown", "defines a coroutine"),
    **dict.fromkeys((ast.AsyncFor, ast.AsyncWith), Reason("unknown", "awaits")),
    **dict.fromkeys((ast.Await, ast.Yield, ast.YieldFrom), Reason("unknown", "awaits or yields")),
}
_PYTHON_OF_A_CELL: dict[type, Reason] = {
    ast.Assert: Reason("assert", "asserts"),
    ast.Raise: Reason("unknown", "raises"),
    ast.JoinedStr: Reason("value", "formats a string"),
    ast.Lambda: Reason("function", "makes a function"),
}


@dataclass(frozen=True)
class Question:
    """What a walk asks about code.

    Attributes:
        is_exact: Whether a graph must do exactly what Python does. Then what is not known counts,
            and so does what a graph does in another way. If not, the user wants a graph: only what
            is certain counts, and nothing that tf.functions do on purpose.
        is_cell: Whether the code is a cell's own. The notebook gets the values that it computes,
            and a graph can return only tensors.
    """

    is_exact: bool
    is_cell: bool

    @property
    def of_callees(self) -> Question:
        """The question about the functions that the code calls."""
        return replace(self, is_cell=False)


SEGMENT = Question(is_exact=True, is_cell=True)
"""May this statement of a cell run in a segment?"""
WHOLE_CELL = Question(is_exact=False, is_cell=True)
"""May this cell be one graph, as its user demands?"""
TRACED_FUNCTION = Question(is_exact=False, is_cell=False)
"""What does this function do only while it is traced?"""


@dataclass(frozen=True)
class Effect:
    """A place in the code that only Python can execute.

    Attributes:
        reason: Why.
        line: Line, from 1, in the code that was walked.
        what: The code, shortened.
        text: Constant text among its arguments, if it is a call.
        function: Name of the user function that contains it; empty for the code itself.
        file: The file of that function.
        inner: Line in that file.
        target: The expression that is written to or drawn from.
    """

    reason: Reason
    line: int
    what: str
    function: str = ""
    file: str = ""
    inner: int = 0
    target: str = ""
    text: str = ""

    def __str__(self) -> str:
        return f"`{self.function}` {self.reason.text}" if self.function else self.reason.text


class Finder:
    """The state of one search, across all functions that it walks.

    Attributes:
        question: What is asked about the code where the search begins.
        reads: Names of the namespace that the called functions read; complete when the walk has
            ended.
        seen: The user functions that were walked. It keeps the objects alive whose ids are in its
            keys.
        skipped: Functions that run at graph time, such as those passed to ``tf.py_function``.
    """

    def __init__(
        self,
        question: Question,
        namespace: Mapping[str, Any] | None = None,
        skipped: Iterable[Any] = (),
    ) -> None:
        self.question = question
        self.skipped = [plain_function(each) for each in skipped]
        # AutoGraph replaces nested functions by new ones of the same name.
        self.skipped_names = {
            each.__name__
            for each in self.skipped
            if "<locals>" in getattr(each, "__qualname__", "")
        }
        self.reads: set[str] = set()
        self.seen: dict[Any, Any] = {}
        self._namespace = namespace

    def walk(self, scope: CodeScope, tapes: Iterable[str] = ()) -> StatementWalk:
        """Returns a walk of the code where the search begins."""
        return StatementWalk(scope, self, self.question, tapes)

    def effects_in(
        self, function: types.FunctionType, arguments: Mapping[str, AbstractValue] | None = None
    ) -> Iterator[Effect]:
        """Yields the effects in a user function and in the functions that it calls.

        Args:
            function: The function.
            arguments: The values of its arguments, as far as known.
        """
        arguments = arguments or {}
        # Functions of one decorator share their code, and differ in what they close over.
        closed = (id(each) for each in closure(function).values())
        given = ((n, v.kind, *map(id, v.objects)) for n, v in arguments.items())
        # By arguments, too: the same function may have effects on some objects only.
        key = (function.__code__, *closed, *given)
        if key in self.seen:
            return
        self.seen[key] = (function, arguments)
        name = function.__name__
        if name == "__init__":
            name = function.__qualname__.rpartition(".")[0]
        code = function.__code__
        if len(self.seen) > MAX_FUNCTIONS:
            yield Effect(Reason("unknown", "calls too many functions"), 0, name)
            return
        node = source_of(code)
        if node is None:
            yield Effect(Reason("unknown", f"calls `{name}`, whose source is not known"), 0, name)
            return
        if code.co_flags & _GENERATORS:
            yield Effect(Reason("unknown", f"calls the generator `{name}`"), 0, name)
            return
        if function.__globals__ is self._namespace:
            self.reads |= names_in_code(code)
        own = dict.fromkeys(parameters(node.args), UNKNOWN) | dict(arguments)
        scope = CodeScope(names_of_function(function), own)
        walk = StatementWalk(scope, self, self.question.of_callees)
        for each in walk.block([node.body] if isinstance(node, ast.Lambda) else node.body):
            if each.function:
                yield each
            else:
                yield replace(each, function=name, file=code.co_filename, inner=each.line)


class StatementWalk:
    """Walks the statements of a cell, or of one function.

    Attributes:
        scope: The values of its names.
        tapes: Names of tapes whose gradients may be taken in a graph.
    """

    def __init__(
        self, scope: CodeScope, finder: Finder, question: Question, tapes: Iterable[str] = ()
    ) -> None:
        self.scope = scope
        self.tapes = frozenset(tapes)
        self._question = question
        self._is_exact, self._is_cell = question.is_exact, question.is_cell
        self._finder = finder
        self._shared: set[str] = set()
        self._is_by_tensor = False

    def block(self, body: Sequence[ast.AST]) -> Iterator[Effect]:
        """Yields the effects in statements or expressions."""
        for statement in body:
            yield from self.visit(statement)

    def visit(self, node: ast.AST) -> Iterator[Effect]:
        """Yields the effects in a statement or expression; updates the scope."""
        reason = _PYTHON.get(type(node))
        if reason is None and self._is_cell:
            reason = _PYTHON_OF_A_CELL.get(type(node))
        if reason is not None:
            yield self._effect_of(reason, node)
        match node:
            case _ if isinstance(node, _CLOSED):
                return
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                if self._is_cell and isinstance(node, ast.AnnAssign):  # a function evaluates none
                    yield from self.visit(node.annotation)
                if node.value is not None:
                    yield from self.visit(node.value)
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    yield from self._number_effects(node.value)
                    for target in targets:
                        yield from self._store(target, node.value)
            case ast.AugAssign():
                yield from self.visit(node.value)
                yield from self._number_effects(ast.BinOp(node.target, node.op, node.value))
                yield from self._augment(node)
            case ast.Delete():
                for target in node.targets:
                    yield from self._store(target, None)
            case ast.Global() | ast.Nonlocal():
                self._shared |= set(node.names)
            case ast.For():
                yield from self._loop(node, node.target, node.iter)
                body = [*node.body, *node.orelse]
                yield from self._loop_body(node.iter, lambda: self.block(body))
            case ast.While():
                yield from self._loop_body(node.test, lambda: self._children(node))
            case ast.If() if not self._is_exact:
                created = _created_if_missing(node.test)
                for each in self._children(node):
                    if created is None or each.target != created:
                        yield each
            case ast.MatchAs() | ast.MatchStar() | ast.MatchMapping():
                yield from self._children(node)
                name = node.rest if isinstance(node, ast.MatchMapping) else node.name
                if name is not None:
                    yield from self._assign(ast.copy_location(ast.Name(name), node), UNKNOWN)
            case ast.If():
                yield from self._maybe_by_tensor(node.test, lambda: self._children(node))
            case ast.With():
                for item in node.items:
                    yield from self._enter(node, item)
                yield from self.block(node.body)
            case ast.Assert():
                yield from self.visit(node.test)
            case ast.Expr(ast.Call(ast.Attribute(_, name) as method)) if name in _OF_ARRAYS:
                yield from self.visit(node.value)
                if self._is_exact:  # an eager TensorArray changes itself
                    yield self._effect("write", method, f"calls {short_source(method)}()")
            case ast.FunctionDef() if node.name in self._finder.skipped_names:
                pass
            case ast.FunctionDef() | ast.Lambda():
                defaults = (*node.args.defaults, *node.args.kw_defaults)
                yield from self.block([each for each in defaults if each is not None])
                if isinstance(node, ast.FunctionDef):
                    for decorator in node.decorator_list:
                        called = ast.copy_location(ast.Call(decorator, [], []), decorator)
                        yield from self.visit(called)
                    yield from self._assign(ast.copy_location(ast.Name(node.name), node), FUNCTION)
                inner = self._inside(dict.fromkeys(parameters(node.args), UNKNOWN))
                yield from inner.block(node.body if isinstance(node.body, list) else [node.body])
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                yield from self._comprehension(node)
            case ast.Call():
                yield from self._call(node)
            case _:
                if isinstance(node, ast.Try) and node.handlers and self._is_exact:
                    yield self._effect("unknown", node, "catches errors")
                yield from self._children(node)

    def _maybe_by_tensor(
        self, condition: ast.expr, walk: Callable[[], Iterator[Effect]]
    ) -> Iterator[Effect]:
        """Yields the effects of a loop or branch, which AutoGraph traces once if it is by a tensor.

        What it changes of a new container would then happen once, or in each branch.
        """
        before = self._is_by_tensor
        self._is_by_tensor |= self._is_exact and self.scope.value(condition) is TENSOR
        try:
            yield from walk()
        finally:
            self._is_by_tensor = before

    def _loop_body(
        self, condition: ast.expr, turn: Callable[[], Iterator[Effect]]
    ) -> Iterator[Effect]:
        """Yields the effects of a loop's body; walks it again if the first walk changes a name."""
        before = dict(self.scope.own)
        yield from self._maybe_by_tensor(condition, turn)
        now = self.scope.own
        if self._is_exact and any(now[name] is not before[name] for name in before):
            yield from self._maybe_by_tensor(condition, turn)

    def _number_effects(self, value: ast.expr) -> Iterator[Effect]:
        """Yields an effect for a Python number that AutoGraph would make a tensor.

        Of 32 bits, it would overflow, or lose digits, where Python's does not.
        """
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        if self._is_by_tensor and any(map(self.scope.is_number, parts)):
            yield self._effect("value", value, "computes a Python number by a tensor")

    def _children(self, node: ast.AST) -> Iterator[Effect]:
        """Yields the effects in the children of a node, and of applying the node to them."""
        for child in ast.iter_child_nodes(node):
            yield from self.visit(child)
        if self._is_exact and self._tests_tensor_kind(node):
            yield self._effect("value", node, "tests the kind of a tensor")
        if isinstance(node, ast.Attribute):
            yield from self._property(node)
        elif isinstance(node, ast.BinOp | ast.Subscript | ast.Compare | ast.UnaryOp):
            if isinstance(node, ast.Subscript) and self.scope.value(node.value).is_one_of(
                os.environ
            ):
                yield self._effect_of(rules.ENVIRONMENT, node)
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield from self._operators(node, self.scope.value(child))
        elif isinstance(node, ast.If | ast.IfExp | ast.While | ast.BoolOp):
            for child in node.values if isinstance(node, ast.BoolOp) else [node.test]:
                for owner in self.scope.value(child).objects:
                    yield from self._special(node, owner)
        if self._is_cell and isinstance(node, ast.BinOp) and self._formats(node):
            yield self._effect("value", node, "formats a string")

    def _tests_tensor_kind(self, node: ast.AST) -> bool:
        """Returns whether an attribute or an `is` test may give another result than eagerly."""
        if isinstance(node, ast.Attribute):
            return node.attr in _OF_EAGER_TENSORS and self.scope.value(node.value) is TENSOR
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
            parts = [self.scope.value(each) for each in (node.left, *node.comparators)]
            return all(each is TENSOR for each in parts)
        return False

    def _formats(self, node: ast.BinOp) -> bool:
        """Returns whether this is ``%`` formatting of a string."""
        texts = self.scope.value(node.left).objects if isinstance(node.op, ast.Mod) else ()
        return any(isinstance(each, str) for each in texts)

    def _inside(self, own: Mapping[str, AbstractValue]) -> StatementWalk:
        """Builds the walk of a nested function, lambda or comprehension."""
        scope = CodeScope(self.scope.name, dict(own))
        return StatementWalk(scope, self._finder, self._question, self.tapes)

    def _effect(self, kind: str, node: ast.AST, text: str, advice: str = "") -> Effect:
        return self._effect_of(Reason(kind, text, advice), node)

    def _effect_of(self, reason: Reason, node: ast.AST) -> Effect:
        line = getattr(node, "lineno", 0)
        return Effect(reason, line, short_source(node), target=_target(node), text=_text(node))

    # Stores -------------------------------------------------------------------------------

    def _store(self, target: ast.expr, value: ast.expr | None) -> Iterator[Effect]:
        if isinstance(target, ast.Tuple | ast.List):
            if value is not None and _may_be_iterator(self.scope.value(value)):
                yield self._effect("read", target, "takes from an iterator")
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            for i, each in enumerate(target.elts):
                if len(parts) == len(target.elts):
                    yield from self._store(each, parts[i])
                else:
                    yield from self._assign(each, self.scope.elements(value) if value else UNKNOWN)
        else:
            yield from self._assign(target, UNKNOWN if value is None else self.scope.value(value))

    def _assign(self, target: ast.expr, value: AbstractValue) -> Iterator[Effect]:
        match target:
            case ast.Starred():
                yield from self._assign(target.value, FRESH)
            case ast.Tuple() | ast.List():
                for each in target.elts:
                    yield from self._assign(each, value)
            case ast.Name():
                self.scope.assign(target.id, value)
                if target.id in self._shared:
                    yield self._effect("write", target, f"writes the name `{target.id}`")
            case ast.Attribute() | ast.Subscript():
                yield from self.visit(target.value)
                if isinstance(target, ast.Subscript):
                    yield from self.visit(target.slice)
                owner = self.scope.value(target.value)
                # The result of a NumPy function may be a view of an existing array.
                is_made_here = owner is FRESH or (owner is TENSOR and not self._is_exact)
                if not self._is_cell and isinstance(target, ast.Attribute):
                    is_made_here |= any(
                        rules.assigns_variable(o, target.attr) for o in owner.objects
                    )
                    if value is TENSOR and not self._is_exact:
                        is_made_here |= any(
                            rules.is_stored_by_property(o, target.attr) for o in owner.objects
                        )
                if self._is_cell or not is_made_here or (owner is FRESH and self._is_by_tensor):
                    what = f"stores into `{ast.unparse(target.value)}`"
                    yield self._effect("write", target, what, _STORES)

    def _augment(self, node: ast.AugAssign) -> Iterator[Effect]:
        if not isinstance(node.target, ast.Name):
            yield from self._assign(node.target, TENSOR)
            return
        value = self.scope.value(node.target)
        shared = value is UNKNOWN and self._is_exact
        mutable = any(isinstance(each, _MUTABLE) for each in value.objects)
        if mutable or shared or (value is FRESH and self._is_cell):
            yield self._effect("write", node, f"changes `{node.target.id}` in place")
        yield from self._operators(node, value)
        is_number = value.is_constant and self.scope.value(node.value).is_constant
        yield from self._assign(node.target, value if is_number else TENSOR)

    def _loop(self, node: ast.AST, target: ast.expr, iterated: ast.expr) -> Iterator[Effect]:
        yield from self.visit(iterated)
        for each, value in self.scope.targets(target, iterated):
            yield from self._assign(each, value)
        for each in self.scope.value(iterated).objects:
            if isinstance(each, tf.data.Dataset | tf.data.Iterator):
                yield self._effect_of(rules.LOOPS_OVER_DATA, node)
            elif hasattr(type(each), "__next__"):
                yield self._effect("read", node, "takes from an iterator")
            elif is_user_module(type(each).__module__):
                yield from self._operators(node, value_of(each))

    def _enter(self, node: ast.With, item: ast.withitem) -> Iterator[Effect]:
        yield from self.visit(item.context_expr)
        called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
        function = self.scope.value(called) if called is not None else UNKNOWN
        allowed = (tf.GradientTape, tf.name_scope, tf.device, tf.control_dependencies)
        if function.is_one_of(*allowed):
            if isinstance(item.optional_vars, ast.Name):
                self.scope.assign(item.optional_vars.id, FRESH)
        elif self._is_exact:
            yield self._effect("unknown", node, "enters a context")

    # Expressions --------------------------------------------------------------------------

    def _comprehension(self, node: Any) -> Iterator[Effect]:
        inner = self._inside({})
        inner._shared = self._shared
        for each in node.generators:
            yield from inner._loop(node, each.target, each.iter)
            yield from inner.block(each.ifs)
        is_dict = isinstance(node, ast.DictComp)
        yield from inner.block([node.key, node.value] if is_dict else [node.elt])

    def _property(self, node: ast.Attribute) -> Iterator[Effect]:
        """Yields the effects of user-defined properties and descriptors."""
        for owner in self.scope.value(node.value).objects:
            cls = type(owner)
            if isinstance(owner, types.ModuleType | type):
                continue
            if is_library_class(cls):
                continue
            # Not `getattr`, which would run the property.
            found = class_attribute(owner, node.attr)
            getter = getattr(found, "fget", None) or getattr(found, "func", None)
            args = [value_of(bound_to(owner))]
            if getter is None:  # another kind of descriptor
                getter, args = getattr(type(found), "__get__", None), [value_of(found), *args]
            if isinstance(getter, types.FunctionType) and is_user_module(getter.__module__):
                yield from self._function(node, getter, args)
            elif isinstance(owner, _ARRAYS) and self._is_cell:
                yield self._effect("number", node, "uses a NumPy array")
            elif "__getattr__" in vars(cls) and is_user_module(cls.__module__):
                yield self._effect("unknown", node, f"looks up attributes of a {cls.__name__}")

    def _operators(self, node: ast.AST, value: AbstractValue) -> Iterator[Effect]:
        """Yields the effects of operators that user classes define."""
        for owner in value.objects:
            if self._is_cell and isinstance(owner, _ARRAYS):
                yield self._effect("value", node, "computes with a NumPy array")
            else:
                yield from self._special(node, owner)

    def _special(self, node: ast.AST, owner: Any) -> Iterator[Effect]:
        """Yields the effects of the special methods that an expression or statement calls."""
        if not isinstance(owner, types.ModuleType | types.FunctionType | type):
            for method in rules.special_methods(type(owner), type(node)):
                yield from self._function(node, method, [value_of(owner)])

    # Calls --------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Iterator[Effect]:
        owner = None
        if isinstance(node.func, ast.Attribute):
            yield from self.visit(node.func.value)
            owner = self.scope.value(node.func.value)
            is_tape = isinstance(node.func.value, ast.Name) and node.func.value.id in self.tapes
            if is_tape and node.func.attr in ("gradient", "jacobian", "watch"):
                yield from self._arguments(node)
                return
        elif not isinstance(node.func, ast.Name):
            yield from self.visit(node.func)
        called = self.scope.value(node.func)
        if not self._is_exact and any(map(rules.calls_at_graph_time, called.objects)):
            return
        yield from self._arguments(node)
        args, keywords = self._given(node)
        is_method = owner is not None and owner.kind != "objects"
        takes_arrays = any(isinstance(each, _ARRAYS) for arg in args for each in arg.objects)
        is_of_library = not is_method and all(map(_is_library_callable, called.objects))
        if self._is_cell and takes_arrays and not is_of_library:
            yield self._effect("number", node, "passes a NumPy array")
        for function in called.objects:
            yield from self._callable(node, function, args, keywords)
        if owner is not None and is_method:
            yield from self._method(node, owner, node.func.attr)  # type: ignore[attr-defined]
        elif called is UNKNOWN and self._is_exact:
            yield self._effect(
                "unknown", node, f"calls {short_source(node.func)}, which is not known yet"
            )

    def _given(self, node: ast.Call) -> tuple[list[AbstractValue], Keywords]:
        """Returns the values of a call's arguments; those from ``*`` and ``**`` are unknown."""
        args = list(itertools.takewhile(lambda each: not isinstance(each, ast.Starred), node.args))
        keywords: dict[str | None, AbstractValue] = {
            each.arg: self.scope.value(each.value) for each in node.keywords
        }
        if len(args) < len(node.args):
            keywords[None] = UNKNOWN
        return [self.scope.value(each) for each in args], keywords

    def _arguments(self, node: ast.Call) -> Iterator[Effect]:
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from self.visit(each)
            for passed in self.scope.value(each).objects:  # the callee may call it
                inner = rules.wrapped(passed)
                is_function = isinstance(inner, types.FunctionType | types.MethodType)
                is_object = callable(inner) and is_user_module(type(inner).__module__)
                is_bound = isinstance(getattr(inner, "__self__", None), _MUTABLE)
                if is_function or is_object or is_bound or rules.is_traced_function(inner):
                    yield from self._callable(node, passed, [], {})

    def _method(self, node: ast.Call, owner: AbstractValue, name: str) -> Iterator[Effect]:
        """Yields the effects of a method whose owner is not a known object."""
        if owner is TENSOR:
            reason = rules.reason_of_tensor_method(name)
            if reason is not None:
                yield self._effect_of(reason, node)
        elif owner is FRESH:
            if self._is_cell or (self._is_by_tensor and name in rules.MUTATORS):
                yield self._effect("write", node, f"calls .{name}()")
        elif owner is UNKNOWN:
            if name in (rules.MUTATORS if self._is_exact else rules.MUTATORS_OF_CONTAINERS):
                yield self._effect("write", node, f"calls {short_source(node.func)}()")
            elif self._is_exact:
                what = f"calls {short_source(node.func)}(), which is not known yet"
                yield self._effect("unknown", node, what)

    def _callable(
        self, node: ast.Call, value: Any, args: list[AbstractValue], keywords: Keywords
    ) -> Iterator[Effect]:
        """Yields the effects of calling an object."""
        while isinstance(value, functools.partial):
            args = [*map(value_of, value.args), *args]
            named: dict[str | None, AbstractValue] = {
                n: value_of(v) for n, v in value.keywords.items()
            }
            keywords = named | {**keywords}
            value = value.func
        text = short_source(node.func)
        if self._finder.skipped and plain_function(value) in self._finder.skipped:
            return
        is_method = isinstance(value, types.MethodType)
        function = value.__func__ if is_method else value
        reason: Reason | None = None
        if rules.is_traced_function(value):
            if self._is_exact:
                reason = Reason("function", f"calls `{text}`, a traced function")
        elif isinstance(value, type):
            reason = rules.reason_of_class(value, is_cell=self._is_cell)
            initializer = _init_of(value) if reason is None else None
            if initializer is not None:
                yield from self._function(node, initializer, [FRESH, *args], keywords)
        elif isinstance(function, types.FunctionType) and _is_user_function(function):
            bound = [value_of(value.__self__)] if is_method else []
            yield from self._function(node, function, [*bound, *args], keywords)
        elif is_method or isinstance(value, types.FunctionType | types.BuiltinFunctionType):
            reason = rules.reason_of_function(value, text, is_cell=self._is_cell)
            if value is next and not self._is_exact and not _is_iterator(args):
                reason = None
            if is_method and reason is None and value.__name__ in ("__call__", "call"):
                yield from self._instance(node, value.__self__, args, keywords)
        else:
            yield from self._instance(node, value, args, keywords)
        if reason is not None:
            yield self._effect_of(reason, node)
        elif _is_builtin(value):
            operands = *args, *keywords.values(), value_of(getattr(value, "__self__", None))
            for owner in {id(o): o for v in operands for o in _and_held(v)}.values():
                yield from self._special(node, owner)
            if value is not next and any(map(_may_be_iterator, (*args, *keywords.values()))):
                yield self._effect("read", node, "takes from an iterator")
            if self._is_exact and _may_differ_in_graph(value, node, args):
                yield self._effect("value", node, f"tests the kind of a tensor with {text}()")
            # AutoGraph makes it a tensor of 32 bits, and Python refuses what is not finite.
            if self._is_exact and value in (int, float) and TENSOR in args:
                yield self._effect("value", node, f"{text}() of a tensor")

    def _instance(
        self, node: ast.Call, value: Any, args: list[AbstractValue], keywords: Keywords
    ) -> Iterator[Effect]:
        """Yields the effects of calling an instance of a class."""
        cls, text = type(value), short_source(node.func)
        # Losses that a call keeps would be tensors of the trace, and so would their sum.
        reason = rules.reason_of_state(value) if self._is_exact else None
        if reason is not None:
            yield self._effect_of(reason, node)
            return
        owners = {
            name: next((base for base in cls.__mro__ if name in vars(base)), object)
            for name in ("__call__", "call")
        }
        users = [
            vars(base)[name]
            for name, base in owners.items()
            if is_user_module(base.__module__) and isinstance(vars(base)[name], types.FunctionType)
        ]
        for function in users:
            yield from self._function(node, function, [value_of(value), *args], keywords)
        if users:
            return
        if rules.is_built_on_library(cls):
            # Private, but only models list the layers in them publicly (Keras 3.15).
            for sub in value._flatten_layers() if hasattr(value, "_flatten_layers") else ():
                if sub is not value and not is_library_class(type(sub)):
                    yield from self._instance(node, sub, [], {})
            if not rules.may_be_called(value):
                yield self._effect("unknown", node, f"calls {text}()")
        else:
            module = getattr(value, "__module__", None) or cls.__module__
            reason = rules.reason_of_module(module, text)
            # As in `items.__setitem__(0, x)`, `list.append(items, x)`, `object.__setattr__(o, …)`.
            if isinstance(value, _SLOTS | operator.methodcaller):
                reason = Reason("unknown", f"calls {text}()")
            if reason is not None:
                yield self._effect_of(reason, node)

    def _function(
        self,
        node: ast.AST,
        function: types.FunctionType,
        args: Sequence[AbstractValue],
        keywords: Keywords = MappingProxyType({}),
    ) -> Iterator[Effect]:
        """Yields the effects of a user function."""
        while hasattr(function, "__wrapped__") and not _has_user_code(function):
            for inner in _dispatched_to(function):
                yield from self._function(node, inner, ())
            function = function.__wrapped__
        code = function.__code__
        arguments = dict(zip(code.co_varnames[: code.co_argcount], args, strict=False))
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        arguments |= {name: keywords[name] for name in names if name in keywords}
        for name, default in _defaults(function):
            arguments.setdefault(name, UNKNOWN if None in keywords else value_of(default))
        for each in self._finder.effects_in(function, arguments):
            yield replace(each, line=getattr(node, "lineno", 0))


def _is_builtin(value: Any) -> bool:
    """Returns whether it is a builtin function or class, or a method of one."""
    is_builtin = isinstance(value, type | types.BuiltinFunctionType)
    return is_builtin and value.__module__ in ("builtins", None)


def _is_iterator(args: Sequence[AbstractValue]) -> bool:
    """Returns whether the first argument is known to be a Python iterator."""
    objects = args[0].objects if args else ()
    return any(not isinstance(each, tf.data.Iterator) for each in objects)


def _may_differ_in_graph(value: Any, node: ast.Call, args: Sequence[AbstractValue]) -> bool:
    """Returns whether a builtin may answer differently for a symbolic tensor."""
    if not args or args[0] is not TENSOR:
        return False
    if value is isinstance and len(args) > 1:
        kinds = [each if isinstance(each, tuple) else (each,) for each in args[1].objects]
        return not kinds or any(_tensorflow.EagerTensor in each for each in kinds)
    if value not in (type, hasattr, getattr):
        return False
    name = node.args[1] if len(node.args) > 1 else None
    return not (isinstance(name, ast.Constant) and hasattr(tf.Tensor, str(name.value)))


def _may_be_iterator(value: AbstractValue) -> bool:
    """Returns whether a value is known to be an iterator, which can be read only once."""
    return any(hasattr(type(each), "__next__") for each in value.objects)


def _and_held(value: AbstractValue) -> Iterator[Any]:
    """Yields the objects that a value may be and their elements, which sorting compares."""
    yield from value.objects
    yield from elements_of(value).objects


def _is_library_callable(value: Any) -> bool:
    """Returns whether a callable belongs to a library or to a class derived from one."""
    module = package_of(getattr(value, "__module__", None))
    return module in LIBRARIES or rules.is_built_on_library(type(value))


def _init_of(cls: type) -> types.FunctionType | None:
    """Returns the initializer that a user class defines, unless ``dataclass`` generated it."""
    for base in cls.__mro__:
        for name in ("__init__", "__post_init__") if is_user_module(base.__module__) else ():
            found = vars(base).get(name)
            if isinstance(found, types.FunctionType) and not is_generated(found):
                return found
    return None


def _dispatched_to(function: types.FunctionType) -> list[types.FunctionType]:
    """Returns the user functions that ``singledispatch`` or its method form chooses from."""
    # The function that `singledispatchmethod.__get__` makes closes over `self` (CPython 3.11).
    chooser: Any = closure(function).get("self")
    is_method = isinstance(chooser, functools.singledispatchmethod)
    registry = getattr(chooser.dispatcher if is_method else function, "registry", None)
    every = registry.values() if isinstance(registry, MappingProxyType) else ()
    return [
        each for each in every if isinstance(each, types.FunctionType) and _is_user_function(each)
    ]


def _is_user_function(function: types.FunctionType) -> bool:
    """Returns whether a function is user code, or wraps a user function.

    ``functools.wraps`` gives a user wrapper of a library function the library's ``__module__``.
    """
    return _has_user_code(function) or is_user_module(function.__module__)


def _has_user_code(function: types.FunctionType) -> bool:
    return is_user_module(function.__globals__.get("__name__"))


def _defaults(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    if defaults:
        yield from zip(positional[-len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _target(node: ast.AST) -> str:
    """Returns the expression that a statement or a call writes to or draws from."""
    if isinstance(node, ast.Call):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        return ast.unparse(owner)
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value)
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.target)
    return ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""


def _text(node: ast.AST) -> str:
    """Returns the constant text among the arguments of a call."""
    parts = ast.walk(node) if isinstance(node, ast.Call) else ()
    return " ".join(str(each.value) for each in parts if isinstance(each, ast.Constant))


def _created_if_missing(test: ast.expr) -> str | None:
    """Returns the expression that a branch creates if missing, as tf.functions do; else None.

    ``if self.v is None``, ``if not hasattr(self, "v")``, ``if "v" not in state``.

    A heuristic, by the form of the test: see ``test_what_is_meant_is_not_reported`` and
    ``Model.creates`` in ``tests/functions/traced/test_early_warnings.py``.
    """
    match test:
        case ast.Compare(left, [ast.Is()], [ast.Constant(None)]):
            return ast.unparse(left)
        case ast.Compare(_, [ast.NotIn()], [container]):
            return ast.unparse(container)
        case ast.UnaryOp(
            ast.Not(), ast.Call(ast.Name("hasattr"), [owner, ast.Constant(str(name))])
        ):
            return f"{ast.unparse(owner)}.{name}"
    return None


def short_source(node: ast.AST) -> str:
    """Formats code, shortened."""
    if isinstance(node, ast.Call):
        return f"{short_source(node.func)}(…)"
    if isinstance(node, ast.expr):
        return cut(ast.unparse(node), 40)
    return type(node).__name__.lower()
