"""``%tf_auto on``: runs every following body cell in segments."""

from __future__ import annotations

import ast

from IPython.core.interactiveshell import InteractiveShell

from nbfn.errors import without_tensorflow
from nbfn.notebook.cells.syntax import MAGIC
from nbfn.site import current_cell

OPTION = "--auto"
SWITCH = "%tf_auto"
_LINE = f"{MAGIC} {OPTION}\n"
_AWAITS = f'print("{MAGIC}: a cell with await runs as plain Python")\n'


class Auto:
    """Transforms the text of cells before IPython parses it."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._is_on = False
        self._shell = shell

    @property
    def is_on(self) -> bool:
        """Whether cells without a cell magic run in segments."""
        return self._is_on

    def switch(self, is_on: bool) -> None:
        """Switches on or off, and updates the views."""
        if is_on != self._is_on:
            from nbfn.sessions.messages.feed import feed

            self._is_on = feed().environment.auto = is_on

    def register(self) -> None:
        """Registers with the shell."""
        self._shell.input_transformers_cleanup.append(self._transform)

    def unregister(self) -> None:
        """Removes the registration and switches off."""
        self.switch(False)
        self._shell.input_transformers_cleanup.remove(self._transform)

    def _transform(self, lines: list[str]) -> list[str]:
        """Adds the magic to body cells; removes it where IPython has to await."""
        if current_cell() is not None:  # the magic itself transforms the text below it
            return lines
        text = "".join(lines)
        if lines and lines[0].startswith(MAGIC):
            return [_AWAITS, *lines[1:]] if _awaits("".join(lines[1:])) else lines
        if not self.is_on or text.lstrip().startswith(("%%", SWITCH, "%load_ext", "?")):
            return lines
        return lines if _is_plain(text) else [_LINE, *lines]

    _transform.has_side_effects = True  # type: ignore[attr-defined]
    """Makes IPython skip the transform when it only checks whether a text is complete."""


def _is_plain(text: str) -> bool:
    """Returns whether a cell runs unchanged: empty, only definitions and imports, or with await."""
    kinds = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    body = _body(text)
    return body is not None and (all(isinstance(node, kinds) for node in body) or _awaits(text))


def _awaits(text: str) -> bool:
    try:
        from nbfn.notebook.cells.parse import awaits
    except Exception as error:
        if without_tensorflow(error) is None:
            raise
        return False  # the magic reports what is missing
    return awaits(_body(text) or [])


def _body(text: str) -> list[ast.stmt] | None:
    """Parses a text; None if it has magics or an error that is reported later."""
    try:
        return ast.parse(text).body
    except SyntaxError:
        return None
