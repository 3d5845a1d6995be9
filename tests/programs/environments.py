"""Pythons, and other versions of what nbfn stands on, that the tests run on.

``python tests/programs/environments.py --install`` makes a further Python and IPython for the tests
of kernels, as far as the machine can; with ``--test`` and what pytest is to run, the tests run in
each of them. Tests that want one that is not there are skipped.

``--versions`` and names of `VERSIONS` (else all) makes an environment for each, runs the tests of
kernels in it, or those of the panel, and says at the end what ran, and what did not, and why;
``NBFN_TESTS`` names others.

``--requirements EXTRA --without NAME`` prints what nbfn depends on, for pip; without a package that
an environment has under another name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".make" / "environments"
UV = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
_IPYTHON_8 = "ipython==8.18.*"
_PYTHON = "3.13"
_TESTING = ("ipykernel", "jinja2", "nbclient", "psutil", "pytest", "pytest-benchmark", "hypothesis")
_KERNEL_TESTS = tuple(
    f"tests/{each}" for each in ("functions", "modules", "notebook", "seeds", "sessions", "views")
)
_PANEL_TESTS = ("tests/test_wheel.py", "tests/browser/test_wheel.py")


def requirements(extra: str | None = None, without: Sequence[str] = ()) -> list[str]:
    """What nbfn depends on, as pip writes it.

    Args:
        extra: An extra whose dependencies are wanted too.
        without: Names of packages to leave out.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"].get(extra, ())]
    return [each for each in wanted if re.split(r"[^\w-]", each)[0] not in without]


@dataclass(frozen=True)
class Place:
    """A folder with a Python and packages of its own.

    Attributes:
        folder: The folder.
    """

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        windows = self.folder / "Scripts" / "python.exe"
        return windows if os.name == "nt" else self.folder / "bin" / "python"

    def make(self, python: str = sys.executable) -> None:
        """Makes it, empty."""
        _run("venv", "--quiet", "--clear", "--python", python, str(self.folder))

    def install(self, *wanted: str) -> None:
        """Installs packages; a wanted one may also be an option of pip's."""
        _packages("--python", str(self.python), *wanted)

    def version_of(self, package: str) -> str | None:
        """The version of a package in it; None if there is none."""
        code = f"from importlib.metadata import version; print(version({package!r}))"
        ended = subprocess.run(
            [str(self.python), "-c", code], capture_output=True, text=True, check=False
        )
        return ended.stdout.strip() or None


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
_PYTHON_3_13 = Place(FOLDER / "python3.13")
PYTHON_3_13 = Environment("Python 3.13", _PYTHON_3_13.python)
# In an environment of `VERSIONS` its own kernel is the one that is meant.
OTHERS = () if "NBFN_HERE_ONLY" in os.environ else (IPYTHON_8, PYTHON_3_13)


def install() -> None:
    """Makes the environments that can be made, and says of the others why not."""
    _packages("--target", str(IPYTHON_8.packages[0]), "--upgrade", _IPYTHON_8)
    found = str(PYTHON_3_13.python) if PYTHON_3_13.is_there else find_python(_PYTHON, fetch=True)
    if found is None:
        print(f"no Python {_PYTHON} can be found or fetched: its tests will be skipped")
        return
    if not PYTHON_3_13.is_there:
        _PYTHON_3_13.make(found)
    _PYTHON_3_13.install(*requirements(), *_TESTING)


def _packages(*arguments: str) -> None:
    # Compiled now, because the first import of TensorFlow would do it, and take minutes.
    _run("pip", "install", "--quiet", "--compile-bytecode", *arguments)


def _run(*arguments: str) -> None:
    subprocess.run([UV, *arguments], check=True)


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


@dataclass(frozen=True)
class Version:
    """A version of something that nbfn stands on.

    Attributes:
        name: What it is called on the command line.
        package: The package that it is a version of; its version is reported at the end.
        wanted: What is installed besides nbfn's dependencies, or in place of them.
        python: The version of Python.
        tests: What pytest runs.
        options: Options of pip's.
        of_panel: Whether the tests run here and install the wheel there, where the server runs.
        instead: A package to use where ``package`` has no pre-release, which is then looked for.
    """

    name: str
    package: str
    wanted: tuple[str, ...] = ()
    python: str = "3.12"
    tests: tuple[str, ...] = _KERNEL_TESTS
    options: tuple[str, ...] = ()
    of_panel: bool = False
    instead: str | None = None


def _panel(name: str, package: str, *wanted: str) -> Version:
    return Version(name, package, wanted, f"3.{sys.version_info[1]}", _PANEL_TESTS, of_panel=True)


VERSIONS = (
    Version("tensorflow-2.19", "tensorflow", ("tensorflow==2.19.*",)),
    Version("tensorflow-2.20", "tensorflow", ("tensorflow==2.20.*",)),
    Version("tensorflow-2.21", "tensorflow", ("tensorflow==2.21.*",)),
    Version(
        *("tensorflow-next", "tensorflow", ("tensorflow",), "3.13"),
        options=("--prerelease", "allow"),
        instead="tf-nightly",
    ),
    Version("python-3.11", "ipython", python="3.11"),
    Version("python-3.12", "ipython", python="3.12"),
    Version("python-3.13", "ipython", python="3.13"),
    Version("ipython-8.18", "ipython", (_IPYTHON_8,), python="3.11"),
    _panel("jupyterlab-4.2", "jupyterlab", "jupyterlab==4.2.*"),
    _panel("jupyterlab-newest", "jupyterlab"),
    replace(
        _panel("notebook-7", "notebook", "notebook==7.2.*"),
        tests=("tests/browser/test_wheel.py",),
    ),
)


@dataclass
class Outcome:
    """What became of a version.

    Attributes:
        what: What ran there.
        failed: Whether something failed.
    """

    what: str
    failed: bool = False


def versions(names: Sequence[str]) -> int:
    """Tests versions, all or those of these names, and says at the end what ran.

    Returns:
        1 if tests failed in one, else 0; a version that could not be made is only reported.
    """
    known = {each.name: each for each in VERSIONS}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"there is no {', '.join(unknown)}; there are: {', '.join(known)}")
    outcomes: dict[str, Outcome] = {}
    try:
        for name in names or known:
            print(f"\n{name}:", flush=True)
            outcomes[name] = _tried(known[name])
    finally:
        print("\nversions:")
        for name in names or known:
            outcome = outcomes.get(name, Outcome("did not run: stopped before"))
            print(f"  {name:<18} {outcome.what}")
    return int(any(each.failed for each in outcomes.values()))


def _tried(version: Version) -> Outcome:
    began = time.monotonic()
    tests = os.environ.get("NBFN_TESTS", "").split() or version.tests
    if version.of_panel:
        command = [sys.executable, "-m", "pytest", *tests]
        environment = {**os.environ, "NBFN_WHEEL_WITH": " ".join(version.wanted)}
        said = f"{' '.join(version.wanted) or 'the newest'}, "
    else:
        python = find_python(version.python, fetch=True)
        if python is None:
            return Outcome(f"did not run: no Python {version.python} can be found or fetched")
        place = Place(ROOT / ".make" / "versions" / version.name)
        try:
            said = _made(version, place, python)
        except subprocess.CalledProcessError:
            return Outcome("did not run: it cannot be installed (see above)")
        environment = Environment(version.name, place.python).variables
        environment |= {"NBFN_HERE_ONLY": "1"}
        command = [str(place.python), "-m", "pytest", "-p", "no:cacheprovider"]
        command += ["--disable-warnings", *tests]
    ended = subprocess.run(
        command, check=False, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    print(ended.stdout, flush=True)
    last = (ended.stdout.strip().splitlines() or ["pytest did not start"])[-1].strip("= ")
    minutes = (time.monotonic() - began) / 60
    return Outcome(f"{said}{last}; {minutes:.0f} min in all", ended.returncode != 0)


def _made(version: Version, place: Place, python: str) -> str:
    """Makes the environment of a version, and says what is in it."""
    place.make(python)
    replaced = {re.split(r"[^\w-]", each)[0] for each in version.wanted}
    place.install(*version.options, *requirements(without=[*replaced]), *version.wanted, *_TESTING)
    package = version.package
    if version.instead is not None and not _is_pre_release(place.version_of(package)):
        package = version.instead
        place.make(python)
        wanted = requirements(without=[version.package])
        place.install(*version.options, *wanted, package, *_TESTING)
    return (
        f"{package} {place.version_of(package)}, TensorFlow {_tensorflow_of(place)}, "
        f"Python {version.python}: "
    )


def _is_pre_release(version: str | None) -> bool:
    return re.search(r"(a|b|rc|dev)\d", version or "") is not None


def _tensorflow_of(place: Place) -> str | None:
    names: Iterable[str] = ("tensorflow", "tf-nightly")
    return next((found for each in names if (found := place.version_of(each))), None)


if __name__ == "__main__":
    if "--install" in sys.argv:
        install()
    elif "--test" in sys.argv:
        sys.exit(test(sys.argv[sys.argv.index("--test") + 1 :]))
    elif "--requirements" in sys.argv:
        print(*requirements(sys.argv[2], without=sys.argv[4:]), sep="\n")
    elif "--versions" in sys.argv:
        sys.exit(versions(sys.argv[sys.argv.index("--versions") + 1 :]))
