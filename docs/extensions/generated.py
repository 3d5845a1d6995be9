"""Directives that are made of the parsers of magics and commands, so that they cannot differ."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any, ClassVar

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from nbfn import nn
from nbfn.command.main import main
from nbfn.modules.layers.layers import KerasLayer
from nbfn.modules.layers.recurrent import RNN
from nbfn.notebook.magics.cell_magics import CellMagics
from nbfn.notebook.magics.line_magics import LineMagics


def magics() -> dict[str, Any]:
    """Every magic by its name with the signs, such as ``%%tf_function``."""
    return {
        sign + name: getattr(cls, name)
        for cls in (CellMagics, LineMagics)
        for kind, sign in (("cell", "%%"), ("line", "%"))
        for name in cls.magics[kind]
    }


def of_magic(name: str) -> str:
    """What there is to say of a magic, as Markdown."""
    parser = magics()[name].parser
    said, _, examples = inspect.cleandoc(parser.description).partition("Examples::\n")
    usage = parser.format_usage().partition(name.lstrip("%"))[2]
    rows = [
        (
            [_spoken(action, option) for option in action.option_strings] or [action.dest],
            str(action.help),
        )
        for action in parser._actions
        if action.help not in (None, "==SUPPRESS==")
    ]
    text = f"```text\n{name}{_wrapped(usage)}\n```\n\n{said}\n"
    if rows:
        text += f"\n{_table(rows)}\n"
    if examples:
        text += f"\n```python\n{inspect.cleandoc(examples)}\n```\n"
    return text


def _spoken(action: Any, option: str) -> str:
    if action.nargs == 0:
        return option
    choices = "{" + ",".join(action.choices) + "}" if action.choices else None
    return f"{option} {action.metavar or choices or action.dest.upper()}"


def of_command(name: str) -> str:
    """What there is to say of a command, as Markdown."""
    command = main.commands[name]
    context = click.Context(command, info_name=f"nbfn {name}")
    rows = [
        ([record[0]], record[1])
        for each in command.params
        if (record := each.get_help_record(context)) is not None
    ]
    usage = command.get_usage(context).removeprefix("Usage: ")
    text = f"```text\n{usage}\n```\n\n{inspect.cleandoc(command.help or '')}\n"
    if rows:
        text += f"\n{_table(rows)}\n"
    if command.epilog:
        title, *lines = command.epilog.replace("\b\n", "").splitlines()
        codes = [([line.split()[0]], " ".join(line.split()[1:])) for line in lines]
        text += f"\n{title}\n\n{_table(codes)}\n"
    return text


def layers(_: str) -> str:
    """Every layer with its fields, as Markdown."""
    lines = []
    for name in sorted(nn.__all__):
        layer = getattr(nn, name)
        if isinstance(layer, type) and issubclass(layer, KerasLayer | RNN):
            fields = [each for each in inspect.signature(layer).parameters if each != "parent"]
            said = inspect.cleandoc(layer.__doc__ or "").splitlines()[0]
            lines.append(f"`nn.{name}({', '.join(fields)})`\n: {said}\n")
    return "\n".join(lines)


def _wrapped(usage: str) -> str:
    """The usage of a magic after its name, in lines that a page has room for."""
    return textwrap.fill(f" {' '.join(usage.split())}", 88, subsequent_indent="    ").rstrip()


def _table(rows: list[tuple[list[str], str]]) -> str:
    lines = [
        f"| {', '.join(f'`{each}`' for each in names)} | {_escaped(text)} |" for names, text in rows
    ]
    return "\n".join(["| | |", "|---|---|", *lines])


def _escaped(text: str) -> str:
    return re.sub(r"([|*<>])", r"\\\1", text)


class _Generated(Directive):
    required_arguments = 1
    final_argument_whitespace = True
    write: ClassVar[Any]

    def run(self) -> list[nodes.Node]:
        text = type(self).write(" ".join(self.arguments))
        into = nodes.Element()
        self.state.nested_parse(StringList(text.splitlines(), "generated"), 0, into)
        return into.children


class MagicDirective(_Generated):
    """The options of a magic."""

    write = staticmethod(of_magic)


class CommandDirective(_Generated):
    """The options of a command."""

    write = staticmethod(of_command)


class LayersDirective(_Generated):
    """The layers."""

    required_arguments = 0
    write = staticmethod(layers)


def setup(app: Any) -> dict[str, Any]:
    """Registers the directives."""
    app.add_directive("magic", MagicDirective)
    app.add_directive("command", CommandDirective)
    app.add_directive("layers", LayersDirective)
    return {"parallel_read_safe": True}
