"""Observes an object with several tf.functions: a Keras model or a module."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

from nbfn import _tensorflow
from nbfn.code import closure
from nbfn.errors import NbfnError
from nbfn.functions.calls.record import GroupView, next_id
from nbfn.functions.inside.numerics import Numerics, numerics
from nbfn.functions.recording.explanation import Explanation
from nbfn.functions.recording.registry import unregister
from nbfn.functions.traced.function import function
from nbfn.functions.watching.function_origin import origin_of
from nbfn.text import count

_OF_MODELS = ("train_function", "test_function", "predict_function")
# The functions of `fit` and `predict` need 3 (Keras 3.15).
_MAX_DEPTH = 6


class AmbiguousError(NbfnError, TypeError):
    """A question that one function must answer was asked of several."""


class WatchedObject(GroupView):
    """The observer that `watch` returns for an object with tf.functions.

    It holds the object weakly. Its properties combine all its functions; ``functions`` has each by
    name.

    Attributes:
        id: Unique in this process.
        label: The name to show.
        is_late: Whether functions may be made later, as Keras does in the first ``fit``.
    """

    def __init__(self, obj: Any, observe: Callable[[Any, str, Any], Any]) -> None:
        self.id = next_id("object")
        self.label = str(getattr(obj, "name", None) or type(obj).__name__)
        self.is_late = is_keras_model(obj)
        self._object = weakref.ref(obj)
        self._observe = observe
        self._names: dict[str, Any] = {}
        self.refresh()

    @property
    def object(self) -> Any | None:
        """The object; None if it was garbage-collected."""
        return self._object()

    def refresh(self) -> None:
        """Finds functions that were made since the last refresh."""
        obj = self._object()
        if obj is None:
            return
        for name, found in tf_functions(obj).items():
            self._names[name] = self._observe(found, f"{self.label}.{name}", obj)

    @property
    def functions(self) -> dict[str, Any]:
        """The observer of each function, by the function's name in the object."""
        self.refresh()
        return self.found

    @property
    def found(self) -> dict[str, Any]:
        """The observers found so far; safe to read on any thread."""
        return dict(self._names)

    @property
    def note(self) -> str:
        """The reason why it has no functions, or that it was garbage-collected; else empty."""
        if self.object is None:
            return "it no longer exists; nothing but nbfn referred to it"
        if self._names:
            return ""
        if self.is_late:
            return "Keras makes its functions when it first fits, evaluates or predicts"
        return "it has no tf.function"

    def __getitem__(self, name: str) -> Any:
        functions = self.functions
        if name not in functions:
            names = ", ".join(f"`{each}`" for each in functions) or "none yet"
            raise KeyError(f"`{self.label}` has no tf.function `{name}`; it has {names}")
        return functions[name]

    def observers(self) -> Collection[Any]:
        """Returns the observers of the functions."""
        return self.functions.values()

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Explains a call like `TracedFunction.explain`, if there is only one function.

        Raises:
            AmbiguousError: If there are several, or none yet.
        """
        return self._only("explain")(*args, **kwargs)  # type: ignore[no-any-return]

    def _only(self, question: str) -> Callable[..., Any]:
        """Returns a method of the only function."""
        functions = self.functions
        if len(functions) != 1:
            names = ", ".join(f"`{name}`" for name in functions) or "none yet"
            raise AmbiguousError(
                f"`{self.label}` has these tf.functions: {names}; ask one of them, as in "
                f'watched["{next(iter(functions), "train_function")}"].{question}(...)'
            )
        (only,) = functions.values()
        return getattr(only, question)  # type: ignore[no-any-return]

    def numerics(self, *args: Any, **kwargs: Any) -> Numerics:
        """Finds where a step of a Keras model gives NaN or infinity; the model is not changed.

        Args:
            *args: For a Keras model a batch: only inputs for a prediction; inputs and targets, and
                possibly weights, for a training step. For a module, the arguments of its only
                function.
            **kwargs: For a module, the function's other arguments.

        Raises:
            AmbiguousError: If it is a module with several functions, or none yet.
        """
        model = self._object()
        if model is None or not self.is_late:
            return self._only("numerics")(*args, **kwargs)  # type: ignore[no-any-return]
        is_step = len(args) > 1
        call = (lambda *data: model.train_step(data)) if is_step else lambda x: model(x)
        step = function(call, autograph=False)  # as Keras does it
        unregister(step)
        label = f"{self.label}.train_step" if is_step else self.label
        return replace(numerics(step, args, kwargs), function=label)

    def __getattr__(self, name: str) -> Any:
        of_object = "" if name.startswith("_") or not hasattr(self.object, name) else name
        hint = f"; `{of_object}` is an attribute of what it watches" if of_object else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        functions = list(self.functions.values())
        listed = "".join(f"\n  {each!r}" for each in functions)
        return f"<nbfn.watch {self.label}: {count(len(functions), 'function')}>{listed}"


def is_keras_model(obj: Any) -> bool:
    """Returns whether this is a Keras model, which makes its functions on first use."""
    return not isinstance(obj, type) and hasattr(obj, "make_train_function")


def tf_functions(obj: Any) -> dict[str, Any]:
    """Returns an object's tf.functions: methods, attributes, and those of a Keras model."""
    found: dict[str, Any] = {}
    for kind in reversed(type(obj).__mro__):
        if kind.__module__.startswith(("tensorflow.", "keras.")):
            continue
        for name, method in vars(kind).items():
            if isinstance(getattr(method, "__func__", method), _tensorflow.Function):
                # By `getattr`: a tf.function has a clone for each instance, which is made here.
                found[name] = getattr(obj, name)
    own = list(getattr(obj, "__dict__", {}).items())
    found |= {
        name: value
        for name, value in own
        if isinstance(value, _tensorflow.Function) and name not in _OF_MODELS
    }
    for name, method in keras_functions(obj):
        origin = origin_of(method)
        label = name if origin is None or origin.name is None else origin.name
        found.setdefault(label.rpartition(".")[2], method)
    return found


def keras_functions(obj: Any) -> Iterator[tuple[str, Any]]:
    """Yields the tf.functions that Keras makes for a model, each with its attribute."""
    if is_keras_model(obj):
        for name in _OF_MODELS:
            yield from ((name, each) for each in _within(getattr(obj, name, None), 0))


def _within(value: Any, depth: int) -> Iterator[Any]:
    """Yields the tf.functions that a Keras function is or closes over."""
    if value is None or depth > _MAX_DEPTH:
        return
    # Keras 3.15 wraps a tf.function (`_autoconvert_optionals`), and closes over it in others.
    while True:
        if isinstance(value, _tensorflow.Function):
            yield value
            value = getattr(value, "python_function", None)
        elif hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        else:
            break
    if not str(getattr(value, "__module__", "")).startswith("keras."):
        return
    for inner in closure(value).values():
        if callable(inner) and not hasattr(inner, "make_train_function"):
            yield from _within(inner, depth + 1)
