"""The messages of TensorFlow's errors, parted into what happened and where."""

from __future__ import annotations

import itertools
import re
import textwrap

from nbfn.notebook.frames import Line, is_frame, lines_in, without_machinery

_IN_USER_CODE = "in user code:"
_OF_RUNTIME = "Graph execution error:"
_DETECTED = "Detected at node"
_STACK_OF_GRAPH = "\nOriginal stack trace for"  # in graphs of TensorFlow 1, after the message
_CREATED = "The op is created at:"
_UNSUPPORTED = re.compile(r"Detected unsupported operations .*")
_ATTRIBUTES = re.compile(r"\[_XlaMustCompile=[^\]]*\]|\[\](?= on )|(?<=\))\{\{node [^}]*\}\}")


def parsed(error: BaseException) -> tuple[str, str, list[Line]]:
    """Parts an error of TensorFlow into its class, what happened, and the user's lines."""
    text = str(error)
    name = type(error).__name__
    if text.startswith(_IN_USER_CODE):
        return _traced(name, text)
    if _CREATED in text:
        return name, *_compiled(text)
    if _DETECTED in text:
        return name, *_run(text)
    return name, without_machinery(text), []


def _traced(name: str, text: str) -> tuple[str, str, list[Line]]:
    """A message of AutoGraph: lines of code, an empty line, the error as ``Class: message``.

    Where AutoGraph cannot make an error of the same class, the message has its name. The error may
    be the runtime's, of a graph that was run while another was traced; it quotes lines of its own.
    """
    outer, is_of_runtime, inner = text.partition(_OF_RUNTIME)
    if is_of_runtime and _DETECTED in inner:
        kind = outer.rstrip().rpartition("\n")[2].strip().removesuffix(":")
        inner = inner.split(_STACK_OF_GRAPH.strip())[0]  # whose last lines are not indented
        message, _ = _run(textwrap.dedent(inner))
        return kind if kind.isidentifier() else name, message, lines_in(outer)
    body = text.removeprefix(_IN_USER_CODE).split("\n")
    last = max((i for i, line in enumerate(body) if is_frame(line)), default=-1)
    rest = textwrap.dedent("\n".join(body[last + 2 :])).strip("\n")
    kind, found, message = rest.partition(":")
    if not (found and kind.isidentifier()):
        return name, rest, lines_in(text)
    return kind, message.lstrip(" "), lines_in(text)


def _run(text: str) -> tuple[str, list[Line]]:
    """A message of the runtime: where each failing node was defined, then what happened."""
    text = text.split(_STACK_OF_GRAPH)[0]
    lines = text.split("\n")
    last = max((i for i, line in enumerate(lines) if is_frame(line)), default=-1)
    rest = [line for line in lines[last + 1 :] if line.strip()]
    quoted = lines_in(text[text.index(_DETECTED) :].split("\n\n" + _DETECTED)[0])
    return "\n".join(rest) or lines[0], _within_functions(quoted)


def _compiled(text: str) -> tuple[str, list[Line]]:
    """A message of XLA: what it cannot compile, and where that operation was made."""
    what, where = text.split(_CREATED, 1)
    said = _UNSUPPORTED.search(what)
    frames = itertools.takewhile(is_frame, where.strip().split("\n"))
    message = _ATTRIBUTES.sub("", said[0] if said else what.strip())
    return message, _within_functions(lines_in("\n".join(frames)))


def _within_functions(quoted: list[Line]) -> list[Line]:
    """The lines without those that call the function, of which there are frames."""
    inner = [line for line in quoted if line.function != "<module>"]
    return inner or quoted[-1:]
