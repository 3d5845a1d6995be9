"""The example in the README works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent.parent / "README.md"


def test_the_example_runs(run, shell, tmp_path, monkeypatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    text = run(code).text
    assert "`images`: shape was (64, 8), is (37, 8). Let one trace serve every size" in text
    assert (tmp_path / "model" / "saved_model.pb").exists()
    assert len(shell.user_ns["predict"].traces) == 1
