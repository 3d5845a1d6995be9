"""nbfn's messages as tests pin them: `raises` and `warns` compare each with ``messages.txt``.

A message stands there below the name of its test, a test's second one below the name and ``#2``.
"""

from __future__ import annotations

import difflib
import functools
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import TypeVar

import pytest

E = TypeVar("E", bound=BaseException)
_SEP = r"[\\/]"
_CHANGING: dict[str, str | Callable[[re.Match[str]], str]] = {
    # AutoGraph puts the call stack before the message.
    r"(?s)\Ain user code:\n\n.*?\n\n    \w+: ": "",
    rf"[^\s`'\"]+{_SEP}pytest-of-.+?{_SEP}pytest-\d+{_SEP}(popen-\w+{_SEP})?[\w.-]+": "<tmp>",
    rf"{re.escape(sys.prefix)}({_SEP}lib{_SEP}python3\.\d+)?": "<environment>",
    r"<(tmp|environment|root)>[^\s`'\"]*": lambda path: path[0].replace("\\", "/"),
    r"\b(Python|TensorFlow|Keras) \d[\w.+-]*": r"\1 <version>",
    r"\b0x[0-9a-f]+": "0x…",
    r"\bline \d+": "line …",
    r"\b__inference_(.+?)_\d+": r"__inference_\1_…",
    r"\b\d+(\.\d+)? (ms|s|seconds?)\b": "… s",
    r"[ \t]+$": "",
}
_item: pytest.Item
_ran: dict[str, list[str] | None] = {}


@contextmanager
def raises(kind: type[E] | tuple[type[E], ...]) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expects an error of a kind, with the message that is pinned for the test."""
    __tracebackhide__ = True
    with pytest.raises(kind) as caught:
        yield caught
    text = str(caught.value)
    for quoted in _foreign(caught.value):
        text = text.replace(quoted, "<an error of others>")
    _compare(text)


@contextmanager
def warns(kind: type[Warning]) -> Iterator[pytest.WarningsRecorder]:
    """Expects warnings of a kind, with the messages that are pinned for the test."""
    __tracebackhide__ = True
    with pytest.warns(kind) as caught:
        yield caught
    for each in caught:
        if issubclass(each.category, kind):
            _compare(str(each.message))


def _foreign(error: BaseException) -> Iterator[str]:
    """Yields the messages of others' errors, whose words differ with their versions."""
    before = error.__cause__ or error.__context__
    if before is not None:
        modules = [
            frame.f_globals.get("__name__", "") for frame, _ in walk_tb(before.__traceback__)
        ]
        if " " in str(before) and not "".join(modules[-1:]).startswith("nbfn"):
            yield str(before)
        yield from _foreign(before)


def _compare(text: str) -> None:
    __tracebackhide__ = True
    config, messages = _item.config, _messages_of(_item)
    text = text.replace(str(config.rootpath), "<root>").strip()
    for changing, instead in _CHANGING.items():
        text = re.sub(changing, instead, text, flags=re.MULTILINE)
    messages.append(text)
    pinned = _pinned(config).get(_item.nodeid, [])[: len(messages)]
    if pinned != messages and not config.option.update_messages:
        what = "another message" if len(pinned) == len(messages) else "no message"
        lines = difflib.ndiff("".join(pinned[len(messages) - 1 :]).splitlines(), text.splitlines())
        pytest.fail("\n".join((f"{what} is pinned; `make messages` pins the new one (+):", *lines)))


def _messages_of(test: pytest.Item | pytest.TestReport) -> list[str]:
    messages: list[str] = dict(test.user_properties)["messages"]  # type: ignore[assignment]
    return messages


def _file(config: pytest.Config) -> Path:
    return config.rootpath / "tests" / "harness" / "messages.txt"


@functools.cache
def _pinned(config: pytest.Config) -> dict[str, list[str]]:
    """Reads the messages of each test."""
    found = _file(config).read_text(encoding="utf-8") if _file(config).exists() else ""
    pinned: dict[str, list[str]] = {}
    for test, text in re.findall(r"^(\S.*?)(?: #\d+)?\n((?:  .*\n|\n)*)", found, re.MULTILINE):
        pinned.setdefault(test, []).append(re.sub("(?m)^  ", "", text).strip())
    return pinned


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option of ``make messages``."""
    text = "pin the messages of nbfn; all: remove those of tests that no longer exist"
    parser.addoption("--update-messages", choices=("some", "all"), help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Starts an empty list of messages, also if a test is run again."""
    global _item
    _item = item
    item.user_properties.append(("messages", []))  # reports take it from workers to their master


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keeps the messages of a test that has passed."""
    passed = report.when == "call" and report.passed
    _ran[report.nodeid] = _messages_of(report) if passed else _ran.get(report.nodeid)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Writes the messages; those of tests that did not run or did not pass stay as they are."""
    config = session.config
    if config.option.update_messages and not hasattr(config, "workerinput"):
        all_ran = config.option.update_messages == "all" and exitstatus == 0
        kept = {test: old for test, old in _pinned(config).items() if test in _ran or not all_ran}
        entries = []
        new = {test: each for test, each in _ran.items() if each is not None}
        for test, messages in sorted((kept | new).items()):
            for number, text in enumerate(messages, 1):
                head = test if number == 1 else f"{test} #{number}"
                entries.append(f"{head}\n{re.sub('(?m)^(?=.)', '  ', text)}\n")
        _file(config).write_text("\n".join(entries), encoding="utf-8")
