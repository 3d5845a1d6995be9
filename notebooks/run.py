"""Runs notebooks and stores their outputs, without widget state and times.

``python notebooks/run.py notebooks/*.ipynb``
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient


def run(path: Path) -> None:
    """Runs a notebook in its folder and writes it back."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata = {key: value for key, value in cell.metadata.items() if key == "tags"}
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if not _is_passing(each)]
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


def _is_passing(output: Any) -> bool:
    """Whether an output differs from machine to machine: TensorFlow's log, or ended progress."""
    return output.get("name") == "stderr" or output.get("data", True) == {}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(Path(name))
