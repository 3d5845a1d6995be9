"""The memory that calls and traces leave behind.

100,000 calls must not add any; when 1,000 traces have been freed, the process must have what it had
before to within 20 %. The first traces of a process leave 100 MB with TensorFlow for good, as they
do without nbfn, so a first thousand is made and freed before. `extra_info` has the megabytes.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

MEASURED = """
import gc, warnings
import psutil
import tensorflow as tf
import nbfn

warnings.simplefilter("ignore")
process = psutil.Process()

def resident():
    gc.collect()
    return process.memory_info().rss / 1e6

def traced():
    f = nbfn.function(lambda x, n: tf.reduce_sum(x * n) + tf.random.stateless_normal([], (n, 1)),
        max_traces=None, autograph=False)
    x = tf.ones([4])
    for n in range({traces}):
        f(x, n)
    return f, x

f, x = traced()
if {traces} > 1:
    f = None
else:
    for _ in range(1000):
        f(x, 0)
before = resident()
for _ in range({calls}):
    f(x, 0)
if {traces} > 1:
    f, x = traced()
most = resident()
if {traces} > 1:
    f = None
print(before, most, resident())
"""


@pytest.mark.benchmark(group="memory left behind")
@pytest.mark.parametrize(("calls", "traces"), [(100_000, 1), (0, 1000)], ids=["calls", "traces"])
def test_memory(benchmark: Any, calls: int, traces: int) -> None:
    def measure() -> tuple[float, ...]:
        code = MEASURED.format(calls=calls, traces=traces)
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        return tuple(map(float, out.stdout.split()))

    before, most, after = benchmark.pedantic(measure, rounds=1)
    benchmark.extra_info |= {"before": before, "most": most, "after": after}
    assert after <= 1.2 * before
