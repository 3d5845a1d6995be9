"""What Binder makes of this repository, without Docker: does it install, and how much does it need?

``python -m tests.programs.binder`` takes a clean checkout, asks repo2docker what it would do with
it, makes an environment of ``binder/`` with a venv in place of conda's, starts JupyterLab there,
and runs each notebook. It prints what each needed at most, and fails if that is more than Binder
gives, if a notebook fails, or if JupyterLab does not have the panel.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

from tests.programs.environments import UV, Place, find_python
from tests.programs.wheel import ROOT

LIMIT = 1024
"""Megabytes that Binder promises to a session."""

_DOCKERFILE = """
import sys
from repo2docker.app import Repo2Docker
from repo2docker.utils import chdir
app = Repo2Docker()
with chdir(sys.argv[1]):
    packs = (made(app.base_image) for made in app.buildpacks)
    chosen = next(each for each in packs if each.detect())
    chosen.platform = "linux/amd64"
    print(type(chosen).__name__)
    print(chosen.render({}))
"""


@dataclass
class Use:
    """Megabytes that processes had at most, each at its own time.

    Attributes:
        resident: Of the sum of all, shared pages counted once.
        own: Of the sum of all, what is theirs alone and cannot be dropped: no pages of files.
        of_kernel: Of the kernel by itself, resident.
        of_server: Of JupyterLab by itself, resident.
        of_others: Of what the kernel started.
    """

    resident: float = 0
    own: float = 0
    of_kernel: float = 0
    of_server: float = 0
    of_others: float = 0

    def look(self, server: psutil.Process, runner: psutil.Process) -> None:
        """Takes what there is now into account."""
        kernels, others = [], []
        for child in runner.children(recursive=True):
            with suppress(*_GONE):
                is_kernel = any("ipykernel" in each for each in child.cmdline())
                (kernels if is_kernel else others).append(_sizes(child))
        # The runner is in the place of the page that runs the cells, which is not Binder's.
        parts = {"kernel": kernels, "server": [_sizes(server)], "others": others}
        for name, sizes in parts.items():
            most = max(getattr(self, f"of_{name}"), sum(each[0] for each in sizes))
            setattr(self, f"of_{name}", most)
        every = [size for sizes in parts.values() for size in sizes]
        self.resident = max(self.resident, sum(each[1] for each in every))
        self.own = max(self.own, sum(each[2] for each in every))


_GONE = (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError, ProcessLookupError)
"""What looking at a process raises that has ended meanwhile."""


def _sizes(process: psutil.Process) -> tuple[float, float, float]:
    """Megabytes: resident, the process's part of what is shared, and anonymous."""
    text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    lines = dict(re.findall(r"^(\w+): +(\d+) kB", text, re.MULTILINE))
    return tuple(int(lines[name]) / 1024 for name in ("Rss", "Pss", "Anonymous"))  # type: ignore[return-value]


@dataclass
class Image:
    """What is made in place of an image.

    Attributes:
        folder: Where it is made.
    """

    folder: Path
    _environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.checkout = self.folder / "checkout"
        self.place = Place(self.folder / "environment")
        bin_ = self.place.python.parent
        home = self.folder / "home"
        home.mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "TF_", "PY"))}
        self._environment = kept | {
            "HOME": str(home),
            "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self.place.folder),
            "JUPYTER_PREFER_ENV_PATH": "1",
        }

    def check_out(self) -> None:
        """Takes what is committed, and nothing else."""
        self.checkout.mkdir()
        archive = subprocess.Popen(
            ["git", "-C", str(ROOT), "archive", "HEAD"], stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", str(self.checkout)], stdin=archive.stdout, check=True)
        if archive.wait():
            raise SystemExit("git archive failed")

    def dockerfile(self) -> str:
        """What repo2docker, in an environment of its own, would build; the build pack first."""
        place = Place(self.folder / "repo2docker")
        place.make()
        place.install("jupyter-repo2docker")
        return subprocess.run(
            [str(place.python), "-c", _DOCKERFILE, str(self.checkout)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def install(self) -> None:
        """Does the steps of ``binder/``."""
        conda, wanted = dependencies(self.checkout / "binder" / "environment.yml")
        version = re.sub(r"[^\d.]", "", conda["python"])
        python = find_python(version, fetch=True)
        if python is None:
            raise SystemExit(f"there is no Python {version} to be found or fetched")
        command = [UV, "venv", "--quiet", "--seed", "--python", python, str(self.place.folder)]
        subprocess.run(command, check=True)
        self.run("pip", "install", "--quiet", "--no-cache-dir", *wanted)
        said = self.run("binder/postBuild")
        if not re.search(r"nbfn-labextension .*enabled.*OK", said):
            raise SystemExit(f"JupyterLab does not have the panel:\n{said[-2000:]}")

    def run(self, *command: str) -> str:
        """Runs a command in the environment, and gives what it says."""
        ended = subprocess.run(
            [str(self.checkout / command[0]) if "/" in command[0] else command[0], *command[1:]],
            cwd=self.checkout,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise SystemExit(f"{command[0]} failed:\n{ended.stdout[-4000:]}")
        return ended.stdout

    def start(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        """Starts a command as Binder does."""
        return subprocess.Popen(
            [str(self.checkout / "binder" / "start"), *command],
            cwd=self.checkout,
            env=self._environment,
            text=True,
            **options,
        )

    @contextmanager
    def lab(self) -> Iterator[psutil.Process]:
        """JupyterLab, which has answered."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1"]
        options += [f"--ServerApp.port={port}", "--IdentityProvider.token="]
        with (self.folder / "lab.log").open("w") as log:
            server = self.start("jupyter", "lab", *options, stdout=log, stderr=log)
            try:
                page = _answer(f"http://127.0.0.1:{port}/lab/tree/notebooks")
                if "nbfn-labextension" not in page:
                    raise SystemExit("the page does not load the panel")
                yield psutil.Process(server.pid)
            finally:
                server.terminate()
                server.wait(60)

    def use_of(self, notebook: Path, server: psutil.Process) -> Use:
        """Runs a notebook, and looks at what it needs meanwhile."""
        use = Use()
        with tempfile.TemporaryFile("w+") as said:
            command = ["jupyter", "execute", "--timeout=600", str(notebook)]
            runner = self.start(*command, stdout=said, stderr=said)
            while runner.poll() is None:
                with suppress(*_GONE):
                    use.look(server, psutil.Process(runner.pid))
                time.sleep(0.1)
            if runner.returncode:
                said.seek(0)
                raise SystemExit(f"{notebook.name} failed:\n{said.read()[-4000:]}")
        return use

    def size(self) -> float:
        """Megabytes on the disk that an image would have for this repository."""
        command = ["du", "-sk", str(self.place.folder), str(self.checkout)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return sum(int(line.split()[0]) for line in said.splitlines()) / 1024


def dependencies(path: Path) -> tuple[dict[str, str], list[str]]:
    """What an ``environment.yml`` asks of conda, by name, and of pip."""
    conda, wanted = {}, []
    for each in yaml.safe_load(path.read_text())["dependencies"]:
        if isinstance(each, dict):
            wanted += each["pip"]
        else:
            name, version = re.fullmatch(r"([\w-]+)(.*)", each).groups()  # type: ignore[union-attr]
            conda[name] = version
    return conda, wanted


def check_dockerfile(text: str) -> None:
    """Refuses what repo2docker would make of the repository, if it does not use ``binder/``."""
    for wanted in (
        "CondaBuildPack\n",
        "binder/environment.yml",
        "RUN ./binder/postBuild",
        "binder/start",
    ):
        if wanted not in text:
            raise SystemExit(f"repo2docker does not use {wanted.strip()}:\n{text}")


def _answer(url: str) -> str:
    end = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return str(answer.read().decode())
        except OSError:
            if time.monotonic() > end:
                raise SystemExit("JupyterLab did not start") from None
            time.sleep(0.2)


def main(folder: Path) -> None:
    """Makes an image in a folder, and runs the notebooks in it."""
    image = Image(folder)
    image.check_out()
    check_dockerfile(image.dockerfile())
    print("repo2docker: the environment, postBuild and start of binder/")
    began = time.monotonic()
    image.install()
    print(f"installed in {time.monotonic() - began:.0f} s: {image.size():,.0f} MB on the disk")
    print(f"TensorFlow {image.place.version_of('tensorflow-cpu')}; in MB at most:\n")
    columns = ("all", "all, own", "kernel", "what it starts", "JupyterLab")
    print(f"{'notebook':<32}", *(f"{each:>15}" for each in columns))
    most = 0.0
    with image.lab() as server:
        for notebook in sorted((image.checkout / "notebooks").glob("*.ipynb")):
            use = image.use_of(notebook, server)
            sizes: Sequence[float] = (use.resident, use.own, use.of_kernel, use.of_others)
            row = " ".join(f"{size:>15.0f}" for size in (*sizes, use.of_server))
            print(f"{notebook.stem:<32} {row}", flush=True)
            most = max(most, use.own)
    if most > LIMIT:
        raise SystemExit(f"{most:.0f} MB is more than the {LIMIT} MB that Binder promises")


if __name__ == "__main__":
    if sys.platform != "linux" or shutil.which("npm") is None:
        raise SystemExit("this needs Linux and npm, as Binder's images have")
    with tempfile.TemporaryDirectory() as made:
        main(Path(made))
