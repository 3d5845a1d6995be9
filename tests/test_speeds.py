"""The table of speeds is made from what the benchmarks measured."""

from __future__ import annotations

from typing import Any

from tests.programs.speeds import table


def measured(group: str, way: str | None, best: float) -> dict[str, Any]:
    params = None if way is None else {"kind": way}
    return {"group": group, "params": params, "stats": {"min": best}}


def test_each_way_stands_beside_what_it_is_compared_with() -> None:
    results = {
        "machine_info": {"cpu": {"count": 2}},
        "benchmarks": [
            measured("a hit", "nbfn.function", 20e-6),
            measured("a hit", "tf.function", 100e-6),
            measured("cells", "plain", 1.5),
            measured("cells", "in segments", 0.75),
            measured("nothing", "plain", 1e-7),
            measured("nothing", "in segments", 5e-6),
            measured("alone", None, 1.0),
            measured("of no base", "1000", 1.0),
        ],
    }
    lines = table(results, packages=["pytest"]).splitlines()
    assert "on 2 cores" in lines[0]
    assert lines[4:] == [
        "| a hit | tf.function | 100 µs |  |",
        "|  | nbfn.function | 20 µs | 0.20 |",
        "| cells | plain | 1.5 s |  |",
        "|  | in segments | 750 ms | 0.50 |",
        "| nothing | plain | 0.1 µs |  |",
        "|  | in segments | 5 µs |  |",
    ]
