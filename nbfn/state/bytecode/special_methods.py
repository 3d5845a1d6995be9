"""Determines the special methods that code may run implicitly.

All operators of user classes count, and others only if the code has an operation that runs them. On
which values it operates is not analysed. ``__str__``, ``__repr__`` and ``__format__`` never count:
their results are mostly only shown, and often include counters.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dis import Instruction


def _dunders(names: str, *kinds: str) -> frozenset[str]:
    return frozenset(f"__{kind}{name}__" for name in names.split() for kind in kinds or [""])


_ARITHMETIC = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or"

# Run by operations on a value, also within library functions that it is passed to.
ALWAYS = (
    frozenset({"call"})
    | _dunders("call getattr getattribute get dir")
    | _dunders(_ARITHMETIC, "", "r", "i")
    | _dunders("neg pos abs invert round trunc floor ceil")
    | _dunders("bool int float complex index bytes fspath array tf_tensor")
    | _dunders("array_interface array_ufunc array_function")
    | _dunders("getitem missing contains iter next reversed length_hint class_getitem")
    | _dunders("init_subclass instancecheck subclasscheck")
)
IN_PLACE = _dunders(_ARITHMETIC, "i")
HASH = _dunders("hash")
EQUALITY = _dunders("eq ne") | HASH
ORDER = _dunders("lt le gt ge")
LENGTH = _dunders("len")
CONTEXTS = _dunders("enter exit aenter aexit")
CONSTRUCTION = _dunders("init new post_init set_name")
"""Methods that calling a class runs."""
STORES = _dunders("setattr setitem set delitem delattr delete")
IF_USED = EQUALITY | ORDER | LENGTH | CONTEXTS | STORES | CONSTRUCTION

_BY_OPERATION = {
    **dict.fromkeys(("STORE_ATTR", "STORE_SUBSCR", "DELETE_ATTR", "DELETE_SUBSCR"), STORES),
    "BINARY_SUBSCR": HASH,
    **dict.fromkeys(("CONTAINS_OP", "BUILD_SET", "SET_ADD"), EQUALITY),
}
_WITHS = ("BEFORE_WITH", "BEFORE_ASYNC_WITH", "LOAD_SPECIAL")
_NEUTRAL = ("COPY", "TO_BOOL", "NOP", "PUSH_NULL", "CACHE", "SWAP")
_BY_NAME = {
    **dict.fromkeys(("sorted", "min", "max", "sort", "heapq", "heapify", "bisect"), ORDER),
    **dict.fromkeys(("heappush", "heappop", "nsmallest", "nlargest", "insort"), ORDER),
    **dict.fromkeys(("index", "count", "remove", "set", "frozenset", "Counter"), EQUALITY),
    **dict.fromkeys(("type", "__class__", "replace"), CONSTRUCTION),  # `type(self)(…)`
    "enter_context": CONTEXTS,
}


def special_methods(instructions: Sequence[Instruction]) -> frozenset[str]:
    """Returns the special methods that the instructions may run, besides `ALWAYS`."""
    found: set[str] = set()
    before = ""
    for i, each in enumerate(instructions):
        name = each.opname
        found |= _BY_OPERATION.get(name, frozenset())
        if name == "COMPARE_OP" and each.argval in ("<", "<=", ">", ">="):
            found |= ORDER
        # A heuristic: what is compared with a constant, as in `mode == "train"`, is hardly ever a
        # user object. Held by a case of `test_what_the_code_cannot_read_makes_no_trace`.
        elif name == "COMPARE_OP" and not before.startswith(("LOAD_CONST", "LOAD_SMALL")):
            found |= EQUALITY
        elif name in _WITHS:
            found |= CONTEXTS
        elif each.argval == "len" and not _measures_a_shape(instructions[i + 1 :]):
            found |= LENGTH
        elif isinstance(each.argval, str):
            found |= _BY_NAME.get(each.argval, frozenset())
        if name not in _NEUTRAL:
            before = name
    return frozenset(found)


def _measures_a_shape(rest: Sequence[Instruction]) -> bool:
    """Returns whether a call of `len` is like ``len(x.shape)``, common in tensor code."""
    # A heuristic, held by `test_what_the_code_cannot_read_makes_no_trace`: otherwise code that only
    # reads the rank of a tensor would depend on the `__len__` of every user object in reach.
    before = itertools.takewhile(lambda each: not each.opname.startswith(("PRECALL", "CALL")), rest)
    return any(each.argval == "shape" for each in before)
