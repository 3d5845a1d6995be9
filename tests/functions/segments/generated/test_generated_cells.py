"""Generated cells do under `%%tf_function` what they do without it."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.functions.segments.comparing.generated import SETUP, cells
from tests.functions.segments.comparing.sides_of_cells import (
    differences,
    graphs_pay,
    run_story,
)
from tests.functions.segments.corpus.story import Story

EXAMPLES = int(os.environ.get("NBFN_EXAMPLES", "12"))
LINE = os.environ.get("NBFN_LINE", "%%tf_function step")
"""What stands above the cells; `%%tf_eager` shows that the cells themselves are repeatable."""


@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    report_multiple_bugs=False,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
@given(cells())
@pytest.mark.filterwarnings("ignore")
def test_generated_cells(cell: str) -> None:
    story = Story("generated", SETUP, cell)
    with graphs_pay():
        assert differences(run_story(story, ""), run_story(story, LINE)) == []
