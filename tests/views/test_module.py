"""The tree of a module, as text and as HTML."""

from __future__ import annotations

import gc
import re
import weakref
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from nbfn import nn
from nbfn.views.bundle import bundle_of
from tests.harness.html import Page

X = tf.ones([2, 4])


class MLP(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = nn.BatchNorm()(nn.Dense(16)(x), training=False)
        return nn.Dense(2)(x)


def bound_mlp() -> Any:
    return MLP().bind(MLP().init(nn.key(0), X))


def test_the_tree_says_paths_shapes_dtypes_bytes_and_collections() -> None:
    bound = bound_mlp()
    bound(X)
    bundle = bundle_of(bound)
    page = Page(bundle["text/html"])
    assert set(page.tags) == {"div", "strong", "span", "details", "summary"}
    assert "Dense_0/kernel" in page.all("title")
    assert page.text.startswith("MLP 8 variables, 6 trainable, 712 B")
    assert "kernel: float32[4, 16] 256 B" in page.text
    assert "moving_mean: float32[16] batch_stats 64 B" in page.text
    text = bundle["text/plain"]
    assert text.splitlines()[0] == "MLP: 8 variables, 6 trainable, 712 B"
    assert "    kernel: float32[4, 16]  256 B" in text.splitlines()


@pytest.mark.parametrize("traced", [False, True])
def test_the_tree_has_the_shapes_of_the_last_call(traced: bool) -> None:
    bound = bound_mlp()
    call = tf.function(bound, reduce_retracing=False) if traced else bound
    assert "->" not in bundle_of(bound)["text/plain"]
    call(X)
    assert "Dense_1: Dense  (float32[2, 16] -> float32[2, 2])" in bundle_of(bound)["text/plain"]
    call(tf.ones([5, 4]))
    call(tf.ones([5, 4]))
    page = Page(bundle_of(bound)["text/html"])
    assert "float32[5, 16] → float32[5, 2]" in page.text
    assert "float32[2," not in page.text


def test_the_shapes_of_a_call_of_a_part_are_its_own() -> None:
    bound = bound_mlp()
    bound(X)
    bound["Dense_0"](tf.ones([7, 4]))
    text = bundle_of(bound)["text/plain"]
    assert "Dense_0: Dense  (float32[7, 4] -> float32[7, 16])" in text
    assert "/: MLP  (float32[2, 4] -> float32[2, 2])" in text


def test_a_call_leaves_no_tensor_behind() -> None:
    bound = bound_mlp()
    bound(tf.ones([1, 4]))
    big = tf.ones([1 << 16, 4])
    bound(big)
    seen = weakref.ref(big)
    del big
    gc.collect()
    assert seen() is None


def test_hostile_names_stay_text() -> None:
    name = '<img src=x onerror="alert(1)">'
    variables = {"params": {name: {"kernel": tf.ones([2, 2])}, "</details>": tf.ones([])}}

    class Evil(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(2, name=name, use_bias=False)(x)

    bound = Evil().bind(variables)
    bound(tf.ones([1, 2]))
    page = Page(bundle_of(bound)["text/html"])
    assert "img" not in page.tags
    assert name in page.text
    assert f"{name}/kernel" in page.all("title")
    assert "</details>: float32[]" in page.text


def test_shared_variables_are_marked() -> None:
    class Tied(nn.Module):
        def setup(self) -> None:
            self.a, self.b = nn.Dense(4), nn.Dense(4)

        def __call__(self, x: Any) -> Any:
            return self.b(self.a(x))

    tied = {"kernel": tf.Variable(tf.ones([4, 4])), "bias": tf.zeros([4])}
    bound = Tied().bind({"params": {"a": tied, "b": tied}})
    assert "the same as a/kernel" in Page(bundle_of(bound)["text/html"]).text
    assert "3 variables" in bundle_of(bound)["text/plain"]


def test_a_large_tree_is_folded_and_cut() -> None:
    names = [f"w{i}" for i in range(1200)]

    class Large(nn.Module):
        def setup(self) -> None:
            for each in names:
                self.param(each, nn.initializers.zeros, (1,))

    bound = Large().bind({"params": {each: tf.zeros([1]) for each in names}})
    bundle = bundle_of(bound)
    assert len(bundle["text/html"]) < 300_000
    assert "1,200 variables, 1,200 trainable" in bundle["text/plain"]
    assert "and 201 more" in bundle["text/html"]
    assert len(bundle["text/plain"].splitlines()) < 110
    small, deep = bundle_of(bound_mlp())["text/html"], Deep().bind(Deep().init(nn.key(0), X))
    deep(X)
    assert small.count("<details open") == small.count("<details")
    assert bundle_of(deep)["text/html"].count("<details open") == 1


class Deep(nn.Module):
    @nn.compact
    def __call__(self, x: Any) -> Any:
        for _ in range(30):
            x = nn.Dense(4)(x)
        return x


def test_a_template_is_shown_with_what_setup_declares() -> None:
    class Net(nn.Module):
        def setup(self) -> None:
            self.head = nn.Dense(3)

    bundle = bundle_of(Net())
    assert bundle["text/plain"] == "Net()"
    assert "head: Dense" in Page(bundle["text/html"]).text


def test_a_display_never_fails() -> None:
    class Net(nn.Module):
        def setup(self) -> None:
            self.half = self.param("w", nn.initializers.zeros, (4,)).shape[0] // 2

    html = bundle_of(Net())["text/html"]
    assert re.search(r"setup cannot run now: UnboundModuleError: .*&#x27;w&#x27;", html)


def test_a_structure_of_variables_is_named_from_its_module() -> None:
    class Net(nn.Module):
        def setup(self) -> None:
            self.inner = Cache()

        def __call__(self) -> Any:
            return self.inner()

    class Cache(nn.Module):
        @nn.compact
        def __call__(self) -> Any:
            made = self.variable("cache", "kv", lambda: {"k": tf.zeros([2]), "v": [tf.ones([])]})
            return made.value["k"]

    bound = Net().bind(Net().init(nn.key(0)))
    bound()
    text = bundle_of(bound)["text/plain"]
    assert "    kv  12 B\n      k: float32[2]  (cache)  8 B\n" in text
    assert "      v  4 B\n        0: float32[]  (cache)  4 B" in text
    assert "inner/kv/v/0" in Page(bundle_of(bound)["text/html"]).all("title")


class Odd:
    """An argument that looks like an array and is none."""

    __array__ = None

    @property
    def shape(self) -> Any:
        raise ValueError("no shape")


class Frame:
    """One with a shape that cannot be compared, and without a dtype."""

    shape = np.zeros([3])

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.ones([2, 4], np.float32)


def test_arguments_of_any_kind_are_no_problem() -> None:
    class Net(nn.Module):
        def setup(self) -> None:
            self.head = nn.Dense(3)

        def __call__(self, x: Any, odd: Any) -> Any:
            return self.head(x if tf.is_tensor(x) else tf.constant(np.asarray(x)))

    bound = Net().bind(Net().init(nn.key(0), X, None))
    for odd in (Odd(), Frame(), Frame(), None, "text"):
        assert bound(Frame(), odd).shape == [2, 3]
    unknown = tf.function(lambda x: bound(tf.ones([2, 4]), x))
    specs = [tf.TensorSpec(None), tf.TensorSpec([None, 2])]
    for spec in specs * 2:
        unknown.get_concrete_function(spec)
    assert "head: Dense" in bundle_of(bound)["text/plain"]
