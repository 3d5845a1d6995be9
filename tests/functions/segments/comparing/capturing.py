"""What a cell prints, logs and displays, without what nbfn says of itself."""

from __future__ import annotations

import io
import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import IPython
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import nbfn

_NBFN = str(Path(nbfn.__file__).parent)
_BETWEEN = (str(Path(IPython.__file__).parent), __file__)
_OF_CPP = re.compile(r"^(?:[IWEF]\d{4,} |WARNING: All log messages before).*\n?", re.MULTILINE)
_RETRACES = "triggered tf.function retracing"
"""TensorFlow counts these over the whole process."""


@dataclass
class Shown:
    """What the user sees under a cell, apart from its error."""

    stdout: str = ""
    stderr: str = ""
    logged: list[str] = field(default_factory=list)
    displayed: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def captured(shell: InteractiveShell) -> Iterator[Shown]:
    """Captures what is shown; all of it is there when the block ends."""
    shown = Shown()
    stdout, stderr, publisher = _Stream(), _Stream(), _Publisher()
    shell.display_pub, kept = publisher, shell.display_pub
    try:
        with (
            _native_stderr(stderr),
            _logs(shown.logged),
            redirect_stdout(stdout),
            redirect_stderr(stderr),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            # As in a notebook: what libraries say to each other comes once a process, at any time.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
            warnings.showwarning = _show_warning  # pytest has put its own there
            yield shown
    finally:
        shell.display_pub = kept
        shown.stdout, shown.stderr = stdout.getvalue(), _OF_CPP.sub("", stderr.getvalue())
        for output in publisher.outputs:
            shown.displayed.append({kind: str(data) for kind, data in output["data"].items()})


def _is_nbfns() -> bool:
    """Whether nbfn itself, not the user's code, prints or displays what is under way."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame = frame.f_back
    return frame.f_code.co_filename.startswith(_NBFN)


class _Stream(io.StringIO):
    def write(self, text: str) -> int:
        return len(text) if _is_nbfns() else super().write(text)


class _Publisher(CapturingDisplayPublisher):  # type: ignore[misc]
    def publish(self, *arguments: Any, **keywords: Any) -> None:
        if not _is_nbfns():
            super().publish(*arguments, **keywords)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


class _Log(logging.Handler):
    def __init__(self, into: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._into = into

    def emit(self, record: logging.LogRecord) -> None:
        if _RETRACES not in record.getMessage():
            self._into.append(record.getMessage())


@contextmanager
def _logs(into: list[str]) -> Iterator[None]:
    """What TensorFlow and Keras log; their handlers may write to a stream of long ago."""
    loggers = [logging.getLogger(name) for name in ("tensorflow", "absl")]
    kept = [(logger, logger.handlers, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [_Log(into)], False
    try:
        yield
    finally:
        for logger, handlers, propagate in kept:
            logger.handlers, logger.propagate = handlers, propagate


@contextmanager
def _native_stderr(into: io.StringIO) -> Iterator[None]:
    """What C++ writes, such as ``tf.print``."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            into.write(file.read().decode(errors="replace"))
