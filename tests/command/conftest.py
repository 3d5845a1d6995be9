"""Runs of the command line, each in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.harness import forked_kernels
from tests.programs.wheel import ROOT

PREAMBLE = "import tensorflow as tf\nimport nbfn\n"


@dataclass
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str


def environment(folder: Path, path: str = "", *, may_fork: bool = True) -> dict[str, str]:
    """The environment of a command, with no settings of the user's; `path` comes first in it.

    Its kernels may be forked, unless they are to see other packages.
    """
    shared = forked_kernels.specifications() if may_fork and not path else None
    clean = {name: text for name, text in os.environ.items() if "JUPYTER" not in name}
    private = {
        "JUPYTER_CONFIG_DIR": str(folder / ".jupyter/config"),
        "JUPYTER_PATH": os.pathsep.join(filter(None, (str(folder / "share"), shared))),
        "JUPYTER_RUNTIME_DIR": str(folder / ".jupyter/runtime"),
        "IPYTHONDIR": str(folder / ".ipython"),
        "PYTHONPATH": os.pathsep.join(filter(None, (path, str(ROOT)))),
    }
    return clean | private


def start(
    folder: Path, *arguments: str, path: str = "", may_fork: bool = True
) -> subprocess.Popen[str]:
    """Starts ``nbfn`` in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "nbfn", *arguments],
        cwd=folder,
        env=environment(folder, path, may_fork=may_fork),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(folder: Path, *arguments: str, path: str = "", may_fork: bool = True) -> Ended:
    """Runs ``nbfn`` in a folder to its end."""
    process = start(folder, *arguments, path=path, may_fork=may_fork)
    try:
        out, err = process.communicate(timeout=300)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
    return Ended(process.returncode, out, err)
