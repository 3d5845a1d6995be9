"""Special methods: which of them code may run although it names none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dis import Instruction

from nbfn.functions.bytecode.operands import NEUTRAL, PLACES, VALUES


def _dunders(names: str, *kinds: str) -> frozenset[str]:
    return frozenset(f"__{kind}{name}__" for name in names.split() for kind in kinds or [""])


_ARITHMETIC = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or"

# What a value stands for, by itself and for any function of a library that it is passed to.
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
HASH = _dunders("hash")
EQUALITY = _dunders("eq ne") | HASH
ORDER = _dunders("lt le gt ge")
LENGTH = _dunders("len")
CONTEXTS = _dunders("enter exit aenter aexit")
FORMAT = _dunders("format")
TEXT = _dunders("repr str") | FORMAT
MAKING = _dunders("init new post_init set_name")
"""What code runs that calls a class."""
STORES = _dunders("setattr setitem set delitem delattr delete")
IF_NAMED = EQUALITY | ORDER | LENGTH | CONTEXTS | STORES | TEXT
BASES = "super()"
"""Stands for the methods that others of a class hide."""

_BY_OPERATION = {
    "STORE_ATTR": STORES,
    "STORE_SUBSCR": STORES,
    "DELETE_ATTR": STORES,
    "DELETE_SUBSCR": STORES,
}
_BY_NAME = {
    **dict.fromkeys(("sorted", "min", "max", "sort"), ORDER),
    **dict.fromkeys(("index", "count", "remove"), EQUALITY),
}
_COMPARES = ("COMPARE_OP", "CONTAINS_OP")
_LOOKUPS = ("BINARY_SUBSCR", "CONTAINS_OP")
_WITHS = ("BEFORE_WITH", "BEFORE_ASYNC_WITH", "LOAD_SPECIAL")
_TRUTHS = ("IF_TRUE", "IF_FALSE", "IF_TRUE_OR_POP", "IF_FALSE_OR_POP", "UNARY_NOT")


def length_of(name: str) -> str:
    """What stands for ``__len__`` of the value of this name only."""
    return f"__len__ {name}"


def entry_of(name: str) -> str:
    """What stands for ``__enter__`` and ``__exit__`` of the value of this name only."""
    return f"__enter__ {name}"


def text_of(name: str) -> str:
    """What stands for the methods that turn the value of this name only into text."""
    return f"__str__ {name}"


def special_methods(instructions: Sequence[Instruction]) -> frozenset[str]:
    """Those that the instructions may run, besides `ALWAYS` and those that make text."""
    found: set[str] = set()
    before = None
    for i, each in enumerate(instructions):
        name = each.opname
        if name in NEUTRAL:
            continue
        if name in _COMPARES and not (
            before and before.opname.startswith(("LOAD_CONST", "LOAD_S"))
        ):
            found |= ORDER if each.argval in ("<", "<=", ">", ">=") else EQUALITY
        elif name.endswith(_TRUTHS):
            if before and before.opname.startswith(VALUES):
                found.add(length_of(str(before.argval)))
        elif name in _WITHS:
            if before and before.opname in PLACES:
                found.add(entry_of(str(before.argval)))
            elif before and before.opname.startswith(("LOAD_FAST", "BINARY")):
                found |= CONTEXTS
            else:  # what a call returns: it may be of a class that the call names
                found |= {entry_of(name) for name in named_before(instructions[:i])}
        elif name in _BY_OPERATION:
            found |= _BY_OPERATION[name]
        elif each.argval == "len":
            found.add(_measured(instructions[i + 1 :]))
        elif isinstance(each.argval, str):
            found |= _BY_NAME.get(each.argval, frozenset())
            if each.argval == "super":
                found.add(BASES)
        if name in _LOOKUPS:
            found |= HASH
        before = each
    return frozenset(found)


def named_before(instructions: Sequence[Instruction]) -> Iterator[str]:
    """Names in the expression that ends here."""
    for each in reversed(instructions):
        if each.opname.startswith(("STORE", "POP", "RETURN", "RESUME")):
            return
        if each.opname in PLACES:
            yield str(each.argval)


def _measured(rest: Sequence[Instruction]) -> str:
    """Whose ``__len__`` a call of `len` runs: that of one name, or of any object."""
    path = []
    for each in rest:
        if each.opname in ("PRECALL", "CALL"):
            break
        if each.opname not in NEUTRAL:
            path.append(each)
    is_path = bool(path) and all(each.opname.startswith(VALUES) for each in path)
    if is_path and path[-1].opname in PLACES:
        return length_of(str(path[-1].argval))
    return "__len__"
