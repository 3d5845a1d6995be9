"""Which calls have an effect in Python, that a graph does not repeat."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn.functions.reads import is_the_users
from nbfn.notebook.remarks.standing import Known, Method, Standing, class_of, module_of

_DRAWS = "tf.random draws at each call"
_WRITES = "tf.print writes at each call"
_SHOWS = "show it in a cell below"
_FILES = "do it in a cell of its own, or with tf.io"
_SEEDS = "set the seed in a cell above"
_APART = "do it in a cell of its own"
_CLOCK = "tf.timestamp() tells the time at each call"
_TURNS = "take it in a cell above, or loop over a tf.data.Dataset"


@dataclass(frozen=True)
class _Rule:
    """What is an effect in one module.

    Attributes:
        advice: What to do instead.
        names: Functions and methods that have one; None for all.
        but: Those that have none.
        makers: Functions and classes that have one only if they are called without arguments.
        shared_only: Whether methods have one only on an object that was there before.
    """

    advice: str
    names: frozenset[str] | None = None
    but: frozenset[str] = frozenset()
    makers: frozenset[str] = frozenset()
    shared_only: bool = False

    def applies(self, name: str, has_arguments: bool) -> bool:
        if name in self.makers:
            return not has_arguments
        return name not in self.but and (self.names is None or name in self.names)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILE_NAMES = _names(
    "makedirs mkdir remove unlink rename renames replace rmdir removedirs truncate symlink link "
    "chmod chown utime mkfifo open fdopen write"
)
_LOGGING = _names("debug info warning warn error exception critical fatal log")
_QUEUES = ("queue", "_queue", "multiprocessing.queues")
_RULES: tuple[tuple[str, _Rule], ...] = (
    ("builtins", _Rule(_WRITES, _names("print"))),
    ("builtins", _Rule("ask in a cell above", _names("input"))),
    ("builtins", _Rule("read files in a cell above, or with tf.io", _names("open"))),
    ("builtins", _Rule("names that it assigns are not left in the notebook", _names("exec"))),
    ("builtins", _Rule("%%tf_eager stops in a debugger", _names("breakpoint"))),
    ("pdb", _Rule("%%tf_eager stops in a debugger", _names("set_trace"))),
    ("io", _Rule("read files in a cell above, or with tf.io", _names("open"))),
    ("_io", _Rule("read files in a cell above, or with tf.io", _names("open"))),
    (
        "_io",
        _Rule(
            _WRITES,
            _names("write writelines read readline readlines flush seek truncate close"),
            shared_only=True,
        ),
    ),
    ("IPython.core.interactiveshell", _Rule(_FILES, _names("_modified_open"))),
    (
        "IPython.core.display_functions",
        _Rule(_SHOWS, _names("display clear_output update_display")),
    ),
    ("pprint", _Rule(_WRITES, _names("pprint pp"))),
    ("rich", _Rule(_WRITES, _names("print"))),
    (
        "random",
        _Rule(
            _DRAWS,
            but=_names("getstate setstate"),
            makers=_names("Random"),
            shared_only=True,
        ),
    ),
    (
        "numpy.random",
        _Rule(
            _DRAWS,
            but=_names("Generator get_state set_state"),
            makers=_names(
                "default_rng RandomState SeedSequence PCG64 MT19937 Philox SFC64 PCG64DXSM"
            ),
            shared_only=True,
        ),
    ),
    ("secrets", _Rule(_DRAWS)),
    ("uuid", _Rule("it is one value for all calls", _names("uuid1 uuid4"))),
    (
        "time",
        _Rule(
            _CLOCK,
            _names(
                "time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time "
                "process_time_ns thread_time thread_time_ns"
            ),
            makers=_names("ctime localtime gmtime asctime"),
        ),
    ),
    ("time", _Rule("only tracing waits for it", _names("sleep"))),
    ("datetime", _Rule(_CLOCK, _names("now today utcnow"))),
    *((module, _Rule(_WRITES, _LOGGING)) for module in ("logging", "absl.logging", "loguru")),
    ("warnings", _Rule("warn in a cell of its own", _names("warn warn_explicit"))),
    ("_warnings", _Rule("warn in a cell of its own", _names("warn warn_explicit"))),
    *((module, _Rule(_FILES, _FILE_NAMES)) for module in ("os", "posix", "nt")),
    *(
        (module, _Rule(_APART, _names("system popen kill chdir putenv unsetenv startfile")))
        for module in ("os", "posix", "nt")
    ),
    *((module, _Rule(_DRAWS, _names("urandom getrandom"))) for module in ("posix", "nt")),
    ("os", _Rule(_APART, _names("update setdefault pop popitem clear"))),
    (
        "shutil",
        _Rule(
            _FILES,
            _names(
                "copy copy2 copyfile copyfileobj copytree copymode copystat move rmtree chown "
                "make_archive unpack_archive"
            ),
        ),
    ),
    (
        "pathlib",
        _Rule(
            _FILES,
            _names(
                "write_text write_bytes read_text read_bytes open mkdir touch unlink rename "
                "replace rmdir symlink_to hardlink_to chmod copy copy_into move move_into"
            ),
        ),
    ),
    ("subprocess", _Rule(_APART, but=_names("list2cmdline CompletedProcess"))),
    ("threading", _Rule(_APART, _names("start"))),
    *((module, _Rule(_APART, _names("put get put_nowait get_nowait"))) for module in _QUEUES),
    ("matplotlib.pyplot", _Rule(_SHOWS)),
    ("matplotlib.axes", _Rule(_SHOWS, shared_only=True)),
    ("matplotlib.figure", _Rule(_SHOWS, shared_only=True)),
    ("seaborn", _Rule(_SHOWS)),
    ("plotly", _Rule(_SHOWS, _names("show write_html write_image"))),
    ("tqdm", _Rule("only tracing shows it")),
    ("keras", _Rule(_SHOWS, _names("summary"))),
    ("keras", _Rule(_FILES, _names("save save_weights"))),
    ("keras", _Rule(_SEEDS, _names("set_random_seed"))),
    ("json", _Rule(_FILES, _names("dump"))),
    ("_pickle", _Rule(_FILES, _names("dump"))),
    ("numpy", _Rule(_FILES, _names("save savez savez_compressed savetxt"))),
)


def effect_of(called: Standing, arguments: Iterable[Standing], has_arguments: bool) -> str | None:
    """What to do instead of a call that has an effect in Python; None if it has none.

    Args:
        called: What is called.
        arguments: What the positional arguments stand for.
        has_arguments: Whether there are any at all.
    """
    if _takes_a_turn(called, arguments):
        return _TURNS
    if isinstance(called, Known) and called.value is tf.random.set_seed:
        return _SEEDS
    for module, name, is_shared in _places(called):
        for prefix, rule in _RULES:
            is_there = module == prefix or module.startswith((f"{prefix}.", f"{prefix}._"))
            counts = is_shared or not rule.shared_only
            if is_there and counts and rule.applies(name, has_arguments):
                return rule.advice
    return None


def effect_of_storing(base: Standing) -> str | None:
    """What to do instead of giving something an attribute or an item, which no hit gives it.

    What the user's own objects and modules are given, is given by hits too.
    """
    if isinstance(base, Known) and isinstance(base.value, types.ModuleType):
        return None if is_the_users(base.value.__name__) else "assign it in a cell above"
    if module_of(class_of(base)) == "os" and issubclass(class_of(base), Mapping):
        return "assign it in a cell above"
    return None


def is_iterator_of_python(standing: Standing) -> bool:
    """Whether something is an iterator of Python that was there before.

    Of one whose class is the user's, the attributes are followed; of a data set's, the graph has
    an operation.
    """
    if not isinstance(standing, Known):
        return False
    cls: Any = type(standing.value)
    if is_the_users(module_of(cls)) or _is_tensorflows(cls):
        return False
    found = {
        name for each in cls.__mro__ for name in ("__next__", "__iter__") if name in vars(each)
    }
    return len(found) == 2


def _is_tensorflows(cls: type) -> bool:
    return any(module_of(each).split(".")[0] == "tensorflow" for each in cls.__mro__)


def _takes_a_turn(called: Standing, arguments: Iterable[Standing]) -> bool:
    if isinstance(called, Method):
        return called.name == "__next__" and is_iterator_of_python(called.owner)
    takers = (next, list, tuple, set, dict, sum, max, min, sorted)
    if not (isinstance(called, Known) and any(called.value is each for each in takers)):
        return False
    return any(is_iterator_of_python(each) for each in list(arguments)[:1])


def _places(called: Standing) -> Iterator[tuple[str, str, bool]]:
    """Modules and names that a called function goes by, and whether its owner was there before."""
    if isinstance(called, Method):
        owner = called.owner
        is_class = isinstance(owner, Known) and isinstance(owner.value, type)
        cls: Any = owner.value if is_class else class_of(owner)  # type: ignore[union-attr]
        for each in cls.__mro__:
            yield module_of(each), called.name, isinstance(owner, Known)
        return
    if not isinstance(called, Known):
        return
    value = called.value
    if isinstance(value, type):
        yield module_of(value), value.__name__, True
        return
    kind = type(value)
    if not (isinstance(value, _FUNCTIONS) or kind.__name__ in _FUNCTION_CLASSES):
        return
    name = getattr(value, "__name__", "")
    module = getattr(value, "__module__", None)
    if isinstance(module, str):
        yield module, name, True
    bound_to = getattr(value, "__self__", None)
    if bound_to is not None and not isinstance(bound_to, types.ModuleType):
        yield from _places(Method(Known(bound_to), name, value))


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_FUNCTION_CLASSES = ("cython_function_or_method", "_ArrayFunctionDispatcher")


def shown(function: ast.expr) -> str:
    """A called function as the user wrote it."""
    return f"{ast.unparse(function)}(…)"
