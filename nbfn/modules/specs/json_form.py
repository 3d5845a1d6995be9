"""JSON forms of special floats, dtypes, shapes, functions, initializers and Keras objects.

A field annotated as a dtype or shape holds its plain form, ``"bfloat16"`` or ``[null, 3]``. A
special float is ``"NaN"``, or ``{"$float": "NaN"}`` where it could be text: in ``Any`` and next to
``str``. A function is ``{"$function": "tf.nn.relu"}``, an initializer of nbfn ``{"$initializer":
"normal(stddev=0.1)"}``, an object of Keras ``{"$keras": ...}``, and a spec in ``Any`` ``{"$spec":
[module, class, fields]}``. Reading resolves only the functions listed here and existing classes of
specs, so untrusted JSON cannot name other functions.
"""

from __future__ import annotations

import json
import math
import types
import typing
import weakref
from collections.abc import Callable, Hashable
from typing import Annotated, Any, TypeGuard

import keras
import numpy as np
import pydantic
import pydantic_core
import tensorflow as tf

from nbfn.errors import NbfnError
from nbfn.modules import activations, initializers
from nbfn.modules.errors import SpecError, did_you_mean

_SPECIAL_FLOATS = ("NaN", "Infinity", "-Infinity")
SPECS: weakref.WeakValueDictionary[tuple[str, str], Any] = weakref.WeakValueDictionary()
"""The classes of specs by module and name; the newest with each name."""
_FUNCTIONS: dict[str, Any] = {
    "nn": activations,
    "tf.nn": tf.nn,
    "tf.math": tf.math,
    "keras.activations": keras.activations,
}


def with_json_forms(annotation: Any) -> Any:
    """Returns an annotation whose values are read from the JSON of ``form_of`` and pydantic."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:  # checked first, because its metadata need not be hashable
        return Annotated[(with_json_forms(arguments[0]), *arguments[1:])]  # type: ignore[return-value]
    if isinstance(annotation, Hashable) and annotation in _LEAVES:
        return _LEAVES[annotation]
    if annotation in (Callable, typing.Callable) or origin is Callable:
        return Annotated[annotation, pydantic.WrapValidator(_read_marks)]
    if origin in (None, typing.Literal):
        return annotation
    if origin in (typing.Union, types.UnionType) and {str, float} <= set(arguments):
        others = [with_json_forms(a) for a in arguments if a is not float]
        return Annotated[(typing.Union[float, *others], *_MARKING)]  # type: ignore[return-value]
    changed = tuple(with_json_forms(argument) for argument in arguments)
    if all(new is old for new, old in zip(changed, arguments, strict=True)):
        return annotation
    if origin in (typing.Union, types.UnionType):
        return typing.Union[changed]  # noqa: UP007  (the parts are known at run time only)
    return origin[changed]


def form_of(value: Any) -> Any:
    """Returns the JSON of a value unknown to pydantic; raises `TypeError` if there is none."""
    if isinstance(value, initializers.Initializer):
        if initializers.from_name(value.name) == value:
            return {"$initializer": value.name}
    elif _is_function(value):
        for prefix, holder in _FUNCTIONS.items():
            # Not by __name__: that of tf.nn.softmax is softmax_v2 (TensorFlow 2.21).
            name = next((n for n, each in vars(holder).items() if each is value), "_")
            if name[0] != "_":
                return {"$function": f"{prefix}.{name}"}
    elif callable(getattr(value, "get_config", None)):
        try:
            return {"$keras": keras.saving.serialize_keras_object(value)}
        except (TypeError, ValueError, NotImplementedError):
            pass
    raise TypeError(f"JSON cannot hold {value!r}")


def _written(value: Any, handler: Any) -> Any:
    """Marks values that pydantic would split or write as text, also inside containers."""
    marked = _with_marks(value)
    return marked if isinstance(value, float) and marked is not value else handler(marked)


def _with_marks(value: Any) -> Any:
    if isinstance(value, initializers.Initializer):
        return form_of(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": json.loads(pydantic_core.to_json(value, inf_nan_mode="strings"))}
    if hasattr(type(value), "__schema__"):
        cls = type(value)
        return {"$spec": [cls.__module__, cls.__qualname__, json.loads(value.to_json())]}
    if type(value) in (list, tuple):
        return [_with_marks(item) for item in value]
    if type(value) is dict:
        return {name: _with_marks(item) for name, item in value.items()}
    return value


def _read_marks(value: Any, handler: Any, info: Any) -> Any:
    """Reads marks, also inside lists and dicts."""
    return handler(_read(value) if info.mode == "json" else value)


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        mark, content = next(iter(value.items()))
        if mark in _MARKS:
            return _MARKS[mark](content)
    return {name: _read(item) for name, item in value.items()}


def _function(name: Any) -> Any:
    prefix, _, last = str(name).rpartition(".")
    holder = _FUNCTIONS.get(prefix)
    found = getattr(holder, last, None) if last[:1] != "_" else None
    if _is_function(found):
        return found
    names = [n for n in vars(holder) if n[0] != "_"] if holder is not None else list(_FUNCTIONS)
    raise SpecError(
        f"{name!r} is not a known function; JSON may name functions of {', '.join(_FUNCTIONS)}."
        f"{did_you_mean(last if holder is not None else prefix, names)}"
    )


def _is_function(value: Any) -> TypeGuard[Callable[..., Any]]:
    return isinstance(value, (types.FunctionType, types.BuiltinFunctionType))


def _initializer(name: Any) -> Any:
    found = initializers.from_name(str(name))
    if found is None:
        raise SpecError(f"{name!r} is not an initializer of nn.initializers.")
    return found


def _keras_object(config: Any) -> Any:
    try:
        return keras.saving.deserialize_keras_object(config, safe_mode=True)
    except NbfnError:
        raise
    except Exception as error:  # Keras raises various errors for an invalid config
        raise SpecError(f"Keras cannot make {config!r}: {str(error).splitlines()[0]}") from error


def _float(text: Any) -> float:
    if text not in _SPECIAL_FLOATS:
        raise SpecError(
            f"{text!r} is not a float that JSON marks; expected one of {_SPECIAL_FLOATS}."
        )
    return float(text)


def _spec(content: Any) -> Any:
    try:
        module, name, fields = content
        cls = SPECS[module, name]
    except (KeyError, TypeError, ValueError):
        raise SpecError(
            f"$spec is {content!r}, but there is no such nn.Spec. Define or import its class first."
        ) from None
    return cls.from_json(json.dumps(fields))


def _number(value: Any, handler: Any) -> Any:
    """Converts numbers of NumPy to Python's."""
    return handler(value.item() if isinstance(value, np.generic) else value)


def _special_float(value: Any, handler: Any, info: Any) -> Any:
    special = info.mode == "json" and value in _SPECIAL_FLOATS
    return _number(float(value) if special else value, handler)


def _from_plain(make: Callable[[Any], Any]) -> pydantic.WrapValidator:
    """Returns a validator that makes a value from its plain JSON form."""

    def read(value: Any, handler: Any, info: Any) -> Any:
        if info.mode == "json" and (value is None or isinstance(value, (str, list, dict))):
            try:
                value = make(value)
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise SpecError(f"cannot make one from {value!r}: {error}") from error
        return handler(value)

    return pydantic.WrapValidator(read)


def _sizes(shape: tf.TensorShape) -> list[int | None] | None:
    return None if shape.rank is None else shape.as_list()


def _spec_form(spec: tf.TensorSpec) -> dict[str, Any]:
    return {"shape": _sizes(spec.shape), "dtype": spec.dtype.name, "name": spec.name}


def _spec_of(form: Any) -> tf.TensorSpec:
    return tf.TensorSpec(form["shape"], tf.as_dtype(form["dtype"]), form.get("name"))


_MARKS: dict[str, Callable[[Any], Any]] = {
    "$function": _function,
    "$initializer": _initializer,
    "$keras": _keras_object,
    "$float": _float,
    "$spec": _spec,
}
_MARKING = (pydantic.WrapValidator(_read_marks), pydantic.WrapSerializer(_written))
_plain = pydantic.PlainSerializer
_NUMPY = (_from_plain(np.dtype), _plain(lambda dtype: dtype.str))
_LEAVES: dict[Any, Any] = {
    int: Annotated[int, pydantic.WrapValidator(_number)],
    float: Annotated[float, pydantic.WrapValidator(_special_float)],
    Any: Annotated[(Any, *_MARKING)],
    tf.DType: Annotated[tf.DType, _from_plain(tf.as_dtype), _plain(lambda d: d.name)],
    np.dtype: Annotated[(np.dtype, *_NUMPY)],
    np.dtype[Any]: Annotated[(pydantic.InstanceOf[np.dtype], *_NUMPY)],
    tf.TensorShape: Annotated[tf.TensorShape, _from_plain(tf.TensorShape), _plain(_sizes)],
    tf.TensorSpec: Annotated[tf.TensorSpec, _from_plain(_spec_of), _plain(_spec_form)],
}
