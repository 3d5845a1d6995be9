"""The file that pins messages, in a small project of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
FILE = "tests/harness/messages.txt"
TEST = """
import warnings
import pytest
from tests.harness.messages import raises, warns

def test_one():
    with raises(ValueError) as caught:
        raise ValueError("there is no `a`,\\n\\n  at all")
    assert caught.type is ValueError

@pytest.mark.parametrize("name", ["b", "c"])
def test_several(name):
    for each in range(2):
        with raises((KeyError, TypeError)):
            raise TypeError(f"{each}: {id(name):#x}, folder/pytest-of-me/pytest-{each}/it/{name}")
    with warns(UserWarning):
        warnings.warn("it took 2.25 s")
        warnings.warn("it took 1 s more")
"""
ONE = """\
test_it.py::test_one
  there is no `a`,

    at all

"""
SEVERAL = """\
test_it.py::test_several[b]
  0: 0x…, <tmp>/b

test_it.py::test_several[b] #2
  1: 0x…, <tmp>/b

test_it.py::test_several[b] #3
  it took … s

test_it.py::test_several[b] #4
  it took … s more
"""
PINNED = "\n".join((ONE + SEVERAL, SEVERAL.replace("[b]", "[c]").replace("/b", "/c")))


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.mkdir("tests")
    pytester.mkdir("tests/harness")
    pytester.makepyfile(test_it=TEST)
    (pytester.path / FILE).write_text(PINNED, encoding="utf-8")
    return pytester


def run(project: pytest.Pytester, *options: str, **outcomes: int) -> str:
    ended = project.runpytest_subprocess(
        *("-p", "tests.harness.messages", "-p", "no:cacheprovider"), *options
    )
    ended.assert_outcomes(**outcomes)
    return ended.stdout.str()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_messages_are_pinned_in_order_without_what_changes(project: pytest.Pytester) -> None:
    run(project, passed=3)
    (project.path / FILE).unlink()
    run(project, "--update-messages=all", passed=3)
    assert (project.path / FILE).read_text(encoding="utf-8") == PINNED


def test_another_message_fails_until_it_is_pinned(project: pytest.Pytester) -> None:
    edit(project.path / "test_it.py", "it took 1 s more", "it took 1 s in vain")
    said = run(project, passed=1, failed=2)
    assert "another message is pinned; `make messages` pins the new one (+):" in said
    assert re.search(r"- it took … s more\n.*\n?E +\+ it took … s in vain", said)
    # Workers pin too, and what does not run stays.
    run(project, "--update-messages=some", "-p", "xdist", "-n2", "-k", "several", passed=2)
    assert (project.path / FILE).read_text(encoding="utf-8").count("in vain") == 2
    run(project, passed=3)


def test_a_message_that_is_not_pinned_fails(project: pytest.Pytester) -> None:
    edit(project.path / FILE, SEVERAL[SEVERAL.index("test_it.py::test_several[b] #4") :], "")
    assert "no message is pinned" in run(project, passed=2, failed=1)


def test_what_no_test_says_is_forgotten(project: pytest.Pytester) -> None:
    file = project.path / FILE
    edit(project.path / "test_it.py", 'warnings.warn("it took 1 s more")', "")
    edit(project.path / "test_it.py", "test_one", "test_other")
    run(project, "--update-messages=some", passed=3)
    heads = [
        line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("test")
    ]
    assert "test_it.py::test_one" in heads
    assert "test_it.py::test_several[b] #4" not in heads
    run(project, "--update-messages=all", passed=3)
    assert "test_it.py::test_one" not in file.read_text(encoding="utf-8")


def test_a_test_that_fails_keeps_its_messages(project: pytest.Pytester) -> None:
    edit(project.path / "test_it.py", "assert caught.type is ValueError", "assert False")
    run(project, "--update-messages=all", passed=2, failed=1)
    assert (project.path / FILE).read_text(encoding="utf-8") == PINNED


def test_each_pinned_message_has_a_test() -> None:
    tests = re.findall(
        r"^(\S+\.py)::(\w+)", (ROOT / FILE).read_text(encoding="utf-8"), re.MULTILINE
    )
    assert tests
    for file, name in tests:
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), (
            f"no {name} is in {file} any more"
        )
