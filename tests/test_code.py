"""What is known of code: whose it is, and copies of its trees."""

from __future__ import annotations

import ast
from typing import Any

from nbfn.code import copy_of_tree


def test_a_copy_of_a_tree_does_not_reach_into_another_file() -> None:
    name: Any = ast.parse("x").body[0]
    context = name.value.ctx  # one object in all trees (CPython)
    context.parent = ast.parse("def other(x):\n    return x + 1")  # as `executing` leaves it
    try:
        statement: Any = ast.parse("y = x").body[0]
        copied = copy_of_tree(statement)
        assert copied is not statement
        assert copied.value is not statement.value
        assert copied.value.ctx is context
        assert ast.unparse(copied) == "y = x"
    finally:
        del context.parent
