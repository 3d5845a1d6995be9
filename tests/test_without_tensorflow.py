"""nbfn in an environment whose TensorFlow is missing or broken says in one line what to do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbfn.errors import TENSORFLOW
from tests.programs.environments import Place, requirements
from tests.programs.wheel import ROOT

COMMAND = f"python -m pip install '{TENSORFLOW}'"
MISSING = "nbfn needs TensorFlow, which is not installed here"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """An environment with all that nbfn depends on but TensorFlow."""
    made = Place(tmp_path_factory.mktemp("without") / "environment")
    made.make()
    made.install(*requirements(without=["tensorflow"]))
    return made


@pytest.fixture
def broken(place: Place) -> Iterator[Path]:
    """A TensorFlow that fails when it is imported."""
    (packages,) = place.folder.glob("lib/python*/site-packages")
    (packages / "tensorflow").mkdir()
    file = packages / "tensorflow" / "__init__.py"
    file.write_text("import tensorflow.python")
    inner = packages / "tensorflow" / "python.py"
    inner.write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    yield inner
    for each in (file, inner):
        each.write_text("")
        each.unlink()
    for cached in (packages / "tensorflow").rglob("*.pyc"):
        cached.unlink()
    for folder in (packages / "tensorflow" / "__pycache__", packages / "tensorflow"):
        if folder.exists():
            folder.rmdir()


def run(place: Place, code: str) -> str:
    """What a program prints."""
    ended = subprocess.run(
        [str(place.python), "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def cells(place: Place, *texts: str, apart: bool = False) -> list[str]:
    """What stands under each cell, in one session, or each in a fork of it."""
    code = f"""
import contextlib, io, os, re
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for number, text in enumerate(["%load_ext nbfn", *{texts!r}]):
    if {apart} and number and os.fork():
        os.wait()
        continue
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
        shell.run_cell(text)
    print(repr(re.sub(r"\\x1b\\[[0-9;]*m", "", said.getvalue()).strip()), flush=True)
    if {apart} and number:
        os._exit(0)
"""
    loaded, *said = (eval(line) for line in run(place, code).splitlines())
    assert loaded == ""
    assert len(said) == len(texts)
    return said


def errors_of(place: Place, *codes: str) -> list[str]:
    """What each line of code raises, each in a process that has imported nbfn only."""
    code = f"""
import os, nbfn
for code in {codes!r}:
    if os.fork():
        os.wait()
        continue
    try:
        exec(code)
    except ImportError as error:
        assert isinstance(error, nbfn.NbfnError)
        assert error.name == "tensorflow"
        print(error, flush=True)
    os._exit(0)
"""
    return run(place, code).splitlines()


def test_the_first_use_names_the_command(place: Place) -> None:
    uses = (
        "@nbfn.function\ndef f(x): return x",
        "from nbfn import nn",
        "nbfn.session()",
        "nbfn.export('model')",
        "nbfn.load('model')",
        "nbfn.report('report.html')",
    )
    assert errors_of(place, *uses) == [
        f"{MISSING}; install it with: {COMMAND} (in a notebook: %pip install '{TENSORFLOW}')"
    ] * len(uses)


def test_importing_and_plain_cells_need_no_tensorflow(place: Place) -> None:
    assert run(place, "import nbfn; dir(nbfn); print(nbfn.NbfnError.__name__)") == "NbfnError"
    assert cells(place, "import nbfn", "1 + 1", "%unload_ext nbfn") == ["", "Out[0]: 2", ""]


def test_a_magic_says_it_in_one_line(place: Place) -> None:
    magics = (
        "%%tf_function\ndef f(x):\n    return x",
        "%%tf_function\ny = 2",
        "%%tf_function --whole\ny = 2",
        "%%tf_eager\ny = 2",
        "%tf_auto on",
        "%%tf_function --auto\nz = 3",
        "%tf_session",
        "%tf_traces",
        "%tf_stance eager",
        "%tf_export model",
    )
    for said in cells(place, *magics, apart=True):
        assert said.startswith(f"UsageError: {MISSING}; install it with: {COMMAND}")
        assert "\n" not in said


def test_a_cell_says_it_in_one_line(place: Place) -> None:
    said, again = cells(place, "import nbfn\nnbfn.function(abs)", "x = 1\nx")
    assert said.startswith(f"TensorFlowError: {MISSING}; install it with: {COMMAND}")
    assert "\n" not in said
    assert again == "Out[0]: 1"


def test_a_tensorflow_that_fails_is_reported_with_its_error(place: Place, broken: Path) -> None:
    why = "(ImportError: libcudart.so.12: cannot open shared object file)"
    (message,) = errors_of(place, "nbfn.function(abs)")
    assert message.startswith(f"nbfn needs TensorFlow, and `import tensorflow` fails {why}")
    assert f"python -m pip install --force-reinstall '{TENSORFLOW}'" in message
    chain = "import nbfn\ntry: nbfn.nn\nexcept ImportError as e: print(type(e.__cause__).__name__)"
    assert run(place, chain) == "ImportError"
    assert why in cells(place, "%tf_session")[0]
    broken.write_text("raise TypeError('Descriptors cannot be created directly')")
    assert "(TypeError: Descriptors cannot" in errors_of(place, "nbfn.function(abs)")[0]


def test_what_else_is_missing_is_reported_as_it_is(place: Place) -> None:
    code = """
import sys, nbfn
sys.modules["nbfn.views.report"] = None
try: nbfn.report
except ImportError as error: print(type(error).__name__, error.name)
"""
    assert run(place, code) == "ModuleNotFoundError nbfn.views.report"


def test_the_command_installs_what_nbfn_depends_on() -> None:
    assert TENSORFLOW in requirements()
