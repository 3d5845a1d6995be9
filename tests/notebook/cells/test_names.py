"""Which names a cell reads before it writes them, and which it leaves behind."""

from __future__ import annotations

import ast

import pytest

from nbfn.notebook.cells.names import names_of


@pytest.mark.parametrize(
    ("code", "reads", "writes"),
    [
        ("y = x", "x", "y"),
        ("x = x + 1", "x", "x"),
        ("x += 1", "x", "x"),
        ("x: int = y", "y", "x"),
        ("x: int", "", ""),
        ("a, (b, *c) = d", "d", "a b c"),
        ("a.b = c", "c a", ""),
        ("a[i] = c", "c a i", ""),
        ("a[i] += c", "c a i", ""),
        ("import a.b, c as d\nfrom e import f as g", "", "a d g"),
        ("if c:\n    x = 1\nelse:\n    x = 2\n    y = 3", "c", "x"),
        ("if c:\n    x = 1\nz = x", "c x", "z"),
        ("for i in xs:\n    t = i\n", "xs", ""),
        ("while a < b:\n    a = a + 1", "a b", ""),
        ("with f() as g:\n    h = g", "f", "g h"),
        ("try:\n    x = f()\nexcept E as e:\n    x = g(e)\nfinally:\n    y = 1", "f E g", "x y"),
        ("ys = [x * k for x in xs]", "xs k", "ys"),
        ("ys = {x: (n := x) for x in xs}", "xs", "n ys"),
        ("ys = [lambda: x * k for x in xs]", "xs k", "ys"),
        ("xs = [x for x in x]", "x", "xs"),
        ("def f(x=[y for y in ys]):\n    return [x for _ in zs]", "ys zs", "f"),
        ("class A:\n    k = 1\n    def m(self):\n        return k", "k", "A"),
        ("f = lambda x, y=z: x + w", "z w", "f"),
        ("def f(x, y=z):\n    q = x + w\n    return f(q)", "z w", "f"),
        ("class A(B):\n    c = d\n    def m(self):\n        return e", "B d e", "A"),
        ("x = 1\ndel x\ny = x", "x", "y"),
        ("match x:\n    case 1:\n        y = 1\n    case _:\n        y = 2", "x", "y"),
        ("if (n := f(x)) > 1:\n    pass", "f x", "n"),
        ("y = a and (b := c)", "a c", "y"),
        ("y = a if c else b", "c a b", "y"),
        (
            "match p:\n    case [a, *r]:\n        q = a\n    case {'k': v, **w}:\n        q = v",
            "p",
            "",
        ),
        ("print(f'{x!r:>{w}}')", "print x w", ""),
    ],
)
def test_names(code: str, reads: str, writes: str) -> None:
    names = names_of(ast.parse(code).body)
    assert sorted(names.reads) == sorted(reads.split())
    assert sorted(names.writes) == sorted(writes.split())


def test_names_written_on_some_way_only() -> None:
    names = names_of(ast.parse("for i in xs:\n    t = i\nif c:\n    u = 1").body)
    assert names.may_write == ["i", "t", "u"]


def test_names_taken_away() -> None:
    assert names_of(ast.parse("x = 1\ndel x\ndel y").body).deletes == ["x", "y"]
    assert names_of(ast.parse("del x\nx = 1").body).deletes == []


def test_the_order_is_that_of_first_appearance() -> None:
    names = names_of(ast.parse("c = b + a\nd = a\ne = z").body)
    assert names.reads == ["b", "a", "z"]
    assert names.writes == ["c", "d", "e"]
