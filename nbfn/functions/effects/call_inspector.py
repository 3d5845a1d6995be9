"""Keeps a trace from running user functions whose effects are not known.

The walk of a statement follows the calls in its text. Python calls more: operators,
properties, iteration, formatting; and libraries call the functions that their objects were given,
such as the activation of a layer. So each call is inspected while a segment is traced: a user
function that was not walked is walked then, with its actual arguments, before it runs.
"""

from __future__ import annotations

import contextlib
import dis
import gc
import inspect
import sys
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from types import CellType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import closure, is_generated, is_user_module, names_in_code, with_inner
from nbfn.functions.effects.abstract_values import FRESH, is_tensor, is_variable, value_of
from nbfn.functions.effects.finder import Finder
from nbfn.site import GENERATED

_SIZES = ("shape", "get_shape")
_OF_TENSORS = ("__str__", "__repr__", "ref", *_SIZES)
"""Methods whose results differ for symbolic tensors."""
_TEXTS = frozenset({*_OF_TENSORS, "str", "repr", "ascii", "format", "join", "__format__"})
_MAX_OBJECTS = 50_000
_MAKERS = ("__new__", "__init__", "__post_init__")


class StoppedTraceError(BaseException):
    """A trace was about to run a user function that has effects.

    Not an `Exception`: code that catches those must not go on with the trace.

    Attributes:
        reason: The effect.
        line: The line of the statement that called the function; 0 if it is not known.
    """

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class CallInspector:
    """Inspects the calls of user functions while statements are traced.

    Args:
        finder: Has walked the statements.
        own: The code of the traced function.
        names: The names that it may read, with their values.
        writes: The names that it writes. No function may read them: a trace keeps them local.

    Attributes:
        reads: Names of the notebook that the walked functions read.
    """

    def __init__(
        self, finder: Finder, own: CodeType, names: Mapping[str, Any], writes: Collection[str]
    ) -> None:
        self._finder = finder
        self._writes = frozenset(writes)
        self._own = frozenset(map(id, with_inner(own)))
        # By id: CPython does not cache the hash of code.
        self._is_inspected: dict[int, tuple[CodeType, bool]] = {}  # the codes keep the ids valid
        for code in (own, *(function.__code__ for function, _ in finder.seen.values())):
            self._skip(code)
        self.reads = frozenset(finder.reads)
        finder.reads.clear()
        self._is_needed = self._may_call_more(names, own, [f for f, _ in finder.seen.values()])

    @contextlib.contextmanager
    def inspecting(self) -> Iterator[None]:
        """Inspects all calls of this thread inside the block.

        It doubles the time of a trace, so it is not used if no other user code can be reached.

        Raises:
            StoppedTraceError: In place of the call of a function with effects, and at once if
                another profiler is active.
        """
        if not self._is_needed:
            yield
            return
        if sys.getprofile() is not None:
            raise StoppedTraceError("cannot be inspected while a profiler is active", 0)
        # A profile function sees each call before its code runs. CPython removes one that raises,
        # so after a `StoppedTraceError` nothing more is inspected: the trace must end.
        sys.setprofile(self._on_call)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _may_call_more(
        self, names: Mapping[str, Any], own: CodeType, walked: Sequence[FunctionType]
    ) -> bool:
        """Returns whether user functions may run that were not walked, or texts may be made."""
        if any(map(_makes_texts, (own, *(function.__code__ for function in walked)))):
            return True
        roots = [names[each] for each in names_in_code(own) if each in names]
        for function in walked:
            space = function.__globals__
            roots += [space[each] for each in names_in_code(function.__code__) if each in space]
            roots += [*closure(function).values(), *(function.__defaults__ or ())]
            roots += (function.__kwdefaults__ or {}).values()
        return reaches_user_code(roots, self._is_inspected)

    def _skip(self, code: CodeType) -> None:
        for each in with_inner(code):
            self._is_inspected[id(each)] = each, False

    def _on_call(self, frame: FrameType, event: str, _: Any) -> None:
        # An error that is raised here comes from the call, whose code does not run.
        if event == "call":
            code = frame.f_code
            found = self._is_inspected.get(id(code))
            if found is None:
                is_inspected = _is_user(frame) or code.co_name in _OF_TENSORS
                found = self._is_inspected[id(code)] = code, is_inspected
            if found[1]:
                self._inspect(frame)

    def _inspect(self, frame: FrameType) -> None:
        if not _is_user(frame):
            owner, name = frame.f_locals.get("self"), frame.f_code.co_name
            reason = _difference(owner, name)
            if reason is not None and _is_user(_caller(frame)):
                raise StoppedTraceError(reason, self._line(frame))
            return
        if GENERATED in frame.f_code.co_filename:
            function = _tensorflow.converted_from(frame)
            if function is None:  # part of a converted function, such as a branch
                return
        else:
            function = _function_of(frame)
        code = function.__code__
        is_passed = not self._is_inspected.get(id(code), (code, True))[1]
        # Objects may be deleted at any time, also those that have nothing to do with the trace:
        # this runs their `__del__`, and resumes a generator to end it.
        is_deleted = code.co_name == "__del__" or _is_resumed(frame)
        if is_passed or is_deleted or is_generated(function):
            return
        values = frame.f_locals
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        arguments = {name: value_of(values[name]) for name in names if name in values}
        if code.co_name in _MAKERS:
            arguments |= dict.fromkeys(code.co_varnames[:1], FRESH)
        found = next(self._finder.effects_in(function, arguments), None)
        if found is not None:
            raise StoppedTraceError(str(found), self._line(frame))
        if not self._finder.reads.isdisjoint(self._writes):
            reason = "calls a function that reads a name written here"
            raise StoppedTraceError(reason, self._line(frame))
        for each in with_inner(code):
            if each is not code:  # with other arguments it may have effects
                self._skip(each)

    def _line(self, frame: FrameType | None) -> int:
        while frame is not None and id(frame.f_code) not in self._own:
            frame = frame.f_back
        return 0 if frame is None else frame.f_lineno


def reaches_user_code(roots: Iterable[Any], passed: Container[int]) -> bool:
    """Returns whether objects hold user functions, or instances of user classes.

    Args:
        roots: The objects.
        passed: The ids of the codes of functions that do not count.

    Returns:
        True also if there are too many objects. An untrained Keras layer holds about 200.
    """
    left = list(roots)
    seen: dict[int, Any] = {}  # keeps ids valid
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        if len(seen) == _MAX_OBJECTS:
            return True
        seen[id(value)] = value
        if is_user_module(type(value).__module__):
            return True
        if isinstance(value, FunctionType):
            if is_user_module(value.__module__) and id(value.__code__) not in passed:
                return True
            left += (*closure(value).values(), *(value.__defaults__ or ()))
        elif isinstance(value, type | ModuleType):
            name = value.__name__ if isinstance(value, ModuleType) else value.__module__
            if is_user_module(name):
                return True
        elif not isinstance(value, tf.Graph) and not is_tensor(value):
            # Whatever the object keeps, also in C; a graph would lead to all functions of its
            # trace.
            left += gc.get_referents(value)
    return False


def _makes_texts(code: CodeType) -> bool:
    """Returns whether code may write tensors into texts, or ask for their identity."""
    return any(
        each.opname.startswith("FORMAT_") or each.argrepr == "%" or str(each.argval) in _TEXTS
        for part in with_inner(code)
        for each in dis.get_instructions(part)
    )


def _difference(owner: Any, name: str) -> str | None:
    """Returns how the result of a tensor's method differs for a symbolic tensor, if it does."""
    if not is_tensor(owner) or (name == "ref" and is_variable(owner)):
        return None
    if name not in _SIZES:
        return "tests the kind of a tensor"
    is_open = isinstance(owner, tf.Tensor) and not owner.shape.is_fully_defined()
    return "reads a size that depends on values" if is_open else None


def _is_user(frame: FrameType | None) -> bool:
    return frame is not None and is_user_module(frame.f_globals.get("__name__"))


def _is_resumed(frame: FrameType) -> bool:
    """Returns whether a frame is that of a generator which has begun before."""
    code = frame.f_code
    if not code.co_flags & inspect.CO_GENERATOR:
        return False
    # A generator that begins has `f_lasti` at its `RESUME` (CPython 3.11).
    begin = next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")
    return frame.f_lasti > begin


def _caller(frame: FrameType) -> FrameType | None:
    """Returns the frame that called another, through AutoGraph or not."""
    caller = frame.f_back
    while caller is not None and ".autograph." in caller.f_globals.get("__name__", ""):
        caller = caller.f_back
    return caller


def _function_of(frame: FrameType) -> FunctionType:
    """Returns a function with the code and the closure of a call that begins."""
    code, values = frame.f_code, frame.f_locals
    cells = (CellType(values[n]) if n in values else CellType() for n in code.co_freevars)
    return FunctionType(code, frame.f_globals, closure=tuple(cells))
