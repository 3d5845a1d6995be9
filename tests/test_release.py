"""A release: refused where it must be, written where the version stands, and never half made.

``make release-test`` makes a whole one, in a clone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest

from tests.harness.messages import raises
from tests.programs import release
from tests.programs.release import FILES, ReleaseError
from tests.programs.wheel import ROOT

CHANGES = "# Changes\n\n## 2.0.0 (unreleased)\n\n* One.\n\n## 1.0.0 (2020-01-01)\n\n* Zero.\n"


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of what a release changes, in which nothing can be built."""
    for path in FILES:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "user.name", "Tester")
    git(tmp_path, "config", "user.email", "tester@example.org")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "First")
    return tmp_path


def test_the_version_is_written_where_it_stands(checkout: Path) -> None:
    release.write(checkout, "97.98.99")
    assert release.current_version(checkout) == "97.98.99"
    lock = json.loads((checkout / "labextension" / "package-lock.json").read_text())
    assert lock["version"] == lock["packages"][""]["version"] == "97.98.99"
    changed = [line.split() for line in git(checkout, "diff", "--numstat").splitlines()]
    assert {path: (more, less) for more, less, path in changed} == {
        "CHANGELOG.md": ("3", "1"),
        "labextension/package-lock.json": ("2", "2"),
        "labextension/package.json": ("1", "1"),
    }


def test_what_was_unreleased_is_the_releases() -> None:
    changed = release.released_changes(CHANGES, "2.1.0", date(2030, 1, 2))
    released = "## 2.1.0 (2030-01-02)\n\n* One.\n\n## 1.0.0 (2020-01-01)\n\n* Zero.\n"
    assert changed == f"# Changes\n\n## Unreleased\n\n{released}"
    with raises(ReleaseError):
        release.released_changes(changed, "2.2.0", date(2030, 1, 3))
    with raises(ReleaseError):
        release.released_changes("# Changes\n", "2.2.0", date(2030, 1, 3))


def test_the_changes_of_this_checkout_say_what_is_unreleased() -> None:
    assert len(release._UNRELEASED.findall((ROOT / "CHANGELOG.md").read_text())) == 1


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3rc1", "1.2.03", ""])
def test_a_version_is_three_numbers(checkout: Path, version: str) -> None:
    with raises(ReleaseError):
        release.check(checkout, version)


def test_a_version_is_newer_than_the_released_ones(checkout: Path) -> None:
    git(checkout, "tag", "v1.9.0")
    git(checkout, "tag", "v1.10.0")
    git(checkout, "tag", "very-new")
    for version in ("1.9.1", "1.10.0"):
        with raises(ReleaseError):
            release.check(checkout, version)
    release.check(checkout, "1.10.1")


def test_what_is_not_committed_is_in_the_way(checkout: Path) -> None:
    (checkout / "left.txt").write_text("…")
    with raises(ReleaseError):
        release.check(checkout, "2.0.0")


def test_a_release_that_fails_leaves_everything_as_it_was(checkout: Path) -> None:
    with pytest.raises(ReleaseError, match="npm"):
        release.release(checkout, "2.0.0")
    assert git(checkout, "status", "--porcelain", "--", *map(str, FILES)) == ""
    assert git(checkout, "tag") == ""
    assert git(checkout, "rev-list", "--count", "HEAD").strip() == "1"


def test_the_files_are_put_back_after_a_dry_run(checkout: Path) -> None:
    with release._restored(checkout, always=True):
        release.write(checkout, "2.0.0")
    assert git(checkout, "status", "--porcelain") == ""
    with release._restored(checkout, always=False):
        release.write(checkout, "2.0.0")
    assert git(checkout, "status", "--porcelain") != ""


def test_a_release_is_a_commit_with_a_tag(checkout: Path) -> None:
    release.write(checkout, "2.0.0")
    (checkout / "left.txt").write_text("…")
    git(checkout, "add", "left.txt")
    release.seal(checkout, "2.0.0")
    assert git(checkout, "show", "--name-only", "--format=%s", "v2.0.0^{}").split("\n")[0] == (
        "Release 2.0.0"
    )
    shown = git(checkout, "show", "--name-only", "--format=", "v2.0.0^{}").split()
    assert sorted(shown) == sorted(map(str, FILES))


def test_another_version_than_the_trees_is_not_built(checkout: Path) -> None:
    with pytest.raises(ReleaseError, match=r" 7\.7\.7"):
        release.build_and_try(checkout, "7.7.7")
