"""`nbfn lab`: opens JupyterLab on a notebook that loads nbfn."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from nbfn.command.outcome import CommandError

_FIRST_CELL = "%load_ext nbfn"
_PRINTING = frozenset({"--version", "--help-all", "--show-config"})
"""Arguments with which JupyterLab only prints something and exits."""


def lab(arguments: Sequence[str]) -> None:
    """Runs JupyterLab until it ends.

    Args:
        arguments: Optionally a notebook to open, and arguments of JupyterLab. Without a notebook, a
            new one is created in the current folder.

    Raises:
        CommandError: If JupyterLab is not installed, or there is no such notebook.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise CommandError(
            "JupyterLab is not installed here; install it with: python -m pip install 'nbfn[lab]'"
        )
    notebooks = [each for each in arguments if not each.startswith("-") and each.endswith(".ipynb")]
    for each in notebooks:
        if not Path(each).is_file():
            raise CommandError(f"there is no notebook `{each}`; `nbfn lab` alone makes a new one")
    rest = [each for each in arguments if each not in notebooks[:1]]
    if _PRINTING.isdisjoint(arguments):
        rest = [*_opening(Path(notebooks[0]) if notebooks else _new_notebook(Path())), *rest]

    from jupyterlab.labapp import LabApp

    LabApp.launch_instance(rest)


def _opening(notebook: Path) -> list[str]:
    """Returns the arguments that make JupyterLab open, or print, a notebook's address."""
    here, path = Path().resolve(), notebook.resolve()
    root = here if path.is_relative_to(here) else path.parent
    address = quote(path.relative_to(root).as_posix())
    return [f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{address}"]


def _new_notebook(folder: Path) -> Path:
    """Creates a notebook that loads nbfn, named as JupyterLab names new notebooks."""
    import nbformat  # which JupyterLab needs

    names = itertools.chain(["Untitled"], (f"Untitled{n}" for n in itertools.count(1)))
    path = next(p for p in (folder / f"{name}.ipynb" for name in names) if not p.exists())
    cells = [nbformat.v4.new_code_cell(_FIRST_CELL), nbformat.v4.new_code_cell()]  # type: ignore[no-untyped-call]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})  # type: ignore[no-untyped-call]
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
    return path
