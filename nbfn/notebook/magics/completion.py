"""Completes the lines of magics: options, choices, and names of the session."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics

_LINE = re.compile(r"^\s*(?P<magic>%{1,2}\w+)\s(?P<rest>.*)$", re.DOTALL)
_FUNCTIONS = {"function", "functions", "call", "name"}
_VALUES = {"inputs", "outputs"}


class Completion:
    """Completes the magics of one shell.

    Args:
        shell: The shell.
        magics: The magics, whose parsers define the completions.
    """

    def __init__(self, shell: InteractiveShell, magics: Iterable[Magics]) -> None:
        self._shell = shell
        self._parsers: dict[str, argparse.ArgumentParser] = {}
        for each in magics:
            for kind, sign in (("line", "%"), ("cell", "%%")):
                for name, method in each.magics[kind].items():
                    self._parsers[sign + name] = method.parser

    def register(self) -> None:
        """Registers with the shell's completer."""
        self._shell.Completer.custom_matchers.append(self._match)

    def unregister(self) -> None:
        """Removes the registration."""
        matchers = self._shell.Completer.custom_matchers
        if self._match in matchers:
            matchers.remove(self._match)

    @context_matcher(priority=100, identifier="nbfn")
    def _match(self, context: CompletionContext) -> dict[str, Any]:
        until = context.full_text.split("\n")[context.cursor_line][: context.cursor_position]
        fragment, found = self.complete(until)
        return {
            "completions": [SimpleCompletion(text, type="magic argument") for text in found],
            "matched_fragment": fragment,
            "suppress": bool(found),
        }

    def complete(self, line: str) -> tuple[str, list[str]]:
        """Completes a line up to the cursor.

        Returns:
            The text to replace, and the possible replacements.
        """
        parsed = _LINE.match(line)
        parser = self._parsers.get(parsed["magic"]) if parsed else None
        if parsed is None or parser is None:
            return "", []
        *before, word = re.split(r"\s+", parsed["rest"])
        option = _option(parser, before[-1]) if before else None
        if word.startswith("-"):
            fragment = word
            candidates: Iterable[str] = (
                text for a in _actions(parser) for text in a.option_strings
            )
        else:
            fragment = word.rsplit(",", 1)[-1]
            candidates = self._values(parser, before, option)
        return fragment, sorted({each for each in candidates if each.startswith(fragment)})

    def _values(
        self,
        parser: argparse.ArgumentParser,
        before: Sequence[str],
        option: argparse.Action | None,
    ) -> Iterator[str]:
        """Yields completions for a word that is not an option."""
        if option is not None and option.nargs != 0:
            yield from self._values_of(option)
            return
        positional = [action for action in _actions(parser) if not action.option_strings]
        number = len([each for each in before if each and not each.startswith("-")])
        for action in positional[min(number, len(positional) - 1) :][:1]:
            yield from self._values_of(action)

    def _values_of(self, action: argparse.Action) -> Iterator[str]:
        yield from map(str, action.choices or ())
        if action.dest in _FUNCTIONS:
            yield from self._names(_is_traced)
        elif action.dest == "objects":
            yield from self._names(callable)
        elif action.dest in _VALUES:
            yield from self._names(lambda value: not callable(value))
        elif action.dest == "device" and "tensorflow" in sys.modules:
            import tensorflow as tf

            for device in tf.config.list_logical_devices():
                yield ":".join(device.name.split(":")[-2:])

    def _names(self, wanted: Any) -> Iterator[str]:
        for name, value in list(self._shell.user_ns.items()):
            if name.startswith("_") or name in ("In", "Out") or isinstance(value, ModuleType):
                continue
            if wanted(value):
                yield name


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    # argparse has no public list of its actions.
    return [action for action in parser._actions if action.help != argparse.SUPPRESS]


def _option(parser: argparse.ArgumentParser, word: str) -> argparse.Action | None:
    return next((each for each in _actions(parser) if word in each.option_strings), None)


def _is_traced(value: Any) -> bool:
    return hasattr(type(value), "traces")
