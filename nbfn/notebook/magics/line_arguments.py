"""Defines magics, and parses their arguments: options, names and calls."""

from __future__ import annotations

import ast
import functools
import re
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import line_magic, no_var_expand, output_can_be_silenced
from IPython.core.magic_arguments import magic_arguments
from IPython.display import display
from IPython.utils.process import arg_split

from nbfn.errors import without_tensorflow
from nbfn.text import did_you_mean


def show(outline: Any) -> None:
    """Displays an outline as a page, with HTML and text."""
    from nbfn.views.bundle import outline_bundle

    display(outline_bundle(outline), raw=True)


def magic(*arguments: Any, kind: Any = line_magic) -> Any:
    """Returns a decorator that makes a method a magic with these arguments.

    The method is called with the parsed arguments, of which ``line`` is the whole text, and with
    the cell below if there is one. If TensorFlow is missing, it says so in one line.

    Args:
        *arguments: As IPython's decorator ``argument`` returns them.
        kind: IPython's decorator of the kind of magic.
    """

    def decorate(method: Callable[..., Any]) -> Any:
        for each in reversed((magic_arguments(), *arguments)):
            method = each(method)

        @functools.wraps(method)
        def run(self: Any, line: str, *cell: str) -> Any:
            __tracebackhide__ = True
            arguments = _parsed(run, line, "%%" if cell else "%")
            try:
                return method(self, arguments, *cell)
            except Exception as error:
                replacement = without_tensorflow(error)
                if replacement is None:
                    raise
                raise UsageError(str(replacement)) from None

        return kind(no_var_expand(output_can_be_silenced(run)))

    return decorate


def _parsed(magic: Any, line: str, sign: str) -> Namespace:
    """Parses the arguments on the line of a magic; suggests a similar option for an unknown one."""
    try:
        parsed: Namespace = magic.parser.parse_args(_words(line))
    except UsageError as error:
        # argparse has no public list of its options, and names unknown ones in its message only.
        actions = magic.parser._option_string_actions
        options = [each[2:] for each in actions if each.startswith("--")]
        for dashes, word in re.findall(r"(?<=\s)(--?)(\w[\w-]*)", str(error)):
            hint = did_you_mean(word, options, "--{}")
            if hint and word not in options:
                raise UsageError(f"there is no {dashes}{word}{hint}") from None
        raise UsageError(f"{error}; {sign}{magic.__name__}? shows what it takes") from None
    parsed.line = line.strip()
    return parsed


def _words(line: str) -> list[str]:
    """Splits a line at spaces, except between parentheses: argparse takes -1 for an option."""
    words: list[str] = []
    for word in arg_split(line):
        if words and words[-1].count("(") > words[-1].count(")"):
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words


@contextmanager
def one_line(*kinds: type[Exception]) -> Iterator[None]:
    """Converts errors of these kinds to a `UsageError` in one line."""
    try:
        yield
    except kinds as error:
        # IPython shows a `UsageError` without a traceback, but no subclass of it (IPython 9.18).
        raise UsageError(" ".join(str(error).split())) from None


def named_value(shell: InteractiveShell, text: str, any_value: bool = False) -> Any:
    """Returns the value of a name or of an expression without calls.

    Args:
        shell: The shell whose names are used.
        text: Such as ``train_step`` or ``model.step``.
        any_value: Whether any value is allowed, not only a traced function.

    Raises:
        UsageError: If there is no such value.
    """
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        raise UsageError(f"`{text}` is not a name, such as f or model.step") from None
    if any(isinstance(node, ast.Call) for node in ast.walk(tree)):
        raise UsageError(f"`{text}` contains a call; give a name, such as f or model.step")
    try:
        # Without calls, it has effects only if a property has some.
        value = eval(compile(tree, "<magic>", "eval"), shell.user_ns)
    except NameError:
        raise UsageError(f"the notebook has no `{text}`") from None
    except Exception as error:  # a property may raise anything
        raise UsageError(f"`{text}`: {type(error).__name__}: {error}") from None
    if any_value or hasattr(value, "traces"):
        return value
    from nbfn.functions.watching.watch import watched

    observer = watched(value)
    if observer is None:
        raise UsageError(
            f"`{text}` is of type {type(value).__name__}, not a traced function; "
            "define it in a cell with %%tf_function, or with @nbfn.function"
        )
    return observer


def functions_of(shell: InteractiveShell, names: Sequence[str]) -> list[Any]:
    """Returns the functions with these names; without names, all of the session."""
    if names:
        return [each for name in names for each in _parts(named_value(shell, name))]
    from nbfn.sessions.session import session

    functions = {each.id: each for each in session().all_functions().values()}
    if not functions:
        raise UsageError("the notebook has no traced function yet; make one with %%tf_function")
    return list(functions.values())


def _parts(asked: Any) -> list[Any]:
    """Returns the functions of a cell in segments or of a watched object; else the function."""
    parts = getattr(asked, "functions", (asked,))
    return list(parts.values() if isinstance(parts, dict) else parts)


def refuse_several(text: str, asked: Any) -> None:
    """Refuses a cell in segments or watched object where one function is needed.

    Raises:
        UsageError: If it is one; lists its functions.
    """
    if isinstance(getattr(asked, "functions", None), dict):
        listed = ", ".join(f"{text}.{name}" for name in asked.functions) or "it has none yet"
        raise UsageError(f"`{text}` has several functions; name one of them: {listed}")
    if hasattr(asked, "functions"):
        parts = [f"{text}.functions[{i}] ({f.label})" for i, f in enumerate(asked.functions)]
        raise UsageError(
            f"`{text}` is a cell that runs in segments; name one of its functions: "
            + (", ".join(parts) or "it has none yet")
        )


def call_in(shell: InteractiveShell, line: str) -> tuple[Any, list[Any], dict[str, Any]]:
    """Parses a call on a magic's line: the function, and its evaluated arguments.

    Raises:
        UsageError: If it is not a call of a traced function.
    """
    try:
        tree = ast.parse(line.strip(), mode="eval").body
    except SyntaxError:
        raise UsageError(f"`{line.strip()}` is not a call; write it as f(x)") from None
    if not isinstance(tree, ast.Call):
        parameters = getattr(named_value(shell, line.strip()), "parameters", "(…)")
        raise UsageError(f"`{line.strip()}` is not a call; write it as {line.strip()}{parameters}")
    function = named_value(shell, ast.unparse(tree.func))
    refuse_several(ast.unparse(tree.func), function)
    taken = ast.parse("(lambda *args, **kwargs: (list(args), kwargs))()", mode="eval")
    assert isinstance(taken.body, ast.Call)
    taken.body.args, taken.body.keywords = tree.args, tree.keywords
    with one_line(Exception):
        args, kwargs = eval(compile(taken, "<magic>", "eval"), shell.user_ns)
    return function, args, kwargs
