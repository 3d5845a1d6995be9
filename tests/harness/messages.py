"""nbfn's messages as tests pin them: `raises` and `warns` compare each with ``messages.txt``.

A message stands there below the name of its test, a test's second one below the name and ``#2``.
"""

from __future__ import annotations

import difflib
import functools
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

E = TypeVar("E", bound=BaseException)
_temporary, _environment = re.escape(tempfile.gettempdir()), re.escape(sys.prefix)
_CHANGING = {
    # AutoGraph tells the way to the error first.
    r"(?s)\Ain user code:\n\n.*?\n\n    \w+: ": "",
    rf"{_temporary}/(pytest-of-.+?/pytest-\d+/(popen-\w+/)?)?[\w.-]+": "<tmp>",
    rf"{_environment}(/lib/python3\.\d+)?": "<environment>",
    r"\b(Python|TensorFlow|Keras) \d[\w.+-]*": r"\1 <version>",
    r"\b0x[0-9a-f]+": "0x…",
    r"\bline \d+": "line …",
    r"\b__inference_(.+?)_\d+": r"__inference_\1_…",
    r"\b\d+(\.\d+)? (ms|s|seconds?)\b": "… s",
}
_item: pytest.Item


@contextmanager
def raises(kind: type[E] | tuple[type[E], ...]) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expects an error of a kind, with the message that is pinned for the test."""
    with pytest.raises(kind) as caught:
        yield caught
    text = str(caught.value)
    for said in _foreign(caught.value):
        text = text.replace(said, "<an error of others>")
    _compare(text)


@contextmanager
def warns(kind: type[Warning]) -> Iterator[pytest.WarningsRecorder]:
    """Expects warnings of a kind, with the messages that are pinned for the test."""
    with pytest.warns(kind) as caught:
        yield caught
    for each in caught:
        if issubclass(each.category, kind):
            _compare(str(each.message))


def _foreign(error: BaseException) -> Iterator[str]:
    """What others than nbfn have said before; their words differ with their versions."""
    before = error.__cause__ or error.__context__
    if before is not None:
        frames = [
            frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(before.__traceback__)
        ]
        if " " in str(before) and not "".join(frames[-1:]).startswith("nbfn"):
            yield str(before)
        yield from _foreign(before)


def _compare(text: str) -> None:
    config, said = _item.config, _said(_item)
    text = text.replace(str(config.rootpath), "<root>").strip()
    for changing, told in _CHANGING.items():
        text = re.sub(changing, told, text)
    said.append(re.sub("[ \t]+$", "", text, flags=re.MULTILINE))
    pinned = _pinned(config).get((_item.nodeid, len(said)), "")
    if said[-1] != pinned and not config.option.update_messages:
        told = "another message is pinned" if pinned else "no message is pinned"
        lines = difflib.ndiff(pinned.splitlines(), said[-1].splitlines())
        pytest.fail("\n".join((f"{told}; `make messages` pins what is said (+):", *lines)))


def _said(test: pytest.Item | pytest.TestReport) -> list[str]:
    said: list[str] = dict(test.user_properties)["messages"]  # type: ignore[assignment]
    return said


def _file(config: pytest.Config) -> Path:
    return config.rootpath / "tests" / "harness" / "messages.txt"


@functools.cache
def _pinned(config: pytest.Config) -> Mapping[tuple[str, int], str]:
    found = _file(config).read_text(encoding="utf-8") if _file(config).exists() else ""
    entries = re.findall(r"^(\S.*?)(?: #(\d+))?\n((?:  .*\n|\n)*)", found, re.MULTILINE)
    return {
        (test, int(number or 1)): re.sub("^  ", "", text, flags=re.MULTILINE).strip()
        for test, number, text in entries
    }


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option of ``make messages``."""
    told = "pin what nbfn says; all: forget the messages of tests that are not there"
    parser.addoption("--update-messages", choices=("some", "all"), help=told)


def pytest_configure(config: pytest.Config) -> None:
    """Has one process write, which gets the reports of all workers."""
    if config.option.update_messages and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Update())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begins to count, also where a test runs once more."""
    global _item
    _item = item
    item.user_properties.append(("messages", []))  # the test's report takes it along


class _Update:
    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.new: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.ran.add(report.nodeid)
        if report.when == "call" and report.passed:
            self.new[report.nodeid] = _said(report)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        config = session.config
        all_ran = config.option.update_messages == "all" and exitstatus == 0
        entries = {
            (test, number): text
            for (test, number), text in _pinned(config).items()
            if test not in self.new and (test in self.ran or not all_ran)
        }
        for test, said in self.new.items():
            entries |= {(test, number): text for number, text in enumerate(said, 1)}
        told = []
        for (test, number), text in sorted(entries.items()):
            head = test if number == 1 else f"{test} #{number}"
            told.append(f"{head}\n{re.sub('^(?=.)', '  ', text, flags=re.MULTILINE)}\n")
        _file(config).write_text("\n".join(told), encoding="utf-8")
