"""`load`: any SavedModel as a session, to call, inspect, train and export again."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions import Cause, TracedFunction, function
from nbfn.functions.traces.variable_names import walk
from nbfn.sessions.export.place import RECORD, holds_model, reading
from nbfn.sessions.session import Session
from nbfn.text import count, data_size, first_line, join, shorten, tensor_type

_OF_WRAPPED = re.compile(r"/(__call__|concrete_function)$")
"""The end of the path of a `WrappedFunction`'s graph."""

_ConcreteFunction = tf.types.experimental.ConcreteFunction
_SAVED = Cause("requested", "saved in the model")
_OWN_LISTS = re.compile(r"\w*variables/\d+")
"""Paths at which Keras and TensorFlow 1 models list variables that have no better path."""

# Texts of TensorFlow 2.21. If one changes, its own error is shown.
_UNKNOWN_OPERATION = re.compile(r"Op type not registered '(\w+)'")
_NO_GRAPH = ("Could not find matching concrete function", "Binding inputs to tf.function failed")
_MAX_SHOWN = 20


class LoadError(NbfnError, ValueError):
    """Raised if a SavedModel cannot be loaded."""


class SavedCallError(NbfnError, TypeError):
    """Raised if a loaded function is called with arguments that none of its graphs accepts."""


class LoadedSession(Session):
    """The session of a SavedModel: its functions, variables and tables by name.

    Each function is a `TracedFunction` whose traces are the saved graphs; so it can be called,
    explained, differentiated and exported like any other. Unlike the session of a notebook, it owns
    what it lists.

    Attributes:
        path: Where the model was loaded from.
        root: The object that ``tf.saved_model.load`` returned.
        record: The contents of ``assets.extra/nbfn.json``; empty if nbfn did not export the model.
    """

    def __init__(self, path: str, root: Any, record: Mapping[str, Any]) -> None:
        self.path = path
        self.root = root
        self.record = record
        names: dict[str, Any] = {}
        super().__init__(names)
        names.update(_variables_and_tables(root, record))
        for name, each in _restored_functions(root, record):
            is_graph = isinstance(each, _ConcreteFunction)
            saved = _saved_graph(each) if is_graph else _saved_function(name, each)
            names[name] = _function_with_traces(name, saved, names, path)
        for name, concrete in root.signatures.items():
            if name not in names and not record:  # signatures of nbfn's exports duplicate traces
                names[name] = _function_with_traces(name, _saved_graph(concrete), names, path)

    @property
    def functions(self) -> dict[str, TracedFunction]:  # type: ignore[override]
        """The functions of the model, and signatures that are not functions."""
        return {name: each for name, each in self.named() if isinstance(each, TracedFunction)}

    @property
    def tables(self) -> dict[str, Any]:
        """The lookup tables and other resources of the model, which only its functions can read."""
        return {name: each for name, each in self.named() if hasattr(each, "resource_handle")}

    def named_variables(self) -> dict[str, Any]:
        """Returns variables and tables by name; in a notebook, the session's name comes first."""
        return {name: each for name, each in self.named() if not isinstance(each, TracedFunction)}

    @property
    def signatures(self) -> Mapping[str, Any]:
        """A ``ConcreteFunction`` for each signature, called with keyword arguments."""
        return self.root.signatures  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        """Size of the variables in bytes."""
        sizes = ((v.shape.num_elements() or 0, v.dtype.size) for v in self.variables.values())
        return sum(number * size for number, size in sizes)

    def __repr__(self) -> str:
        functions = self.functions
        lines = [
            f"<nbfn session loaded from {self.path}: {count(len(functions), 'function')}, "
            f"{count(len(self.variables), 'variable')} ({data_size(self.nbytes)})>"
        ]
        for name, each in functions.items():
            saved = [trace.signature for trace in each.traces] or [each.parameters[1:-1]]
            lines += [f"  {name}({text})" for text in saved]
        more = len(lines) - 1 - _MAX_SHOWN
        return "\n".join(lines[: _MAX_SHOWN + 1] + ([f"  and {more} more"] if more > 0 else []))


def load(path: str | os.PathLike[str], *, tags: str | Sequence[str] | None = None) -> LoadedSession:
    """Loads a SavedModel as a session.

    It may also be a model of ``tf.saved_model.save``, of Keras's ``model.export`` or of TensorFlow
    1. In a model that nbfn exported, variables are named as in the notebook,
    ``model/hidden/kernel``; in another one, by their paths from its root.

    Example, with the model of the example of `export`::

        loaded = nbfn.load("model")
        loaded["predict"](tf.ones([2, 3]))

    Args:
        path: Folder of the model.
        tags: The graph to load if there are several, as in ``tf.saved_model.load``.

    Returns:
        The session. Its functions are called as ``loaded["predict"](x)`` and can be differentiated;
        ``nbfn.export(path, loaded["predict"])`` exports one again.

    Raises:
        LoadError: If there is no SavedModel or TensorFlow cannot load it.
    """
    text = os.fspath(path)
    if "://" in text:  # a file system that only TensorFlow reads
        return LoadedSession(text, _load(text, tags), {})
    folder = Path(text)
    with reading(folder):
        _check(folder)
        root = _load(text, tags)
        return LoadedSession(text, root, _record(folder))


def _check(folder: Path) -> None:
    if holds_model(folder):
        return
    if not os.path.lexists(folder):
        raise LoadError(f"there is nothing at `{folder}`; expected the folder of a SavedModel")
    if not folder.is_dir():
        hint = ""
        if folder.suffix in (".keras", ".h5", ".hdf5"):
            hint = "; load it with keras.models.load_model, then watch or export the model"
        raise LoadError(f"`{folder}` is a file; expected the folder of a SavedModel{hint}")
    inside = sorted(each.name for each in folder.iterdir())
    models = [name for name in inside if holds_model(folder / name)]
    if models:
        found = f"a SavedModel in {join([f'`{name}`' for name in models[:3]])}"
        hint = f"load `{folder / models[-1]}`"
    else:
        found = join([f"`{name}`" for name in inside[:3]]) if inside else "nothing"
        hint = "expected saved_model.pb"
    raise LoadError(f"`{folder}` holds no SavedModel but {found}; {hint}")


def _load(path: str, tags: str | Sequence[str] | None) -> Any:
    try:
        return tf.saved_model.load(path, tags=tags)
    except Exception as error:
        unknown = _UNKNOWN_OPERATION.search(str(error))
        if unknown:
            raise LoadError(
                f"`{path}` needs the operation `{unknown[1]}`, which this TensorFlow lacks; import "
                "the package that brings it, or load its library with tf.load_op_library, and load "
                "the model again"
            ) from error
        if "MetaGraph" in str(error):
            sets = re.findall(r"\[\[.*\]\]", str(error))
            listed = f" ({sets[0][1:-1]})" if sets else ""
            raise LoadError(
                f"`{path}` holds several graphs, or none with the tags {tags!r}{listed}; choose "
                "one by its tags, as in tags=['serve']"
            ) from error
        raise LoadError(f"TensorFlow cannot load `{path}`: {first_line(error, 300)}") from error


def _record(folder: Path) -> Mapping[str, Any]:
    with suppress(OSError, ValueError):
        record = json.loads((folder / RECORD).read_text())
        return record if isinstance(record, dict) else {}
    return {}


# What is in a model ------------------------------------------------------------------------


def _public(root: Any) -> list[tuple[str, Any]]:
    below = _tensorflow.trackable_children(root).items()
    return [(name, each) for name, each in below if name[:1] != "_" and name != "signatures"]


def _variables_and_tables(root: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns variables and tables by the notebook's names, or else by their paths in the model."""
    variables = list(getattr(root, "nbfn_variables", ()))
    names = dict(zip(record.get("variables", ()), variables, strict=False))
    named = {id(each) for each in names.values()}
    resources = getattr(root, "nbfn_resources", ())
    recorded = {
        id(each): name for name, each in zip(record.get("resources", ()), resources, strict=False)
    }
    for path, value, owner in walk(_public(root), whole=True):
        name = path.removeprefix("nbfn_")
        if isinstance(value, tf.Variable) and id(value) not in named:
            named.add(id(value))
            own = value.name.removesuffix(":0")
            if _OWN_LISTS.fullmatch(path) and own not in names and not own.startswith("Variable"):
                name = own
            names[name] = value
        # `initializer` of a TensorFlow 1 model is no table. `load_v1_in_v2.py` sets both attributes
        # on the loaded object (TensorFlow 2.21).
        is_start = path == "initializer" and hasattr(root, "prune")
        if isinstance(value, tf.Tensor) and owner is not value and not is_start:
            names[recorded.get(id(owner), name)] = owner
    for each in root.signatures.values():  # variables that only a graph refers to
        for variable in each.variables:
            if id(variable) not in named:
                named.add(id(variable))
                names.setdefault(variable.name.removesuffix(":0"), variable)
    return names


def _restored_functions(root: Any, record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the functions of a model by their original names, without leading underscores."""
    functions = record.get("functions", {}).items()
    exported = {each.get("attribute", name): name for name, each in functions}
    seen: dict[int, str] = {}
    own = ((n, f) for n, f in vars(root).items() if n == "__call__" or n in exported)
    below = [*_public(root), *(each for each in own if each[0][:1] == "_")]
    for path, value, _ in walk(below, whole=True):
        is_function = _tensorflow.saved_graphs(value) is not None
        if (is_function or isinstance(value, _ConcreteFunction)) and id(value) not in seen:
            path = _OF_WRAPPED.sub("", path)
            name = exported.get(path, path.rstrip("_").replace("/", ".")).lstrip("_")
            while name in seen.values():
                name += "_"
            seen[id(value)] = name
            yield name, value


@dataclass(frozen=True)
class _Saved:
    """What a SavedModel can call.

    Attributes:
        signature: The parameters.
        inputs: The arguments and keyword arguments that each graph was saved for.
        call: Calls it.
    """

    signature: inspect.Signature
    inputs: Sequence[tuple[tuple[Any, ...], dict[str, Any]]]
    call: Callable[..., Any]


def _saved_function(name: str, function: Any) -> _Saved:
    signature = _tensorflow.saved_signature(function)
    graphs = _tensorflow.saved_graphs(function) or ()
    inputs = [graph.structured_input_signature for graph in graphs]

    def text(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        try:
            named: dict[Any, Any] = signature.bind(*args, **kwargs).arguments
        except TypeError:
            named = {**dict(enumerate(args)), **kwargs}
        return f"({', '.join(f'{name}: {_short(each)}' for name, each in named.items())})"

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError) as error:
            if not str(error).startswith(_NO_GRAPH):
                raise
            saved = list(dict.fromkeys(text(*each) for each in inputs))
            more = ["..."] if len(saved) > 3 else []
            raise SavedCallError(
                f"`{name}` was saved for {join(saved[:3] + more, 'or')}, and not for "
                f"{text(args, kwargs)}; a SavedModel has no Python code to retrace"
            ) from error

    return _Saved(signature, inputs, call)


def _saved_graph(concrete: Any) -> _Saved:
    """Describes a graph that is not the trace of a function: a signature, or TensorFlow 1 code."""
    specs, named = concrete.structured_input_signature
    names = [getattr(spec, "name", None) or f"x{i}" for i, spec in enumerate(specs)]
    # In a model of TensorFlow 1, an input may have any name, also one that is no identifier.
    names = [re.sub(r"\W|^(?=\d)", "_", name) for name in (*names, *named)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs).args
        return concrete(*bound[: len(specs)], **dict(zip(named, bound[len(specs) :], strict=True)))

    inputs = specs, dict(zip(names[len(specs) :], named.values(), strict=True))
    return _Saved(signature, [inputs], call)


def _function_with_traces(
    name: str, saved: _Saved, names: dict[str, Any], path: str
) -> TracedFunction:
    """Returns a traced function with one trace per saved graph."""
    run = saved.call

    def call(*args: Any, **kwargs: Any) -> Any:
        return run(*args, **kwargs)

    name = re.sub(r"\W", "_", name.rpartition(".")[2])
    code = call.__code__.replace(co_name=name, co_qualname=name, co_filename=path)
    # Its globals are the session's names, in which its captures are looked up for their names.
    python_function = FunctionType(code, names, name, None, call.__closure__)
    python_function.__signature__ = saved.signature  # type: ignore[attr-defined]
    traced = function(python_function, max_traces=None, autograph=False)
    traced.recorder.is_saved = True
    for args, kwargs in saved.inputs:
        with suppress(Exception):  # saved for an object that is missing here: a call reports it
            plain_args, plain_kwargs = tf.nest.map_structure(_without_name, (args, kwargs))
            traced.request(plain_args, plain_kwargs, _SAVED)
    return traced


def _without_name(leaf: Any) -> Any:
    """Removes the name of a specification, so that inputs are named as their parameters."""
    return tf.TensorSpec(leaf.shape, leaf.dtype) if type(leaf) is tf.TensorSpec else leaf


def _short(value: Any) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if not isinstance(shape, tf.TensorShape) or not isinstance(dtype, tf.DType):
        return shorten(repr(value))
    is_plain = isinstance(value, (tf.TensorSpec, tf.Tensor, tf.Variable))
    kind = "" if is_plain else f"{getattr(value, 'value_type', type(value)).__name__} "
    return f"{kind}{tensor_type(dtype.name, shape)}"
