"""Analyses source lines that need the value of a tensor, and finds replacements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nbfn.functions.signatures.sizes import StaticSize, static_sizes
from nbfn.notebook.frames import CodeLine, tree_of

_FUNCTIONS = {
    "any": "tf.reduce_any",
    "all": "tf.reduce_all",
    "max": "tf.maximum, or tf.reduce_max for the items of one tensor",
    "min": "tf.minimum, or tf.reduce_min for the items of one tensor",
    "sum": "tf.reduce_sum",
    "sorted": "tf.sort",
    "enumerate": "tf.range for the numbers, and an index",
    "zip": "tf.range and indices",
    "reversed": "tf.reverse",
    "map": "tf.map_fn",
    "filter": "tf.boolean_mask",
    "list": "tf.unstack, where the size is known",
    "tuple": "tf.unstack, where the size is known",
}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def around(line: CodeLine) -> list[ast.AST]:
    """Returns the statements and expressions that contain a line, outermost first."""
    tree = tree_of(line.file)
    return [] if tree is None else list(_around(tree, line.number))


def _around(node: ast.AST, number: int) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        first = getattr(child, "lineno", None)
        if first is None:
            yield from _around(child, number)
        elif first <= number <= (getattr(child, "end_lineno", None) or first):
            yield child
            yield from _around(child, number)


def replacement_on(line: CodeLine) -> str | None:
    """Returns what to write instead of code on a line that needs a tensor's value."""
    nodes = around(line)
    for node in nodes:
        if isinstance(node, ast.Assert):
            return "`assert` needs the value; tf.debugging.Assert checks at each call"
        if isinstance(node, _COMPREHENSIONS):
            return (
                "a comprehension is Python's; write a loop with a tf.TensorArray, or use "
                "tf.map_fn or tf.boolean_mask"
            )
        if isinstance(node, ast.Lambda):
            break
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            function = _FUNCTIONS.get(node.func.id)
            if function is not None:
                return f"`{node.func.id}` is Python's; use {function}"
    if any(isinstance(node, ast.FunctionDef) and _is_generator(node) for node in nodes):
        return "AutoGraph leaves generators as they are; write a loop with a tf.TensorArray"
    return None


def _is_generator(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node))


def loops_over_data(line: CodeLine) -> Iterator[tuple[str, str]]:
    """Yields calls of Keras's training loops on a line: the model and the method."""
    for called in (node.func for node in around(line) if isinstance(node, ast.Call)):
        if isinstance(called, ast.Attribute) and called.attr in ("fit", "evaluate", "predict"):
            yield ast.unparse(called.value), called.attr


def sizes_on(line: CodeLine) -> Iterator[tuple[str, str]]:
    """Yields dynamic sizes on a line: their code, and the code of the tensor."""
    for node in _expressions_of(line):
        match node:
            case ast.Subscript(ast.Call(ast.Attribute(ast.Name("tf"), "shape"), [of, *_])):
                yield ast.unparse(node), ast.unparse(of)
            case ast.Call(ast.Attribute(ast.Name("tf"), "size" | "rank"), [of, *_]):
                yield ast.unparse(node), ast.unparse(of)
            case ast.Call(ast.Name("len"), [of]):
                yield f"tf.shape({ast.unparse(of)})[0]", ast.unparse(of)


def gives_seed(line: CodeLine) -> bool:
    """Returns whether a call on a line has a seed that is not a constant."""
    calls = (node for node in _expressions_of(line) if isinstance(node, ast.Call))
    seeds = (keyword for call in calls for keyword in call.keywords if keyword.arg == "seed")
    return any(not isinstance(keyword.value, ast.Constant) for keyword in seeds)


def sizes_read(line: CodeLine) -> Iterator[StaticSize]:
    """Yields the static sizes that a function reads, those on the line first."""
    functions = [node for node in around(line) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    statements = [node for node in around(line) if isinstance(node, ast.stmt)]
    for tree in (*statements[-1:], *functions[-1:]):
        yield from static_sizes(tree)


def _expressions_of(line: CodeLine) -> list[ast.AST]:
    """Returns the expressions in the innermost statement of a line."""
    statements = [node for node in around(line) if isinstance(node, ast.stmt)]
    return [each for statement in statements[-1:] for each in ast.walk(statement)]


def keeps_in_loop(line: CodeLine) -> tuple[int, str] | None:
    """Finds the first ``list.append`` in a loop of a line's function: its line, and the list."""
    functions = [node for node in around(line) if isinstance(node, ast.FunctionDef)]
    for function in functions[-1:]:
        for loop in ast.walk(function):
            if isinstance(loop, ast.For | ast.While):
                for node in ast.walk(loop):
                    match node:
                        case ast.Call(ast.Attribute(ast.Name(name), "append"), [_]):
                            return node.lineno, name
    return None


def raises_in_branch(line: CodeLine) -> bool:
    """Returns whether a line is a ``raise`` in a branch or loop."""
    nodes = around(line)
    return any(isinstance(node, ast.Raise) for node in nodes) and any(
        isinstance(node, ast.If | ast.While | ast.For) for node in nodes
    )


def is_in_try(line: CodeLine) -> bool:
    """Returns whether a line is in a ``try`` block with handlers."""
    return any(
        isinstance(node, ast.Try)
        and node.handlers
        and node.body[0].lineno <= line.number <= (node.body[-1].end_lineno or 0)
        for node in around(line)
    )
