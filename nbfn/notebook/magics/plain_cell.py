"""Runs a cell as IPython does, for magics that enter a context."""

from __future__ import annotations

import ast
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from nbfn.notebook.cells.syntax import (
    cache_source,
    compile_code,
    features,
    ipython_syntax_error,
    to_python,
)


def run_plain_cell(shell: InteractiveShell, cell: str) -> Any:
    """Runs a cell in the notebook's namespace, with the line numbers of the cell.

    Returns:
        The value of its last expression; None if it does not end with one.

    Raises:
        CellSyntaxError: If the cell has a syntax error; shown like IPython's.
        UsageError: If the cell awaits something.
    """
    __tracebackhide__ = True
    source = "\n" + to_python(cell, shell)
    file = cache_source(source, shell)
    flags = features(shell)
    try:
        tree = shell.transform_ast(compile_code(source, file, flags | ast.PyCF_ONLY_AST))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        code = compile_code(tree, file, flags)
        value = compile_code(ast.Expression(last.value), file, flags, "eval") if last else None
    except SyntaxError as error:
        # CPython's message: 'await' outside function.
        if "await" in str(error):
            raise UsageError("this magic's cell cannot await; do it in a cell above") from None
        raise ipython_syntax_error(error, shell) from None
    exec(code, shell.user_ns)
    return eval(value, shell.user_ns) if value is not None else None
