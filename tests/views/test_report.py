"""The session as one file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import tensorflow as tf

import nbfn
from nbfn import standalone
from nbfn.errors import NbfnError
from tests.harness.messages import raises


def test_a_report_is_one_file_that_replaces_the_old_one(tmp_path: Path) -> None:
    f = nbfn.function(lambda x: x + 1.0)
    f(tf.ones([3]))
    file = tmp_path / "report.html"
    file.write_text("old")
    assert nbfn.report(file, title="<Mine>") == file
    page = file.read_text()
    assert "<title>&lt;Mine&gt;</title>" in page
    assert f'"{f.id}"' in page
    assert standalone.POLICY in page
    assert re.findall(r'(?:src|href)="', page) == []
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with raises(NbfnError):
        nbfn.report(tmp_path / "missing" / "report.html")
    (tmp_path / "folder").mkdir()
    with raises(OSError):
        nbfn.report(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


def test_without_the_front_end_a_report_has_its_tables(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(standalone, "STATIC", tmp_path)
    page = nbfn.report(tmp_path / "report.html").read_text()
    assert "<script" not in page
    assert "session: " in page
