"""Where in the user's code something happened."""

from __future__ import annotations

import os
import warnings

from nbfn.code import is_library
from nbfn.site import (
    Cell,
    Site,
    call_site,
    current_cell,
    definition_site,
    enter_cell,
    leave_cell,
    warn,
)


def test_in_a_script_it_is_the_innermost_line_of_the_users() -> None:
    site = call_site()
    assert site.file == __file__
    assert (
        site.line
        == test_in_a_script_it_is_the_innermost_line_of_the_users.__code__.co_firstlineno + 1
    )
    assert site.cell is None
    assert str(site).startswith("test_site.py, line ")


def test_in_a_cell_it_is_the_line_of_the_running_cell() -> None:
    namespace: dict = {"call_site": call_site, "helper": lambda: call_site()}
    cell = Cell("a", 3)
    enter_cell(cell, namespace)
    try:
        exec(compile("\n\nsite = helper()", "<cell>", "exec"), namespace)
        assert namespace["site"] == Site("<cell>", 3, cell)
        assert str(namespace["site"]) == "In [3], line 3"
        assert call_site() == Site(None, None, cell)
    finally:
        leave_cell()
    assert current_cell() is None


def test_a_function_of_a_file_is_defined_there_also_when_a_cell_imports_it() -> None:
    code = test_texts.__code__
    in_cell = compile("def f(): pass", "<cell>", "exec").co_consts[0]
    assert definition_site(in_cell).file == __file__
    cell = Cell("a", 3)
    enter_cell(cell, {})
    try:
        assert definition_site(code) == Site(__file__, code.co_firstlineno)
        assert definition_site(in_cell) == Site(None, None, cell)
    finally:
        leave_cell()


def test_texts() -> None:
    assert str(Site(None, None)) == "unknown place"
    assert str(Site(None, 2, Cell("a", None))) == "this cell, line 2"
    leave_cell()


def test_a_text_is_shown_again_for_another_file_and_in_another_run_of_a_cell() -> None:
    space: dict = {"warn": warn, "__name__": "__main__"}
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for file in ("one.py", "other.py"):
            exec(compile("warn('a text')", file, "exec"), dict(space, __file__=file))
        for _ in range(2):
            exec(compile("for _ in range(3): warn('a text')", "cell", "exec"), space)
            space["__warningregistry__"].clear()  # as IPython does
    assert [each.filename for each in shown] == ["one.py", "other.py", "cell", "cell"]


def test_packages_that_are_installed_anywhere_are_no_code_of_the_users(
    tmp_path, monkeypatch
) -> None:
    assert is_library("/elsewhere/lib/python3.11/site-packages/tensorflow/python/ops/math_ops.py")
    assert is_library(os.__file__)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("made", "mine"):
        (tmp_path / name).mkdir()
    record = tmp_path / "made-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("made/__init__.py,,\nmade-1.0.dist-info/RECORD,,\n")
    (record.parent / "METADATA").write_text("Name: made\nVersion: 1.0\n")
    assert is_library(str(tmp_path / "made" / "__init__.py"))
    assert not is_library(str(tmp_path / "mine" / "__init__.py"))
    assert not is_library("/home/somebody/site-packages.py")
    assert not is_library("<ipython-input-3-1f2e>")
    assert is_library("<string>")
