"""Finds the origin of a tf.function: the user, a Keras model, or a library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbfn import _tensorflow
from nbfn.code import closure, plain_function

_LIBRARIES = ("tensorflow.", "keras.", "nbfn.", "tf_keras.", "tensorflow_estimator.")
# The module and the names of Keras 3.15. They are not public: what is found by them is a heuristic,
# see tests/functions/watching.
_TRAINER = "keras.src.backend.tensorflow.trainer"
_OUTER = ("multi_step_on_iterator", "multi_step_on_data", "one_step_on_data_distributed")


@dataclass(frozen=True)
class FunctionOrigin:
    """The origin of a tf.function.

    Attributes:
        name: The name to show; None for its own.
        owner: The instance it belongs to, if any.
    """

    name: str | None = None
    owner: Any = None


def origin_of(function: Any) -> FunctionOrigin | None:
    """Returns the origin of a tf.function; None if it belongs to a library."""
    python_function = plain_function(function.python_function)
    module = f"{getattr(python_function, '__module__', None) or ''}."
    if module == f"{_TRAINER}.":
        return _of_model(python_function)
    if module.startswith(_LIBRARIES):
        return None
    return FunctionOrigin(None, _tensorflow.method_owner(function))


def _of_model(python_function: Any) -> FunctionOrigin:
    """Returns the origin of a part of a Keras model's train, test or predict function."""
    model, step = model_and_step(python_function)
    kind = step.removesuffix("_step")
    part = "function" if python_function.__name__ in _OUTER else "step"
    return FunctionOrigin(f"{getattr(model, 'name', 'model')}.{kind}_{part}", model)


def model_and_step(python_function: Any) -> tuple[Any, str]:
    """Returns the model that a Keras function closes over, and its step: ``"train_step"``, ..."""
    model, step = None, None
    for value in closure(python_function).values():
        name = getattr(value, "__name__", "")
        if name in ("train_step", "test_step", "predict_step"):
            step = name
        if hasattr(value, "make_train_function"):
            model = value
    if step is None:
        nested = (each for each in closure(python_function).values() if callable(each))
        for value in nested:
            inner = plain_function(getattr(value, "python_function", value))
            if inner is not python_function and getattr(inner, "__module__", None) == _TRAINER:
                found, step = model_and_step(inner)
                model = model or found
                break
    # The function of `make_predict_function` does not close over its step (Keras 3.15).
    if step is None:
        step = "predict_step" if "predict" in python_function.__qualname__ else "step"
    return model, step
