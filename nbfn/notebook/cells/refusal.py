"""What a traced cell cannot hold, refused in one line that names the place."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from IPython.core.error import UsageError

from nbfn.notebook.cells.names import names_of
from nbfn.notebook.cells.noting import Noting
from nbfn.notebook.remarks.findings import Finding

_RESERVED = ("__outputs__", "__value__")


def refuse_untraceable(body: Iterable[ast.stmt]) -> None:
    """Refuses what has no meaning inside a traced function.

    Raises:
        UsageError: For ``await``, ``yield`` and ``global`` outside a function, star imports, nbfn's
            own names, and magics and shell commands; the message names the line.
    """
    for node in same_scope(body):
        if isinstance(node, ast.Global):
            raise UsageError(
                f"line {node.lineno}: a traced cell shares its names anyway; leave `global` out"
            )
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            raise UsageError(f"line {node.lineno}: do `import *` in a cell of its own")
        if isinstance(node, ast.Name) and node.id in _RESERVED:
            raise UsageError(f"line {node.lineno}: nbfn uses the name `{node.id}` itself")
        if isinstance(node, ast.AsyncFunctionDef):
            raise UsageError(f"line {node.lineno}: an async function cannot be traced")
        if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) or _is_async(node):
            raise UsageError(
                f"line {node.lineno}: a traced cell cannot await; do it in a cell above"
            )
        if isinstance(node, ast.Yield | ast.YieldFrom):
            raise UsageError(f"line {node.lineno}: a traced cell cannot yield")
        if _is_magic(node):
            raise UsageError(
                f"line {node.lineno}: magics and shell commands cannot be traced; "
                "run them in a cell of their own"
            )


def refuse_endless(finding: Finding, place: str) -> None:
    """Refuses what goes through a data set in Python: it never ends while a graph is made.

    Args:
        finding: What does it.
        place: The line, and the code, as the beginning of a sentence.

    Raises:
        UsageError: Always.
    """
    what = f"{place} goes through a data set in Python, and"
    if finding.kind == "loop":
        raise UsageError(
            f"{what} never ends with --no-autograph; leave the option out, or use .reduce(…)"
        )
    raise UsageError(
        f"{what} in a traced cell it has no end; write a `for` statement over the data set itself, "
        "use .map(…) or .reduce(…), or do it in a cell without %%tf_function"
    )


def refuse_unknown_deletions(
    body: Sequence[ast.stmt], namespace: dict[str, Any], file: str
) -> None:
    """Raises what an eager cell raises that takes away a name which nothing has.

    AutoGraph lets it pass.

    Args:
        body: The cell's statements.
        namespace: The notebook's names.
        file: The name of the cell's source.

    Raises:
        NameError: From the cell's line.
    """
    for number, statement in enumerate(body):
        for target in statement.targets if isinstance(statement, ast.Delete) else ():
            if not isinstance(target, ast.Name):
                continue
            before = names_of(body[:number])
            is_there = target.id in namespace and target.id not in before.deletes
            is_there = is_there or target.id in (*before.writes, *before.may_write)
            if not is_there and target.id not in Noting(namespace, before.reads).stored():
                alone = ast.copy_location(ast.Delete([target]), statement)
                exec(compile(ast.Module([alone], type_ignores=[]), file, "exec"), {})


def same_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.expr | ast.stmt]:
    """Statements and expressions outside functions and classes."""
    for node in nodes:
        if isinstance(node, ast.expr | ast.stmt):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from same_scope(ast.iter_child_nodes(node))


def _is_async(node: ast.AST) -> bool:
    return any(getattr(each, "is_async", 0) for each in getattr(node, "generators", ()))


def _is_magic(node: ast.AST) -> bool:
    """Whether IPython made this call from ``%magic`` or ``!command``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    owner = node.func.value
    return (
        node.func.attr in ("run_line_magic", "run_cell_magic", "system", "getoutput")
        and isinstance(owner, ast.Call)
        and isinstance(owner.func, ast.Name)
        and owner.func.id == "get_ipython"
    )
