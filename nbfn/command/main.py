"""The command line: ``nbfn run`` and ``nbfn lab``."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import click

from nbfn.command.outcome import CommandError, Exit
from nbfn.errors import NbfnError
from nbfn.package import __version__

_NEEDED = ("jinja2", "jupyter_client", "nbclient", "nbformat")
_EXIT_CODES = "\b\nExit codes:\n" + "\n".join(f"  {e.value:>3}  {e.meaning}" for e in Exit)


class _Group(click.Group):
    """Prints each error in one line."""

    def invoke(self, ctx: click.Context) -> Any:
        # click itself does not know this variable (8.5, https://no-color.org).
        if "NO_COLOR" in os.environ:
            ctx.color = False
        try:
            return super().invoke(ctx)
        except NbfnError as error:
            click.echo(f"{click.style('error:', fg='red', bold=True)} {error}", err=True)
            ctx.exit(error.exit if isinstance(error, CommandError) else Exit.MISUSE)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nbfn", message="%(prog)s %(version)s")
def main() -> None:
    """See every trace, retrace and capture of TensorFlow in a notebook, and export what you see."""


@main.command(epilog=_EXIT_CODES)
@click.argument("notebook", type=click.Path(path_type=Path))
@click.option(
    "--export",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Export the session as a SavedModel to DIR, and verify it in a fresh process.",
)
@click.option("--overwrite", is_flag=True, help="Replace the SavedModel in the export's DIR.")
@click.option(
    "--strict", is_flag=True, help="Fail if a signature of the export could not be verified."
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write one HTML file with every function, trace, retrace and its remedy to FILE.",
)
@click.option(
    "--max-retraces",
    type=click.IntRange(min=0),
    metavar="N",
    help="Fail if there are more retraces than N, over all functions.",
)
@click.option("--kernel", metavar="NAME", help="Run it with this kernel, not the notebook's.")
@click.option(
    "--timeout", type=click.IntRange(min=1), metavar="SECONDS", help="Limit the time of each cell."
)
@click.option("--save", is_flag=True, help="Write the outputs back into NOTEBOOK.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the notebook with its outputs to FILE.",
)
@click.pass_context
def run(
    ctx: click.Context, /, notebook: Path, save: bool, output: Path | None, **options: Any
) -> None:
    """Run NOTEBOOK without a browser, in its folder.

    The exit code is 0 if all is well. nbfn is loaded before the first cell, whether or not the
    notebook loads it. The file of the notebook is left as it is, unless --save is given. The
    report, and what --save and --output write, are also written when a cell fails.
    """
    if save and output is not None:
        raise CommandError("--save and --output are both given; give one of them")
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(
            f"`nbfn run` needs {', '.join(missing)}; install it with: "
            "python -m pip install 'nbfn[run]'"
        )

    from nbfn.command.run import RunOptions
    from nbfn.command.run import run as run_notebook

    ctx.exit(run_notebook(RunOptions(notebook, output=notebook if save else output, **options)))


@main.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=True,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[NOTEBOOK] [ARGUMENTS]...")
def lab(arguments: tuple[str, ...]) -> None:
    """Open JupyterLab on NOTEBOOK, or on a new notebook that loads nbfn.

    All other ARGUMENTS are JupyterLab's own, such as --no-browser and --port=8889.
    """
    from nbfn.command.lab import lab as open_lab

    sys.argv[0] = "nbfn lab"
    open_lab(arguments)
