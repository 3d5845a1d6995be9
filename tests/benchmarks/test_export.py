"""What an export costs beside TensorFlow's own, and what a session costs that is large.

An export without verification is measured against `tf.saved_model.save` of the same functions; the
budget is a ratio of 1.15. A verification by a process that is there already may take 2 s more.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.session import Session

X = tf.constant([1.0, 2.0])


def functions(number: int) -> tuple[Any, list[Any]]:
    """Traced functions that share a variable."""
    shared = tf.Variable([3.0, 4.0])

    def one(i: int) -> Any:
        made = nbfn.function(lambda x: x * shared + float(i), autograph=False)
        made.recorder.name = f"f{i}"
        made(X)
        return made

    return shared, [one(i) for i in range(number)]


def exporting(number: int, how: str, path: Path) -> Callable[[], Any]:
    shared, made = functions(number)
    if how != "bare":
        return lambda: nbfn.export(
            path, made, overwrite=True, verify=how == "verified", keep_process=600
        )
    root = tf.Module()
    root.shared = shared
    for i, each in enumerate(made):
        setattr(root, f"f{i}", each)
    signatures = {f"f{i}": each.traces[0].concrete_function for i, each in enumerate(made)}

    def save() -> None:
        shutil.rmtree(path, ignore_errors=True)
        tf.saved_model.save(root, str(path), signatures=signatures)

    return save


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize("how", ["bare", "unverified"])
@pytest.mark.benchmark(group="1,000 functions")
def test_a_thousand_functions(benchmark: Any, tmp_path: Path, how: str) -> None:
    benchmark.pedantic(exporting(1000, how, tmp_path / "model"), rounds=3, warmup_rounds=1)


@pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")
@pytest.mark.parametrize("how", ["bare", "unverified", "verified"])
@pytest.mark.benchmark(group="ten functions, and their later verifications")
def test_a_later_verification(benchmark: Any, tmp_path: Path, how: str) -> None:
    benchmark.pedantic(exporting(10, how, tmp_path / "model"), rounds=5, warmup_rounds=1)


@pytest.mark.parametrize("what", ["one by its path", "all"])
@pytest.mark.benchmark(group="100,000 variables")
def test_many_variables(benchmark: Any, what: str) -> None:
    session = Session({"many": [tf.Variable(0.0) for _ in range(100_000)]})
    look = {"one by its path": lambda: session["many/99999"], "all": lambda: session.variables}
    benchmark.pedantic(look[what], rounds=3, warmup_rounds=1)
