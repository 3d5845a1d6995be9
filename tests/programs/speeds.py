"""The table of speeds in the documentation, from one run of the benchmarks.

``python -m tests.programs.speeds RESULTS.json TABLE.md``, as ``make bench`` does.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

BASES = ("tf.function", "tf.Module", "Keras", "tf.vectorized_map", "plain", "tf.saved_model.save")
"""What nbfn is compared with, by the names of the parameters in `tests/benchmarks`."""

SHORTEST = 1e-6
"""What takes less, in seconds, is nothing to compare with."""


def table(results: Mapping[str, Any], packages: Sequence[str] = ("tensorflow", "keras")) -> str:
    """The table in Markdown: each group that has one of `BASES`, with everything beside that.

    Args:
        results: What pytest-benchmark writes as JSON.
        packages: Whose versions are reported.
    """
    rows = [row for group in _groups(results) for row in _rows(*group)]
    reported = ", ".join(f"{name} {version(name)}" for name in packages)
    processors = results["machine_info"].get("cpu", {}).get("count")
    return "\n".join(
        [
            f"The best of many measurements in one run with Python {platform.python_version()}, "
            f"{reported}, on {processors} cores of {platform.machine()}. The ratio is what counts; "
            "below 1.00 it is faster than what it is compared with.",
            "",
            "| what | with | time | ratio |",
            "|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in rows),
            "",
        ]
    )


def _groups(results: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    found: dict[str, dict[str, float]] = {}
    for each in results["benchmarks"]:
        ways = [str(value) for value in (each["params"] or {}).values()]
        base = next((way for way in ways if way in BASES), ways[-1] if ways else "")
        found.setdefault(each["group"], {})[base] = each["stats"]["min"]
    yield from found.items()


def _rows(group: str, best: Mapping[str, float]) -> Iterator[tuple[str, str, str, str]]:
    base = next((each for each in BASES if each in best), None)
    if base is None or len(best) < 2:
        return
    ordered = {base: best[base], **best}
    for number, (way, seconds) in enumerate(ordered.items()):
        is_reported = way != base and best[base] >= SHORTEST
        ratio = f"{seconds / best[base]:.2f}" if is_reported else ""
        yield ("" if number else group, way, _duration(seconds), ratio)


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


if __name__ == "__main__":
    source, target = sys.argv[1:3]
    Path(target).write_text(table(json.loads(Path(source).read_text())))
