"""The code of the guide works as it stands, and shows what the pages say."""

from __future__ import annotations

import pytest

from tests.docs.pages import DOCS, blocks, run

PAGES = sorted(path.stem for path in (DOCS / "guide").glob("*.md"))


@pytest.mark.parametrize("name", PAGES)
def test_it_runs(name: str, shell) -> None:
    run(shell, blocks((DOCS / "guide" / f"{name}.md").read_text()))
