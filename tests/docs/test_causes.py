"""Each kind of cause has a section, and the section's first block provokes it."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from nbfn.functions.recording.registry import live_functions
from nbfn.protocol import CauseCode
from tests.docs.pages import DOCS, blocks, run

PAGE = (DOCS / "causes.md").read_text()
SECTIONS = dict(
    re.findall(r"^\((\w+)\)=\n(### .*?)(?=^\(|^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
)


def kinds_of_new(known: set[str]) -> set[str]:
    """The kinds of the causes of all functions but those."""
    functions = [each for each in live_functions() if each.id not in known]
    traces = {trace.cause.code for each in functions for trace in each.traces}
    retraces = {cause.code for each in functions for miss in each.retraces for cause in miss.causes}
    return traces | retraces


def test_every_kind_has_a_section_and_says_its_name_in_the_title() -> None:
    assert set(SECTIONS) == set(get_args(CauseCode))
    for kind, text in SECTIONS.items():
        assert text.splitlines()[0].endswith(f": `{kind}`")


@pytest.mark.parametrize("kind", SECTIONS)
def test_the_first_block_provokes_it(kind: str, shell) -> None:
    known = {each.id for each in live_functions()}
    first, *others = blocks(SECTIONS[kind])
    run(shell, [first])
    assert kind in kinds_of_new(known)
    run(shell, others)


def test_the_block_above_all_sections(shell) -> None:
    run(shell, blocks(PAGE.partition("## ")[0]))
