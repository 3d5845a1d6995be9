"""What is in the wheel; `browser/test_wheel.py` installs it, and looks at it there."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

from nbfn.errors import TENSORFLOW
from tests.programs.wheel import ROOT


def test_what_is_in_the_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "nbfn/views/static/widget.js" in names
    assert "nbfn/views/static/widget.css" in names
    assert "nbfn/py.typed" in names
    extension = [name for name in names if "share/jupyter/labextensions/nbfn-labextension" in name]
    assert any(name.endswith("install.json") for name in extension)
    assert any("remoteEntry" in name for name in extension)
    assert not any(name.startswith("nbfn/labextension") for name in names)
    assert not any("node_modules" in name or name.startswith("tests/") for name in names)


def test_the_version_has_one_source(wheel: Path) -> None:
    package = json.loads((ROOT / "labextension" / "package.json").read_text())
    assert wheel.name.startswith(f"nbfn-{package['version']}-")


def test_a_gpu_is_an_extra(wheel: Path) -> None:
    """What a GPU needs is TensorFlow's own list, and nobody else gets it."""
    file = zipfile.ZipFile(wheel)
    (name,) = [name for name in file.namelist() if name.endswith("dist-info/METADATA")]
    needed = re.findall(r"^Requires-Dist: (tensorflow.*)", file.read(name).decode(), re.MULTILINE)
    assert needed == [TENSORFLOW, f"{TENSORFLOW.replace('>', '[and-cuda]>', 1)}; extra == 'gpu'"]
