"""``tabulate``: the module tree as text."""

from __future__ import annotations

import tensorflow as tf

from nbfn import nn


class Net(nn.Module):
    width: int

    def setup(self):
        self.hidden = nn.Dense(self.width)

    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.ones_init(), ())
        return nn.BatchNorm()(self.hidden(x)) * scale


def test_tabulate_an_unbound_module() -> None:
    lines = Net(1000).tabulate(nn.key(0), tf.ones((1, 2))).splitlines()
    assert [line.split()[:2] for line in lines[2:-1]] == [
        ["/", "Net"], ["hidden", "Dense"], ["BatchNorm_0", "BatchNorm"],
    ]  # fmt: skip
    assert lines[2].split()[2:] == ["scale:", "float32[]", "1"]
    assert "bias: float32[1000], kernel: float32[2, 1000]" in lines[3]
    assert lines[3].endswith(" 3,000")
    assert "moving_mean: float32[1000] (batch_stats)" in lines[4]
    assert lines[-1] == "Total: 5,001 parameters, 20,004 bytes"


def test_tabulate_a_bound_module_gives_the_same_table() -> None:
    x = tf.ones((1, 2))
    bound = Net(3).bind(Net(3).init(nn.key(0), x))
    bound(x)
    assert bound.tabulate() == Net(3).tabulate(nn.key(0), x)


def test_before_its_first_call_a_compact_module_has_its_parts_by_name() -> None:
    bound = Net(3).bind(Net(3).init(nn.key(0), tf.ones((1, 2))))
    lines = bound.tabulate().splitlines()
    assert [line.split()[0] for line in lines[2:-1]] == ["/", "BatchNorm_0", "hidden"]
    (part,) = (row for row in bound.describe() if row.path == ("BatchNorm_0",))
    assert (part.kind, part.label, part.nbytes) == ("module", "", 4 * 4 * 3)


def test_a_variable_at_two_paths_counts_once() -> None:
    class Tied(nn.Module):
        def setup(self):
            self.a = self.param("a", nn.initializers.ones, [3])
            self.b = self.param("b", nn.initializers.ones, [3])

        def __call__(self):
            return self.a + self.b

    weight = tf.Variable(tf.ones([3]))
    lines = Tied().bind({"params": {"a": weight, "b": weight}}).tabulate().splitlines()
    assert lines[2].endswith(" 3")
    assert lines[-1] == "Total: 3 parameters, 12 bytes"
    grows = tf.Variable(tf.ones([3]), shape=[None])
    table = Tied().bind({"params": {"a": weight, "b": grows}}).tabulate()
    assert table.endswith("Total: 3 parameters, 12 bytes, and those of unknown shape")
