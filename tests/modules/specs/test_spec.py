"""Specs: validation, immutability, JSON, and what a wrong definition says."""

from __future__ import annotations

import copy
import dataclasses
import enum
import gc
import math
import pickle
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import pytest
import tensorflow as tf

from nbfn import nn
from tests.harness.messages import raises


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


class Inner(nn.Spec):
    rate: float = 0.5


class Special(Inner):
    extra: int


class Outer(nn.Spec):
    """Everything a field may be."""

    inner: Inner
    size: int | tuple[int, int] = 3
    names: list[str] = ["a"]  # noqa: RUF012  (each spec copies it)
    mode: Mode = Mode.FAST
    limit: float = 1.0
    maybe: float | None = None
    kind: Literal["x", "y"] = "x"
    many: dict[str, Inner] = {}  # noqa: RUF012  (the same)
    children: tuple[Outer, ...] = ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("size", "3"),
        ("size", True),
        ("size", 3.0),
        ("size", [3, 3]),
        ("names", ("a",)),
        ("mode", "fast"),
        ("kind", "z"),
        ("inner", {"rate": 0.5}),
        ("many", {"a": 3}),
    ],
)
def test_a_wrong_type_is_refused_and_never_converted(field: str, value: Any) -> None:
    with raises(nn.SpecError):
        Outer(**{"inner": Inner(), field: value})


def test_all_that_is_wrong_is_said_at_once() -> None:
    with raises(nn.SpecError) as caught:
        Outer(innr=Inner(), size="3")
    assert isinstance(caught.value, (TypeError, ValueError))


def test_a_wrong_default_is_refused_when_it_is_used() -> None:
    class Wrong(nn.Spec):
        rate: float = "high"  # type: ignore[assignment]

    with raises(nn.SpecError):
        Wrong()
    assert Wrong(rate=1.0).rate == 1.0


def test_specs_are_immutable() -> None:
    spec = Inner()
    with raises(nn.FrozenSpecError):
        spec.rate = 1.0
    with pytest.raises(nn.FrozenSpecError):
        del spec.rate
    assert spec.replace(rate=1.0) == Inner(rate=1.0)
    assert spec.rate == 0.5
    with raises(nn.SpecFieldError):
        spec.replace(rte=1.0)


def test_the_mapping_holds_fields_only() -> None:
    spec = Inner()
    assert dict(spec) == {"rate": 0.5}
    assert "replace" not in spec
    assert spec.get("as_dict") is None
    with pytest.raises(KeyError):
        spec["to_json"]
    assert {**spec} == {"rate": 0.5}


def test_an_empty_spec_is_true() -> None:
    class Empty(nn.Spec):
        pass

    spec = Empty()
    assert len(spec) == 0
    assert (spec or None) is spec


def test_equality_and_hash() -> None:
    assert Inner(rate=1.0) == Inner(rate=1.0) != Inner(rate=2.0)
    assert hash(Outer(inner=Inner())) == hash(Outer(inner=Inner()))
    assert Special(extra=1) != Inner()
    assert Inner() == {"rate": 0.5}
    assert len({Inner(), Inner(), Inner(rate=1.0)}) == 2


def test_copies_and_pickles() -> None:
    spec = Outer(inner=Special(extra=1))
    assert copy.deepcopy(spec) == spec
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_as_dict_is_deep() -> None:
    spec = Outer(inner=Inner(), many={"a": Inner()})
    plain = spec.as_dict()
    assert plain["inner"] == {"rate": 0.5}
    assert type(plain["many"]["a"]) is dict
    plain["names"].append("b")
    assert spec.names == ["a"]

    class Several(nn.Spec):
        parts: frozenset[Inner]
        names: frozenset[str]

    several = Several(parts=frozenset([Inner()]), names=frozenset("a"))
    assert several.as_dict() == {"parts": [{"rate": 0.5}], "names": frozenset("a")}


def test_from_superset() -> None:
    assert Inner.from_superset({"rate": 1.0, "other": 2}) == Inner(rate=1.0)


def test_json_round_trip_keeps_types_and_classes() -> None:
    spec = Outer(
        inner=Special(extra=1, rate=math.inf),
        size=(1, 2),
        mode=Mode.SLOW,
        maybe=-math.inf,
        many={"a": Inner(), "b": Special(extra=2)},
        children=(Outer(inner=Inner(rate=2.0)),),
    )
    again = Outer.from_json(spec.to_json(indent=2))
    assert again == spec
    assert type(again.inner) is Special
    assert type(again.size) is tuple
    assert again.mode is Mode.SLOW


def test_nan_survives_json() -> None:
    assert math.isnan(Inner.from_json(Inner(rate=math.nan).to_json()).rate)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"rate": "x"}',
        '{"rat": 1.0}',
    ],
)
def test_wrong_json_is_refused(text: str) -> None:
    with raises(nn.SpecError):
        Inner.from_json(text)


def test_wrong_nested_json_names_the_place() -> None:
    with raises(nn.SpecError):
        Outer.from_json('{"inner": {"rte": 1.0}}')
    with raises(nn.SpecError):
        Outer.from_json('{"inner": {"$kind": "Speciel"}}')


def there(x: Any) -> Any:
    return x


def test_what_json_cannot_hold_is_named() -> None:
    class Holder(nn.Spec):
        good: int = 1
        activation: Callable[..., Any] = there

    with raises(nn.SpecError):
        Holder().to_json()


def test_fields_may_be_called_as_pydantic_calls_its_own() -> None:
    class Odd(nn.Spec):
        copy: int = 1
        schema: str = "s"
        model_config: int = 2

    assert dict(Odd(copy=3)) == {"copy": 3, "schema": "s", "model_config": 2}
    assert Odd.from_json(Odd().to_json()) == Odd()


def test_methods_constants_and_nested_classes_need_no_annotation() -> None:
    class Rich(nn.Spec):
        LIMIT = 3
        shared: ClassVar[int] = 4
        rate: float = 0.5

        class Nested(nn.Spec):
            x: int = 1

        @property
        def double(self) -> float:
            return 2 * self.rate

        def times(self, n: int) -> float:
            return n * self.rate

    assert list(Rich()) == ["rate"]
    assert (Rich().double, Rich().times(3), Rich.shared, Rich.Nested().x) == (1.0, 1.5, 4, 1)


@pytest.mark.parametrize("value", [1, [1], tf.nn.relu, lambda x: x, nn.Dense])
def test_data_needs_an_annotation(value: Any) -> None:
    with raises(nn.SpecDefinitionError):
        type("Wrong", (nn.Spec,), {"option": value, "__qualname__": "Wrong"})


def test_a_field_may_not_hide_a_method() -> None:
    with raises(nn.SpecDefinitionError):

        class Wrong(nn.Spec):
            keys: int = 1


def test_fields_are_checked_together_in_post_init() -> None:
    class Range(nn.Spec):
        low: int
        high: int

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("low > high")

    with pytest.raises(ValueError, match="low > high"):
        Range(low=2, high=1)
    with pytest.raises(ValueError, match="low > high"):
        Range.from_json('{"low": 2, "high": 1}')


def test_dataclass_fields_are_understood() -> None:
    class Made(nn.Spec):
        items: ClassVar[int] = 0
        sizes: list[int] = dataclasses.field(default_factory=lambda: [7])

    assert Made().sizes == [7]
    assert Made().sizes is not Made().sizes


def test_an_unknown_annotation_is_named() -> None:
    class Lost(nn.Spec):
        field: Nowhere  # type: ignore[name-defined]  # noqa: F821

    with raises(nn.SpecError):
        Lost(field=1)


def test_the_signature_shows_the_fields() -> None:
    import inspect

    assert list(inspect.signature(Special).parameters) == ["rate", "extra"]


def test_annotations_as_text_name_what_the_function_around_has() -> None:
    class Big:
        pass

    def defined() -> Any:
        kept = Big()

        class Local(nn.Spec):
            rate: float = 0.5

        class Outer(nn.Spec):
            inner: Local = Local()
            more: list[Local] | None = None

        class Part(nn.Module):
            class Config(nn.Spec):
                inner: Local = Local()

        return Outer, Part, Local, weakref.ref(kept)

    outer, part, local, kept = defined()
    assert outer(inner=local(rate=0.25)).inner.rate == 0.25
    assert part.Config(inner=local(rate=0.25)).inner.rate == 0.25
    with raises(nn.SpecError):
        outer(inner=3)
    gc.collect()
    assert kept() is None, "what no annotation names is not kept alive"
