"""Work as text and HTML."""

from __future__ import annotations

from typing import Any

from nbfn.protocol import WorkRecord
from nbfn.views.work_text import work_html, work_text


def record(**values: Any) -> WorkRecord:
    given = {"id": "1", "kind": "export", "name": "model", "seconds": 2, "sentence": "exporting"}
    return WorkRecord(**{**given, **values})


def test_what_is_known_is_a_bar() -> None:
    rows = [record(done=1, total=4), record(done=3, total=None), record(done=9, total=4)]
    assert work_text(rows).splitlines() == [
        "[#####...............] exporting",
        "exporting",
        "[####################] exporting",
    ]
    html = work_html(rows)
    assert html.count("<progress") == 3
    assert 'value="0.250"' in html
    assert 'value="1.000"' in html
    assert html.count("value=") == 2


def test_what_users_write_is_escaped() -> None:
    html = work_html([record(name='"><b>', sentence="exporting to <b>")])
    assert "<b>" not in html
    assert "exporting to &lt;b&gt;" in html
