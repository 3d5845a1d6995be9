"""Module classes in a file that autoreload reloads."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

NET = """
import tensorflow as tf
from nbfn import nn


def doubled(x):
    return x * 2.0


class Net(nn.Module):
    def setup(self):
        self.out = nn.Dense(1, kernel_initializer="ones")
        self.factor = {factor}

    def __call__(self, x):
        x = self.out(x)
        if tf.reduce_sum(x) > 0:
            return doubled(x) * {factor}
        else:
            return -x

    @property
    def rate(self):
        return doubled({factor})

    @nn.nowrap
    def bare(self, x):
        return doubled(x) * {factor}

    def same(self, x):
        if tf.reduce_sum(x) > 0:
            return x + 1.0
        return x - 1.0
"""
ADDED = """
    def added(self, x):
        if tf.reduce_sum(self.out(x)) > 0:
            return doubled(x)
        return x
"""


@pytest.mark.parametrize("end", ["", "\nprint(end='')\n"], ids=["patched", "reloaded"])
def test_methods_of_a_bound_module_are_the_new_ones(shell, run, beside, end: str) -> None:
    beside.write(NET.format(factor=1.0))
    run(
        f"import nbfn\nfrom nbfn import nn\nfrom {beside.name} import Net\n"
        "x = tf.ones([1, 3])\nvariables = Net().init(nn.key(0), x)\n"
        "bound = Net().bind(variables)\nstep = nbfn.function(lambda x: bound(x))\n"
        "same = nbfn.function(lambda x: bound.same(x))\nstep(x), bound(x), same(x)"
    )
    beside.write("# A line.\n" + NET.format(factor=3.0) + ADDED + end)
    run(
        "fresh = Net().bind(variables)\n"
        "result = [bound(x), fresh(x), step(x), step(-x), nbfn.function(fresh)(-x),\n"
        "          bound.rate, fresh.factor, fresh.bare(1.0), *same(-x)[0]]\n"
        "added = nbfn.function(lambda x: fresh.added(x))\n"
        "result += [*added(x)[0], *Net().apply(variables, x, method='added')[0]]"
    )
    result: list[Any] = [float(tf.squeeze(each)) for each in shell.user_ns["result"]]
    assert result == [18.0, 18.0, 18.0, 3.0, 3.0, 6.0, 3.0, 6.0, *[-2.0] * 3, *[2.0] * 6]
    run("assert len(step.traces) == 1")
    (retrace,) = shell.user_ns["step"].retraces
    assert "Net.__call__" in str(retrace.causes)


def test_what_is_patched_twice_is_wrapped_again(shell, run, refused, beside) -> None:
    beside.write(NET.format(factor=1.0))
    run(
        f"from nbfn import nn\nfrom {beside.name} import Net\nx = tf.ones([1, 3])\n"
        "bound = Net().bind(Net().init(nn.key(0), x))"
    )
    for factor in (2.0, 3.0):
        beside.write(NET.format(factor=factor))
        run(f"assert bound(x) == 6.0 * {factor} and bound.rate == 2.0 * {factor}")
        run(f"assert Net().bind(Net().init(nn.key(0), x)).factor == {factor}")
    shown = refused("Net().setup()")
    assert "cannot be called on an unbound module" in shown
