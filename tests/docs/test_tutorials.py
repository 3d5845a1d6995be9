"""The tutorials run again and again in one kernel: no error, no warning, no output that grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
ROUNDS = 3
GROWTH = 1.15
"""By this factor the outputs may differ between the second and the third round."""


def round_of(client: NotebookClient) -> dict[int, list[Any]]:
    """Runs all cells; returns their outputs by the cell's number."""
    client.reset_execution_trackers()
    cells = dict(enumerate(client.nb.cells))
    code = {number: cell for number, cell in cells.items() if cell.cell_type == "code"}
    for number, cell in code.items():
        client.execute_cell(cell, number)
    return {number: list(cell.outputs) for number, cell in code.items()}


def errors(outputs: dict[int, list[Any]]) -> dict[int, str]:
    return {
        number: f"{each.ename}: {each.evalue}"
        for number, some in outputs.items()
        for each in some
        if each.output_type == "error"
    }


def warnings(outputs: dict[int, list[Any]]) -> int:
    texts = [each.get("text", "") for some in outputs.values() for each in some]
    return sum(text.count("NbfnWarning") for text in texts)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_tutorial_runs_three_times_in_one_kernel(path: Path) -> None:
    client = NotebookClient(
        nbformat.read(path, 4),
        allow_errors=True,
        timeout=300,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    with client.setup_kernel():
        first, second, third = (round_of(client) for _ in range(ROUNDS))
    meant = errors(first).keys()
    for outputs in (second, third):
        assert {n: each for n, each in errors(outputs).items() if n not in meant} == {}
        assert warnings(outputs) <= warnings(first)
    assert len(str(third)) <= GROWTH * len(str(second))
