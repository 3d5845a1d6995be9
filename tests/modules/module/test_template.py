"""Construction: modules as frozen dataclasses."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import pickle
from typing import Any

import pytest
import tensorflow as tf

from nbfn import NbfnError, nn
from tests.harness.messages import raises


class Base(nn.Module):
    width: int
    depth: int = 2


class Derived(Base):
    flag: bool = False


class Linear(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        shape = (x.shape[-1], self.features)
        return x @ self.param("w", nn.initializers.normal(1.0), shape)


def test_fields_come_in_order_of_inheritance_with_parent_and_name_last() -> None:
    names = [f.name for f in dataclasses.fields(Derived)]
    assert names == ["width", "depth", "flag", "parent", "name"]
    assert Derived(1, 2, True).flag is True


def test_parent_and_name_are_keyword_only() -> None:
    with pytest.raises(TypeError):
        Base(1, 2, None)
    assert Base(1, name="b").name == "b"


def test_kw_only_is_not_inherited() -> None:
    class Strict(nn.Module, kw_only=True):
        a: int = 0

    class Loose(Strict):
        b: int = 0

    with pytest.raises(TypeError):
        Strict(1)
    assert Loose(1).b == 1


@pytest.mark.parametrize("name", ["parent", "name", "variables", "apply"])
def test_reserved_fields_are_refused_at_class_creation(name: str) -> None:
    with raises(nn.ReservedFieldError):
        type("Bad", (nn.Module,), {"__annotations__": {name: int}})


@pytest.mark.parametrize("name", ["variables", "apply"])
def test_reserved_attributes_are_refused_in_setup(name: str) -> None:
    class Bad(nn.Module):
        def setup(self):
            setattr(self, name, nn.Dense(2))

        def __call__(self, x):
            return x

    with raises(nn.ReservedFieldError):
        Bad().init(nn.key(0), 1.0)


def test_construction_makes_no_variables() -> None:
    made = []

    def watch(create: Any, **kwargs: Any) -> Any:
        made.append(kwargs)
        return create(**kwargs)

    with tf.variable_creator_scope(watch):
        module = nn.Dense(3)
    assert made == []
    assert module.variables == ()
    assert module.submodules == ()


def test_a_field_without_init_belongs_to_setup() -> None:
    class Computed(nn.Module):
        a: int
        double: int = dataclasses.field(init=False)

        def setup(self):
            self.double = 2 * self.a

        def __call__(self):
            return self.double

    assert Computed(3).apply({}) == 6
    assert Computed(3) == Computed(3)
    assert repr(Computed(3)) == "Computed(a=3)"


def test_post_init_may_set_attributes_before_super() -> None:
    class Post(nn.Module):
        a: int

        def __post_init__(self):
            self.b = self.a + 1
            super().__post_init__()

    assert Post(1).b == 2
    assert Post(1).clone(a=4).b == 5


@pytest.mark.parametrize("use", ["init", "apply", "bind", "clone"])
def test_post_init_without_super_is_refused_when_used(use: str) -> None:
    class Forgetful(nn.Module):
        def __post_init__(self):
            pass

        def __call__(self):
            return 1

    module = Forgetful()
    args = {"init": (nn.key(0),), "apply": ({},), "bind": ({},), "clone": ()}[use]
    with raises(nn.PostInitError):
        getattr(module, use)(*args)


def test_top_level_modules_are_frozen() -> None:
    module = Base(1)
    with raises(nn.FrozenModuleError):
        module.width = 2
    with pytest.raises(nn.FrozenModuleError):
        module.extra = 2
    with pytest.raises(nn.FrozenModuleError):
        del module.width
    assert module.width == 1
    assert isinstance(nn.FrozenModuleError(""), AttributeError)
    assert isinstance(nn.FrozenModuleError(""), NbfnError)


def test_bound_modules_are_frozen() -> None:
    bound = Linear(2).bind(Linear(2).init(nn.key(0), tf.ones((1, 2))))
    with pytest.raises(nn.FrozenModuleError):
        bound.features = 3


def test_setup_may_not_overwrite_arguments() -> None:
    class Overwriting(nn.Module):
        a: int

        def setup(self):
            self.a = 2

        def __call__(self):
            return self.a

    with raises(nn.SetupFieldError):
        Overwriting(1).apply({})


def test_autoreload_may_replace_the_class() -> None:
    class Newer(nn.Module):
        width: int
        depth: int = 2

        def area(self):
            return self.width * self.depth

    module = Base(3)
    module.__class__ = Newer
    assert module.area() == 6


def test_unbound_modules_compare_by_arguments() -> None:
    assert Base(1) == Base(1, 2)
    assert hash(Base(1)) == hash(Base(1, 2))
    assert Base(1) != Base(2)
    assert Base(1) != Derived(1)
    assert Base(1) != Base(1, name="b")
    assert Base([1]) == Base([1])
    assert hash(Base([1])) == hash(Base([1]))


def test_bound_modules_compare_by_identity() -> None:
    variables = Linear(2).init(nn.key(0), tf.ones((1, 2)))
    a, b = Linear(2).bind(variables), Linear(2).bind(variables)
    assert a == a
    assert a != b
    assert len({a, b}) == 2
    assert a != Linear(2)


def test_repr_runs_no_setup() -> None:
    class Loud(nn.Module):
        width: int
        depth: int = 2

        def setup(self):
            raise AssertionError("setup ran")

    assert repr(Loud(3)) == "Loud(width=3)"
    assert repr(Loud(3).bind({})) == "Loud(width=3)"


def test_asking_for_notebook_reprs_runs_no_setup() -> None:
    class Loud(nn.Module):
        def setup(self):
            raise AssertionError("setup ran")

    for probe in ("_repr_html_", "_ipython_display_", "__wrapped__", "_self_setattr_tracking"):
        assert not hasattr(Loud().bind({}), probe)


def test_modules_are_not_iterable() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        iter(Base(1))


def test_a_property_that_fails_names_itself() -> None:
    class Hiding(nn.Module):
        @property
        def broken(self):
            return self.no_such_thing

    with raises(nn.PropertyError):
        _ = Hiding().bind({}).broken


def test_an_unknown_attribute_suggests_a_near_one() -> None:
    class Setup(nn.Module):
        def setup(self):
            self.decoder = nn.Dense(2)

    with raises(nn.UnknownAttributeError):
        _ = Setup().bind({}).decodr
    with raises(nn.UnboundAttributeError):
        _ = Setup().decodr


def test_lifecycle_methods_on_the_class_are_refused() -> None:
    with raises(nn.InstanceError):
        Linear.init(nn.key(0), tf.ones((1, 2)))


def test_a_clone_is_made_from_the_original_arguments() -> None:
    """Flax Module lifecycle, section "Cloning": fields that __post_init__ changes change once."""

    class Doubled(nn.Module):
        width: int
        depth: int = -1

        def __post_init__(self) -> None:
            self.width = 2 * self.width
            if self.depth < 0:
                self.depth = 3 * self.width
            super().__post_init__()

        def __call__(self) -> Any:
            return self.width, self.depth

    module = Doubled(2)
    assert (module.width, module.depth) == module.apply({}) == module.bind({})() == (4, 12)
    lifted = nn.jit(lambda m: (m.width + tf.zeros([]), m.depth + tf.zeros([])))
    assert lifted(module.bind({})) == (4.0, 12.0)
    assert nn.remat(Doubled)(2).bind({})() == (4, 12)
    assert module.clone().clone()() == (4, 12)
    assert module.clone(width=5)() == (10, 30)
    assert module.bind({}).unbind()[0]() == module.bind({}).view()() == (4, 12)
    assert module == Doubled(2) != Doubled(3)
    assert repr(module) == "Doubled(width=2)"


class AutoEncoder(nn.Module):
    ran: list[str]

    def setup(self):
        self.ran.append("setup")
        self.decoder = nn.Dense(3)
        self.parts = {"a": [nn.Dense(2)]}
        self.scale = self.param("scale", nn.initializers.ones, [])
        self.size = 7

    def __call__(self, x):
        return self.decoder(x) * self.scale


def test_submodules_of_setup_are_attributes_of_an_unbound_module() -> None:
    """Flax Module lifecycle, "Setup for unbound Modules"."""
    ae = AutoEncoder([])
    x = tf.ones([1, 2])
    decoder_variables = {"params": ae.init(nn.key(0), x)["params"]["decoder"]}
    y = ae.decoder.apply(decoder_variables, x)
    tf.debugging.assert_near(y, x @ decoder_variables["params"]["kernel"])
    assert ae.decoder is ae.decoder is ae["decoder"]
    assert ae.parts["a"][0] == nn.Dense(2)
    assert ae.size == 7
    with raises(nn.UnboundAttributeError):
        _ = ae.scale
    with raises(nn.UnboundAttributeError):
        _ = ae.decoderr


def test_only_code_that_names_an_attribute_runs_setup_of_an_unbound_module() -> None:
    ran: list[str] = []
    ae = AutoEncoder(ran)
    assert not hasattr(ae, "foo")
    assert not hasattr(ae, "decoder")
    assert getattr(ae, "decoder", None) is None
    repr(ae), dir(ae), copy.copy(ae), copy.deepcopy(ae), pickle.dumps(ae), ae.clone()
    ae == AutoEncoder(ran)  # noqa: B015
    assert ran == []
    assert ae.decoder == nn.Dense(3)
    assert ran == ["setup"]
    with pytest.raises(AttributeError):
        _ = ae.foo
    assert ran == ["setup"]


def test_an_error_in_setup_says_why_an_unbound_module_lacks_an_attribute() -> None:
    class Computes(nn.Module):
        def setup(self):
            self.double = 2.0 * self.param("w", nn.initializers.ones, [])

    with pytest.raises(nn.UnboundAttributeError) as raised:
        _ = Computes().double
    assert isinstance(raised.value.__cause__, TypeError)


def test_a_post_init_may_ask_for_what_setup_gives() -> None:
    made: list[str] = []

    class Asks(nn.Module):
        def __post_init__(self):
            made.append("asks")
            super().__post_init__()
            with contextlib.suppress(AttributeError):
                _ = self.decoder

        def setup(self):
            self.decoder = nn.Dense(2)

    assert Asks().decoder == nn.Dense(2)
    assert len(made) == 2  # itself, and the private copy on which setup ran


def test_setup_of_another_module_does_not_get_submodules_of_its_own() -> None:
    """They would be others than those that the module has once it is assigned."""

    class Reads(nn.Module):
        def setup(self):
            inner = AutoEncoder([])
            self.decoder = inner.decoder
            self.inner = inner

        def __call__(self, x):
            return self.decoder(x)

    with raises(nn.UnboundAttributeError):
        Reads().init(nn.key(0), tf.ones([1, 2]))


class Coder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(3)

    def __call__(self, x):
        return self.encoder(x)

    def encode(self, x):
        return self.encoder(x)


def test_a_method_of_an_unbound_module_says_how_to_call_it() -> None:
    coder, x = Coder(), tf.ones([2, 4])
    variables = coder.init(nn.key(0), x)
    for _ in range(2):
        with raises(nn.UnboundAttributeError):
            coder.encode(x)
    with raises(nn.UnboundAttributeError):
        coder(x)
    assert coder.encoder == nn.Dense(3, parent=None)
    one = coder.apply(variables, x, method="encode")
    assert (one == coder.bind(variables).encode(x)).numpy().all()


def test_the_error_of_an_init_of_its_own_has_what_to_write() -> None:
    class Net(nn.Module):
        def __init__(self, features, rate: float = 0.5, *rest):
            self.features, self.rate = features, rate

        @nn.compact
        def __call__(self, x):
            return nn.Dense(self.features)(x)

    class Fine(nn.Module):
        features: int
        rate: float = 0.5

        __call__ = nn.compact(lambda self, x: nn.Dense(self.features)(x))

    for use in (lambda m: m.init(nn.key(0), tf.ones([1, 2])), lambda m: m.bind({})):
        with raises(nn.PostInitError):
            use(Net(3))
    Fine(3).init(nn.key(0), tf.ones([1, 2]))
