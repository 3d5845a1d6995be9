"""Displaying an object renames nothing: the names of the session are the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import NbfnWarning
from nbfn.sessions.session import Session
from nbfn.views import bundle
from tests.harness.messages import warns

MODEL = """
class Net(nn.Module):
    def setup(self):
        self.first, self.second = nn.Dense(2), nn.Dense(1)
    def __call__(self, x):
        return self.second(self.first(x))
"""


@pytest.mark.parametrize("shown", ["model", "model.first", "(model, 1)", "{'a': model}", "v"])
def test_displaying_leaves_the_names(
    run: Callable[[str], Any], shell: InteractiveShell, shown: str
) -> None:
    run("import nbfn\nfrom nbfn import nn\nv = tf.Variable(1.0)")
    run(MODEL)
    run("model = Net().bind(Net().init(nn.key(0), tf.ones([1, 3])))")
    session = Session(shell.user_ns)
    names, snapshot = list(session.variables), session.snapshot()
    assert "model/first/kernel" in names
    run(shown)
    assert list(session.variables) == names
    session.restore(snapshot)
    run("@nbfn.function\ndef predict(x): return model(x) * v\npredict(tf.ones([1, 3]))")
    captures = {capture.name for capture in shell.user_ns["predict"].captures}
    assert captures == {name for name in names if name != "v"} | {"v"}


def test_a_view_that_fails_leaves_the_text(
    run: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> Any:
        raise RuntimeError("no view")

    run("import nbfn\nfrom IPython.display import display\nv = tf.Variable(1.0)")
    run("@nbfn.function\ndef f(x): return x * v\n_ = f(1.0)")
    assert "<table>" in run("display(f.captures)").displayed[-1].data["text/html"]
    monkeypatch.setattr(bundle, "bundle_of", fail)
    with warns(NbfnWarning):
        shown = run("display(f.captures)")
    assert shown.text.startswith("<1 capture>\n  v: float32[] on CPU:0")
    assert set(shown.displayed[-1].data) == {"text/plain"}
