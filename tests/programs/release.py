"""Makes a release: one command from a clean tree to a tagged commit with its wheel and sdist.

``python tests/programs/release.py 1.2.3`` checks, writes the version and the changes, builds,
tries what it has built, commits and tags; nothing is pushed. With ``--dry-run`` it does all but the
last two and puts the files back; with ``--rehearse`` it does that in a clone. ``--build 1.2.3``
builds and tries what stands here, which must be that version; ``--sdist`` tries the sdist only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from tests.programs.wheel import BIN, UV, without_node

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_UNRELEASED = re.compile(r"^## .*unreleased.*\n", re.IGNORECASE | re.MULTILINE)
_PACKAGE = Path("labextension", "package.json")
_LOCK = Path("labextension", "package-lock.json")
_CHANGES = Path("CHANGELOG.md")
FILES = (_PACKAGE, _LOCK, _CHANGES)
"""What a release changes."""
_TRIAL = """
import importlib.metadata, sys
import nbfn
assert nbfn.__version__ == importlib.metadata.version("nbfn") == sys.argv[1], nbfn.__version__
assert "tensorflow" not in sys.modules
f = nbfn.function(lambda x: x + 1)
assert [int(f(1)), len(f.traces)] == [2, 1]
"""


class ReleaseError(Exception):
    """Why there is no release."""


def current_version(root: Path) -> str:
    """The version that stands in the tree."""
    return str(json.loads((root / _PACKAGE).read_text())["version"])


def check(root: Path, version: str) -> None:
    """Refuses a release that cannot be made.

    Args:
        root: The checkout.
        version: The version to be, as ``x.y.z``.

    Raises:
        ReleaseError: If the version is none or is not newer than the newest tag, if something is
            not committed, or if nothing stands under the unreleased changes.
    """
    numbers = _numbers(version)
    tags = [tag[1:] for tag in _git(root, "tag", "--list", "v*").split()]
    newest = max((tag for tag in tags if _VERSION.fullmatch(tag)), key=_numbers, default=None)
    if newest is not None and numbers <= _numbers(newest):
        raise ReleaseError(f"{version} is not newer than {newest}, which is released")
    changed = _git(root, "status", "--porcelain")
    if changed:
        raise ReleaseError(f"something is not committed:\n{changed}")
    released_changes((root / _CHANGES).read_text(), version, date.today())


def _numbers(version: str) -> tuple[int, ...]:
    match = _VERSION.fullmatch(version)
    if match is None:
        raise ReleaseError(f"{version!r} is no version; write three numbers, as in 1.2.3")
    return tuple(int(number) for number in match.groups())


def released_changes(text: str, version: str, day: date) -> str:
    """The changes with what was unreleased under the version, and nothing unreleased."""
    heading = _UNRELEASED.search(text)
    if heading is None:
        raise ReleaseError(f"{_CHANGES} has no heading that says what is unreleased")
    before, after = text[: heading.start()], text[heading.end() :]
    if not after.split("\n## ")[0].strip():
        raise ReleaseError(f"{_CHANGES} has nothing that is unreleased")
    return f"{before}## Unreleased\n\n## {version} ({day.isoformat()})\n{after}"


def write(root: Path, version: str) -> None:
    """Writes the version where it stands, and the changes under it."""
    old = f'"version": "{current_version(root)}"'
    for path, times in ((_PACKAGE, 1), (_LOCK, 2)):
        text = (root / path).read_text()
        # The lock file says the version of the whole and of its root package first.
        (root / path).write_text(text.replace(old, f'"version": "{version}"', times))
    changes = root / _CHANGES
    changes.write_text(released_changes(changes.read_text(), version, date.today()))
    lock = json.loads((root / _LOCK).read_text())
    if {current_version(root), lock["version"], lock["packages"][""]["version"]} != {version}:
        raise ReleaseError(f"{_PACKAGE} and {_LOCK} did not say the same version")


def build(root: Path) -> tuple[Path, Path]:
    """Builds the front end, the wheel and the sdist again, into ``dist``.

    Returns:
        The wheel and the sdist.
    """
    folder = root / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    for command in (
        ["npm", "--prefix", "labextension", "run", "--silent", "build:prod"],
        [UV, "build", "--quiet", "--wheel", "--out-dir", str(folder)],
        [UV, "build", "--quiet", "--sdist", "--out-dir", str(folder)],
    ):
        _run(command, root, environment)
    (folder / ".gitignore").unlink(missing_ok=True)  # uv writes one
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return wheel, sdist


def try_wheel(wheel: Path, version: str) -> None:
    """Installs the wheel in an environment of its own, and uses it there."""
    with _environment() as python:
        # Compiled now, because the first import of TensorFlow would do it, and take minutes.
        install = [UV, "pip", "install", "--quiet", "--compile-bytecode"]
        _run([*install, "--python", str(python), str(wheel)], wheel.parent)
        _run([str(python), "-c", _TRIAL, version], python.parent)


def try_sdist(sdist: Path, like: Path) -> None:
    """Builds a wheel from the sdist on a machine without Node.

    Args:
        sdist: The sdist.
        like: The wheel that was built from the tree, which must hold the same files.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [UV, "build", "--quiet", "--wheel", "--out-dir", folder, str(sdist)]
        _run(command, Path(folder), without_node())
        (built,) = Path(folder).glob("*.whl")
        found, expected = ({*zipfile.ZipFile(each).namelist()} for each in (built, like))
    if found != expected:
        names = ", ".join(sorted(found ^ expected))
        raise ReleaseError(f"the wheel from the sdist and the one from the tree differ in {names}")


@contextmanager
def _environment() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        _run([UV, "venv", "--quiet", "--python", sys.executable, folder], Path(folder))
        yield Path(folder, "Scripts" if os.name == "nt" else "bin", "python")


def seal(root: Path, version: str) -> None:
    """Commits what the release has changed, and tags it."""
    _git(root, "commit", "--quiet", "--message", f"Release {version}", "--", *map(str, FILES))
    _git(root, "tag", "--annotate", f"v{version}", "--message", f"nbfn {version}")


@contextmanager
def _restored(root: Path, *, always: bool) -> Iterator[None]:
    """Puts the files of a release back, if it fails, or always."""
    kept = {path: (root / path).read_text() for path in FILES}
    done = False
    try:
        yield
        done = not always
    finally:
        if not done:
            for path, text in kept.items():
                (root / path).write_text(text)


def release(root: Path, version: str, *, dry: bool = False) -> None:
    """Makes a release, or tries to.

    Args:
        root: The checkout.
        version: The version to be, as ``x.y.z``.
        dry: Whether to commit nothing and to put the files back.

    Raises:
        ReleaseError: If there is no release; then the files are as they were.
    """
    check(root, version)
    with _restored(root, always=dry):
        write(root, version)
        build_and_try(root, version)
        if not dry:
            seal(root, version)


def build_and_try(root: Path, version: str) -> None:
    """Builds what stands in the tree, and tries it.

    Raises:
        ReleaseError: If the tree has another version, or what was built does not work.
    """
    if current_version(root) != version:
        raise ReleaseError(f"the tree has the version {current_version(root)}, not {version}")
    wheel, sdist = build(root)
    try_wheel(wheel, version)
    try_sdist(sdist, wheel)


def rehearse(root: Path) -> None:
    """Makes the next release, without the last two steps, in a clone of what is committed.

    Raises:
        ReleaseError: If it would fail, or if it leaves a trace in the clone.
    """
    first, second, third = _numbers(current_version(root))
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "nbfn")
        _git(root, "clone", "--quiet", str(root), str(clone))
        (clone / "labextension" / "node_modules").symlink_to(root / "labextension" / "node_modules")
        # As a folder it is ignored, but not as a link.
        with (clone / ".git" / "info" / "exclude").open("a") as exclude:
            exclude.write("node_modules\n")
        before = _state(clone)
        release(clone, f"{first}.{second}.{third + 1}", dry=True)
        after = _state(clone)
        if after != before:
            raise ReleaseError(f"a dry run left a trace: {before} became {after}")
        print("rehearsed:", *sorted(each.name for each in (clone / "dist").iterdir()))


def _state(root: Path) -> list[str]:
    """What a repository has: its newest commit, its tags, and what is not committed."""
    return [_git(root, *each) for each in (["rev-parse", "HEAD"], ["tag"], ["status", "--short"])]


def _git(root: Path, *arguments: str) -> str:
    return _run(["git", *arguments], root)


def _run(command: Sequence[str], folder: Path, environment: dict[str, str] | None = None) -> str:
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        said = "\n".join([ended.stdout, ended.stderr][-3000:]).strip()
        raise ReleaseError(f"{' '.join(command[:4])} … failed:\n{said}")
    return ended.stdout


def main(arguments: Sequence[str]) -> None:
    """Does what the command line asks for, in the folder that it is called in."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", help="the version, as x.y.z")
    parser.add_argument("--dry-run", action="store_true", help="commit nothing")
    parser.add_argument("--rehearse", action="store_true", help="a dry run in a clone")
    parser.add_argument("--build", action="store_true", help="build what stands here")
    parser.add_argument("--sdist", action="store_true", help="the same, without the wheel's trial")
    given = parser.parse_args(arguments)
    root = Path.cwd()
    version = given.version or current_version(root)
    try:
        if given.rehearse:
            rehearse(root)
            return
        if given.sdist:
            wheel, sdist = build(root)
            try_sdist(sdist, wheel)
        elif given.build:
            build_and_try(root, version)
        elif given.version is None:
            raise ReleaseError("which version? Write it: make release VERSION=1.2.3")
        else:
            release(root, version, dry=given.dry_run)
    except ReleaseError as error:
        sys.exit(f"no release: {error}")
    print(f"nbfn {version}:", *sorted(each.name for each in (root / "dist").iterdir()))


if __name__ == "__main__":
    main(sys.argv[1:])
