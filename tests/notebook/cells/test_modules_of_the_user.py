"""What a cell changes in a Python module of the user's, and through its functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.notebook.sides import assert_the_same

TEXT = """
STATE = {}
LAST = None
class Counter:
    total = 0
    def __init__(self):
        self.calls = 0
    def add(self, z):
        self.calls += 1
        Counter.total = z
        return z + 1
counter = Counter()
def put(key, z):
    global LAST
    STATE[key] = LAST = z
    return z * 2
def through(z):
    return put('through', z)
"""
FRESH = "import sys; sys.modules.pop('users_own', None); import users_own\n"


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch) -> Iterator[None]:
    (tmp_path / "users_own.py").write_text(TEXT)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("users_own", None)


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize(
    ("setup", "cell", "probe"),
    [
        ("", "users_own.LAST = x * 2\nusers_own.new = x", "[users_own.LAST, users_own.new]"),
        ("", "r = users_own.put('a', x)", "[r, users_own.STATE, users_own.LAST]"),
        ("from users_own import through", "r = through(x)", "[r, users_own.STATE, users_own.LAST]"),
        ("", "users_own.STATE['b'] = x", "users_own.STATE"),
        (
            "",
            "r = users_own.counter.add(x)",
            "[r, users_own.counter.calls, users_own.Counter.total]",
        ),
        ("", "c = users_own.Counter()\nr = c.add(x)", "[r, c, type(c) is users_own.Counter]"),
    ],
)
def test_it_leaves_what_an_eager_cell_leaves(shell, setup: str, cell: str, probe: str) -> None:
    assert_the_same(shell, FRESH + setup, cell, probe)


def test_a_failing_cell_leaves_a_module_as_it_was(run, shell, refused) -> None:
    run(f"{FRESH}x = tf.constant(1.0)")
    assert "no" in refused(
        "%%tf_function\nusers_own.put('a', x)\nusers_own.new = x\nraise KeyError('no')"
    )
    module = shell.user_ns["users_own"]
    assert (module.STATE, module.LAST, hasattr(module, "new")) == ({}, None, False)
