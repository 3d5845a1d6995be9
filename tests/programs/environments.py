"""Pythons and IPythons, besides the ones at hand, that the tests of kernels run on.

``python tests/programs/environments.py --install`` makes them, as far as the machine can; with
``--test`` and what pytest is to run, the tests run in each of them. Tests that want one that is not
there are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".make" / "environments"
UV = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
_IPYTHON_8 = "ipython==8.18.*"
_PYTHON = "3.13"
_TESTING = ("ipykernel", "nbclient", "pytest", "pytest-benchmark", "hypothesis")


@dataclass(frozen=True)
class Environment:
    """A Python with the packages that it sees.

    Attributes:
        name: What it is.
        python: Its interpreter.
        packages: Folders of packages that come before its own.
    """

    name: str
    python: Path
    packages: tuple[Path, ...] = ()

    @property
    def is_there(self) -> bool:
        """Whether it has been made."""
        return self.python.exists() and all(folder.exists() for folder in self.packages)

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of a process in it; nbfn is the one of this folder."""
        path = os.pathsep.join(str(each) for each in (*self.packages, ROOT))
        return {**os.environ, "PYTHONPATH": path}


HERE = Environment("here", Path(sys.executable))
IPYTHON_8 = Environment("IPython 8", Path(sys.executable), (FOLDER / "ipython8",))
PYTHON_3_13 = Environment("Python 3.13", FOLDER / "python3.13" / "bin" / "python")
OTHERS = (IPYTHON_8, PYTHON_3_13)


def install() -> None:
    """Makes the environments that can be made, and says of the others why not."""
    _packages("--target", str(IPYTHON_8.packages[0]), "--upgrade", _IPYTHON_8)
    found = str(PYTHON_3_13.python) if PYTHON_3_13.is_there else find_python(_PYTHON, fetch=True)
    if found is None:
        print(f"no Python {_PYTHON} can be found or fetched: its tests will be skipped")
        return
    if not PYTHON_3_13.is_there:
        folder = PYTHON_3_13.python.parent.parent
        subprocess.run([UV, "venv", "--quiet", "--python", found, str(folder)], check=True)
    wanted = ("-r", str(ROOT / "pyproject.toml"), *_TESTING)
    _packages("--python", str(PYTHON_3_13.python), *wanted)


def _packages(*arguments: str) -> None:
    subprocess.run([UV, "pip", "install", "--quiet", *arguments], check=True)


def find_python(version: str, *, fetch: bool = False) -> str | None:
    """The interpreter of a Python, which uv fetches if it may; None where there is none."""
    commands = [
        [f"python{version}", "-c", "import sys; print(sys.executable)"],
        ["pyenv", "prefix", version],
        [UV, "python", "find", "--quiet", version],
    ]
    if fetch:
        commands += [[UV, "python", "install", "--quiet", version], commands[-1]]
    for command in commands:
        if shutil.which(command[0]) is None:
            continue
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        said = Path(ended.stdout.strip() or ".")
        for python in (said, said / "bin" / "python"):
            if ended.returncode == 0 and python.is_file():
                return str(python)
    return None


def test(arguments: Sequence[str]) -> int:
    """Runs pytest in each environment that is there.

    Returns:
        The first exit status that is not 0.
    """
    status = 0
    for environment in OTHERS:
        if environment.is_there:
            print(f"{environment.name}:", flush=True)
            command = [str(environment.python), "-m", "pytest", "-p", "no:cacheprovider"]
            ended = subprocess.run(
                [*command, *arguments], check=False, env=environment.variables, cwd=ROOT
            )
            status = status or ended.returncode
    return status


if __name__ == "__main__":
    if "--install" in sys.argv:
        install()
    elif "--test" in sys.argv:
        sys.exit(test(sys.argv[sys.argv.index("--test") + 1 :]))
