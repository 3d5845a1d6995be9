"""What JSON has no form for, in the JSON of a spec; and where a wrong value stands."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Annotated, Any

import keras
import numpy as np
import pydantic
import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises


class Inner(nn.Spec):
    rate: float = 0.5


class Types(nn.Spec):
    dtype: tf.DType = tf.float32
    numpy: np.dtype[Any] = np.dtype("int64")
    shape: tf.TensorShape = tf.TensorShape([None, 3])
    spec: tf.TensorSpec = tf.TensorSpec([None, 3], tf.int32, "x")
    maybe: tf.DType | None = None
    many: tuple[tf.DType, ...] = ()


class Functions(nn.Spec):
    activation: str | Callable[..., Any] | None = None
    function: Callable[[Any], Any] = tf.nn.relu
    anything: Any = None


def there_and_back(spec: Any) -> Any:
    return type(spec).from_json(spec.to_json())


@pytest.mark.parametrize("changes", [{}, {"maybe": tf.int8, "many": (tf.bool, tf.bfloat16)}])
def test_dtypes_and_shapes_become_json_and_back(changes: Any) -> None:
    spec = Types(dtype=tf.bfloat16, shape=tf.TensorShape(None), **changes)
    made = there_and_back(spec)
    assert made == spec
    assert isinstance(made.dtype, tf.DType)
    assert isinstance(made.spec, tf.TensorSpec)
    assert json.loads(spec.to_json())["dtype"] == "bfloat16"


@pytest.mark.parametrize("text", ['{"dtype": "float33"}', '{"dtype": 3}', '{"shape": ["a"]}'])
def test_a_wrong_dtype_or_shape_in_json_is_refused(text: str) -> None:
    with pytest.raises(nn.SpecError, match=r"'(dtype|shape)'"):
        Types.from_json(text)


@pytest.mark.parametrize(
    "function",
    [nn.relu, nn.gelu, nn.swish, tf.nn.softmax, tf.math.square, keras.activations.mish],
)
def test_known_functions_become_json_and_back(function: Any) -> None:
    spec = Functions(activation=function, function=function, anything={"a": [function]})
    made = there_and_back(spec)
    assert made.activation is made.function is made.anything["a"][0] is function


def test_a_name_stays_a_name() -> None:
    assert there_and_back(Functions(activation="relu")).activation == "relu"


@pytest.mark.parametrize(
    "initializer",
    [
        nn.initializers.zeros,
        nn.initializers.normal(stddev=0.2),
        nn.initializers.he_uniform(),
        nn.initializers.constant(-1.5),
    ],
)
def test_initializers_become_json_and_back(initializer: Any) -> None:
    made = there_and_back(nn.Dense.Config(features=2, kernel_initializer=initializer))
    assert made.kernel_initializer == initializer
    key = nn.key(0)
    tf.debugging.assert_equal(made.kernel_initializer(key, [3, 2]), initializer(key, [3, 2]))
    assert pickle.loads(pickle.dumps(initializer)) == initializer


def test_keras_objects_become_json_and_back() -> None:
    config = nn.Dense.Config(
        features=2,
        kernel_initializer=keras.initializers.HeNormal(seed=3),
        kernel_regularizer=keras.regularizers.L2(0.25),
    )
    made = there_and_back(config)
    assert isinstance(made.kernel_initializer, keras.initializers.HeNormal)
    assert made.kernel_regularizer.get_config() == {"l2": 0.25}
    assert "loss" in there_and_back(config).make().init_with_output(
        nn.key(0), tf.ones([1, 2]), mutable=["params", "losses"]
    )[1].get("losses", {"loss": 0})


@pytest.mark.parametrize(
    "text",
    [
        '{"anything": {"$function": "os.system"}}',
        '{"anything": {"$function": "tf.nn.relux"}}',
        '{"anything": {"$function": "tf.nn.relu.__globals__"}}',
        '{"anything": {"$initializer": "__import__(\'os\')"}}',
        '{"anything": {"$initializer": "normal(stddev=key(0))"}}',
        '{"anything": {"$initializer": "Initializer()"}}',
        '{"anything": {"$keras": {"module": "os", "class_name": "system", "config": {}}}}',
        '{"function": "relu"}',
    ],
)
def test_json_reaches_nothing_but_known_functions_and_initializers(text: str) -> None:
    with pytest.raises(nn.SpecError, match=r"'(anything|function)'"):
        Functions.from_json(text)


def test_functions_of_the_user_have_no_json() -> None:
    with raises(nn.SpecError):
        Functions(activation=lambda x: x).to_json()


class Added(nn.Spec):
    """A class that got fields after its JSON was written."""

    old: int
    inner: Inner = Inner(rate=0.25)
    pair: tuple[int, int] = (1, 2)
    kinds: frozenset[str] = frozenset({"a"})
    function: Callable[[Any], Any] = tf.nn.relu
    config: nn.Spec = nn.Dense.Config(features=3)


def test_fields_with_defaults_may_be_added_later() -> None:
    assert Added.from_json('{"old": 1}') == Added(old=1)


class Deep(nn.Spec):
    table: dict[str, list[int]] = {}  # noqa: RUF012  (each spec copies it)
    inners: list[Inner] = []  # noqa: RUF012
    size: int | tuple[int, int] = 1
    share: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.5


def test_a_wrong_value_deep_inside_is_named_by_its_path() -> None:
    with raises(nn.SpecError):
        Deep(table={"a": [1, "x"]})
    with raises(nn.SpecError):
        Deep.from_json('{"inners": [{}, {"rate": "x"}]}')
    with raises(nn.SpecError):
        Deep(share=2.0)


def test_what_fits_no_part_of_a_union_is_said_once() -> None:
    with raises(nn.SpecError):
        Deep(size="s")


def test_json_that_is_no_object_is_called_so() -> None:
    with raises(nn.SpecError):
        Deep.from_json("[1]")


def test_annotations_may_carry_what_is_not_hashable() -> None:
    class Noted(nn.Spec):
        rate: Annotated[float, {"unit": "1/s"}] = 1.0

    assert there_and_back(Noted(rate=float("inf"))).rate == float("inf")


class Loose(nn.Spec):
    text: str | float = "a"
    number: float | str | None = None
    many: tuple[float | str, ...] = ()
    anything: Any = None


def again(spec: nn.Spec) -> Any:
    return type(spec).from_json(spec.to_json())


@pytest.mark.filterwarnings("error")
def test_text_that_looks_like_a_special_float_stays_text() -> None:
    for value in ("NaN", "Infinity", "-Infinity", float("inf"), float("-inf"), 2.0):
        made = again(Loose(text=value, number=value, many=("b", value)))
        assert (made.text, made.number, made.many) == (value, value, ("b", value))
        assert type(made.text) is type(made.number) is type(made.many[1]) is type(value)
    assert np.isnan(again(Loose(text=float("nan"))).text)


@pytest.mark.filterwarnings("error")
def test_anything_keeps_special_floats_and_specs() -> None:
    made = again(Loose(anything=[{"a": float("inf")}, Inner(rate=2.0), "NaN", float("nan")]))
    assert made.anything[:3] == [{"a": float("inf")}, Inner(rate=2.0), "NaN"]
    assert isinstance(made.anything[1], Inner)
    assert np.isnan(made.anything[3])
    assert again(Loose(anything=Inner(rate=float("-inf")))).anything.rate == float("-inf")
    with raises(nn.SpecError):
        Loose.from_json('{"anything": {"$spec": ["os", "system", {}]}}')
    with raises(nn.SpecError):
        Loose.from_json('{"anything": {"$float": "1.5"}}')


class Numbers(nn.Spec):
    count: int
    rate: float = 0.5
    sizes: tuple[int, ...] = ()


def test_numbers_of_numpy_are_numbers() -> None:
    spec = Numbers(count=np.int64(3), rate=np.float32(0.25), sizes=(np.int8(1), 2))
    assert dict(spec) == {"count": 3, "rate": 0.25, "sizes": (1, 2)}
    assert [type(v) for v in (spec.count, spec.rate, spec.sizes[0])] == [int, float, int]
    assert again(spec) == spec
    for wrong in (np.float32(3.0), np.bool_(True), True):
        with raises(nn.SpecError):
            Numbers(count=wrong)
    assert nn.Dense.Config(features=np.int64(3)).features == 3
