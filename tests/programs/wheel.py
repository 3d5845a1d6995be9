"""The wheel, and an environment that holds nothing but what it brings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.environments import ROOT, UV

BIN = str(Path(sys.executable).parent)


def without_node() -> dict[str, str]:
    """The environment with every folder that holds node or npm off the PATH."""
    folders = os.environ["PATH"].split(os.pathsep)
    kept = [f for f in folders if not any(Path(f, n).exists() for n in ("node", "npm"))]
    return {**os.environ, "PATH": os.pathsep.join(kept), "JUPYTER_PREFER_ENV_PATH": "1"}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [UV, "build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT)],
        check=True,
        env={
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        },
    )
    (built,) = folder.glob("*.whl")
    return built


def _compile(packages: Path) -> None:
    """Copies the compiled files of packages that this environment has, too, and compiles the rest.

    To compile all takes 40 seconds. A compiled file is valid if its source has the same date, as it
    has where uv links packages from its cache.
    """
    here = Path(sysconfig.get_path("purelib"))
    for found in here.rglob("__pycache__"):
        target = packages / found.relative_to(here)
        if target.parent.is_dir() and not target.exists():
            shutil.copytree(found, target)
    command = [sys.executable, "-m", "compileall", "-q", "-j", "0", str(packages)]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # some files are templates


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    python, others = folder / "bin" / "python", os.environ.get("NBFN_WHEEL_WITH", "").split()
    # Compiled now, because the first import of TensorFlow would do it, and take minutes.
    compiled = ["--compile-bytecode"] if others else []
    subprocess.run(
        [
            *(UV, "pip", "install", "--quiet", *compiled),
            *("--python", str(python), f"{wheel}[lab]", *others),
        ],
        check=True,
        env=without_node(),
    )
    if not others:
        _compile(next(folder.glob("lib/*/site-packages")))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
