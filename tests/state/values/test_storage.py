"""What code reads through the methods of a library's object is guarded."""

from __future__ import annotations

import configparser
import string
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
import pytest
import tensorflow as tf
from scipy.interpolate import CubicSpline
from scipy.spatial import cKDTree
from sklearn.linear_model import LinearRegression

import nbfn
from nbfn.state.values.introspection import own_attributes
from nbfn.state.values.storage import library_bases, read_by_methods

ONE = tf.constant(1.0)

LIBRARY = '''
class Fields:
    """As `ml_collections.ConfigDict`."""

    def __init__(self, **fields):
        object.__setattr__(self, "_fields", fields)

    def __getattr__(self, name):
        return self[name]

    def __setattr__(self, name, value):
        self._fields[name] = value

    def __getitem__(self, name):
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(name) from None


class Nodes:
    """As OmegaConf."""

    def __init__(self, **values):
        self.__dict__["_content"] = {name: Node(value) for name, value in values.items()}
        self.__dict__["_read_cache"] = {}

    def __getattr__(self, name):
        self.__dict__["_read_cache"][name] = len(self.__dict__["_read_cache"])
        return self.__dict__["_content"][name].value()

    def __setattr__(self, name, value):
        self.__dict__["_content"][name].set(value)


class Node:
    def __init__(self, value):
        self._value = value

    def value(self):
        return self._value

    def set(self, value):
        self._value = value


class Bar:
    """As `tqdm`."""

    def __init__(self, items):
        self.items, self.number, self.seconds = items, 0, 0.0

    def __iter__(self):
        for each in self.items:
            yield each
            self.number += 1
            self.seconds = self.number / 7

    def describe(self, text):
        return f"{text}: {self.number} in {self.seconds} s"


class Slots:
    __slots__ = ("_rate",)

    def __init__(self, rate):
        self._rate = rate

    def rate(self):
        return self._rate

    def set_rate(self, rate):
        self._rate = rate


class Table:
    def __init__(self, size):
        self._rows = {str(i): float(i) for i in range(size)}

    def total(self):
        return sum(self._rows.values())
'''


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "nbfn_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(folder)
    import nbfn_library  # type: ignore[import-not-found]

    yield nbfn_library
    del sys.modules["nbfn_library"]


def check_changes(f: Any, plain: Callable[[Any], Any], *changes: Callable[[], object]) -> None:
    """Checks that each change is seen, that it is one trace, and that nothing else makes one."""
    assert float(f(ONE)) == pytest.approx(float(plain(ONE)))
    for number, change in enumerate(changes, start=2):
        change()
        for _ in range(3):
            assert float(f(ONE)) == pytest.approx(float(plain(ONE)))
        assert len(f.traces) == number


def test_fields_behind_attributes(library: Any) -> None:
    config = library.Fields(rate=2.0, inner=library.Fields(scale=3.0))

    def plain(x: Any) -> Any:
        return x * config.rate + config.inner.scale

    def change(name: str, value: Any) -> Callable[[], None]:
        return lambda: setattr(config.inner if name == "scale" else config, name, value)

    f = nbfn.function(plain)
    check_changes(f, plain, change("rate", 5.0), change("scale", 7.0))
    assert [each.causes[0].sentence for each in f.retraces] == [
        "attribute `config.rate` was 2.0, is 5.0",
        "attribute `config.inner.scale` was 3.0, is 7.0",
    ]


def test_objects_behind_attributes(library: Any) -> None:
    config = library.Nodes(rate=2.0, other=1.0)

    def plain(x: Any) -> Any:
        return x * config.rate

    check_changes(nbfn.function(plain), plain, lambda: setattr(config, "rate", 4.0))


def test_slots(library: Any) -> None:
    settings = library.Slots(2.5)

    def plain(x: Any) -> Any:
        return x * settings.rate()

    f = nbfn.function(plain)
    check_changes(f, plain, lambda: settings.set_rate(1e9), lambda: settings.set_rate(0.5))


def test_records_of_methods_make_no_trace(library: Any) -> None:
    bar, config, tracings = library.Bar(range(5)), library.Nodes(rate=2.0, other=1.0), []

    @nbfn.function
    def f(x: Any) -> Any:
        bar.describe("step")
        tracings.append(x)
        return x * config.rate

    assert [float(f(ONE)) for _ in bar] == [2.0] * 5
    assert config.other == 1.0  # which is written to a cache
    assert float(f(ONE)) == 2.0
    assert (len(tracings), bar.number) == (1, 5)


def test_a_subclass_of_a_users_and_an_argument(library: Any) -> None:
    class Mine(library.Fields):  # type: ignore[misc]
        factor = 10.0

    config = Mine(rate=2.0)

    @nbfn.function
    def f(config: Any, x: Any) -> Any:
        return x * config.rate * config.factor

    assert float(f(config, ONE)) == 20.0
    config.rate = 3.0
    assert float(f(config, ONE)) == 30.0
    Mine.factor = 1.0
    assert float(f(config, ONE)) == 3.0


def test_large_containers_are_not_compared(library: Any) -> None:
    small, large = library.Table(10), library.Table(1000)
    f = nbfn.function(lambda x: x * small.total() + large.total())
    assert float(f(ONE)) == 45.0 + 499_500.0
    large._rows["0"] = 1.0
    assert float(f(ONE)) == 45.0 + 499_500.0
    small._rows["0"] = 1.0
    assert float(f(ONE)) == 46.0 + 499_501.0


def test_a_large_container_in_a_small_one_is_one_source(library: Any) -> None:
    config = library.Fields(rate=2.0, words={str(i): i for i in range(1000)})
    f = nbfn.function(lambda x: x * config.rate + config.words["7"])
    assert float(f(ONE)) == 9.0
    assert len(f.recorder.guards.fingerprints()) < 20
    config.words["7"] = 8
    assert float(f(ONE)) == 10.0


def _parser(rate: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser()
    found["model"] = {"rate": rate}
    return found


def _model() -> LinearRegression:
    return LinearRegression().fit(np.eye(2), np.array([1.0, 2.0]))


LIBRARIES: dict[str, tuple[Any, Callable[[Any], float], Callable[[Any], object]]] = {
    "string": (
        string.Template("$a"),
        lambda t: float(t.substitute(a=2)),
        lambda t: setattr(t, "template", "1$a"),
    ),
    "configparser": (
        _parser("0.5"),
        lambda p: p.getfloat("model", "rate"),
        lambda p: p.set("model", "rate", "0.7"),
    ),
    "ipywidgets": (
        ipywidgets.FloatSlider(value=2.0),
        lambda slider: slider.value,
        lambda slider: setattr(slider, "value", 5.0),
    ),
    "sklearn": (
        _model(),
        lambda model: float(model.predict(np.ones((1, 2)))[0]),
        lambda model: model.fit(np.eye(2), np.array([5.0, 2.0])),
    ),
    "scipy": (
        CubicSpline([0, 1, 2], [0.0, 1.0, 4.0]),
        lambda spline: float(spline(1.5)),
        lambda spline: spline.c.__setitem__((3, 1), 50.0),
    ),
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_objects_of_libraries(name: str) -> None:
    value, read, change = LIBRARIES[name]

    def plain(x: Any) -> Any:
        return x * read(value)

    check_changes(nbfn.function(plain), plain, lambda: change(value))


def test_only_the_traits_of_a_widget_that_are_read_count() -> None:
    slider, tracings = ipywidgets.FloatSlider(value=2.0), []

    @nbfn.function
    def f(x: Any) -> Any:
        tracings.append(x)
        return x * slider.value

    assert float(f(ONE)) == 2.0
    slider.description = "gain"
    assert float(f(ONE)) == 2.0
    assert len(tracings) == 1
    slider.value = 3.0
    assert float(f(ONE)) == 3.0


def test_what_methods_assign_themselves() -> None:
    class Base:
        pass

    source = """
class Counter(Base):
    def __call__(self):
        self._count()
        return self.rate

    def _count(self):
        self.calls += 1

    def reset(self):
        self.rate = 0.0
"""
    names: dict[str, Any] = {"Base": Base, "__name__": "sklearn.imitation"}
    exec(source, names)  # its module is a library's
    sys.modules["sklearn.imitation"] = type(sys)("sklearn.imitation")
    sys.modules["sklearn.imitation"].__file__ = tf.__file__
    try:
        cls = names["Counter"]
        assert library_bases(cls) == (cls,)
        found = read_by_methods(cls, set(), set())
        assert {"rate", "calls", "_count"} <= found.names
        assert found.assigned == {"calls"}
        assert read_by_methods(cls, {"reset"}, set()).assigned == {"calls", "rate"}
        assert read_by_methods(cls, set(), {"reset"}).assigned == {"calls"}
    finally:
        del sys.modules["sklearn.imitation"]


def test_properties_of_cython() -> None:
    tree = cKDTree(np.zeros((1000, 2)))
    f = nbfn.function(lambda x: x * tree.n)
    assert float(f(ONE)) == 1000.0
    assert f.recorder.guards._own.holds()  # although the number is another object at each look

    class Made(np.ndarray):  # type: ignore[type-arg]
        __reduce_cython__ = None
        shape, flat = vars(np.ndarray)["shape"], vars(np.ndarray)["flat"]

    assert own_attributes(np.zeros(3).view(Made)) == {"shape": (3,)}  # `flat` is always another


@pytest.mark.filterwarnings("ignore:.*only while it is traced:nbfn.NbfnWarning")
def test_an_event_is_guarded_and_locks_are_no_state() -> None:
    stop, lock = threading.Event(), threading.RLock()

    @nbfn.function
    def step(x: Any) -> Any:
        with lock:
            return -x if stop.is_set() else x

    found = [float(step(ONE))]
    stop.set()
    found.append(float(step(ONE)))
    stop.clear()
    with lock:
        found.append(float(step(ONE)))
    assert found == [1.0, -1.0, 1.0]
    assert len(step.traces) == 2
