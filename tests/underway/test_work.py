"""Work that is said to be under way is listed until it ends."""

from __future__ import annotations

import pytest

from nbfn.underway.work import Work, under_way, working


def test_it_is_listed_until_it_ends_well_or_badly() -> None:
    with working(Work("export", "model", "step", total=2)) as outer:
        with working(Work("loop", "epochs", "steps")) as inner:
            assert under_way() == (outer, inner)
        assert under_way() == (outer,)
    with pytest.raises(KeyboardInterrupt), working(Work("loop", "epochs", "steps")):
        raise KeyboardInterrupt
    assert under_way() == ()


def test_a_step_is_done_when_the_next_begins() -> None:
    work = Work("export", "model", "step", total=3)
    seen = []
    for step in ("writing", "verifying"):
        work.next(step)
        seen.append((work.done, work.step))
    assert seen == [(0, "writing"), (1, "verifying")]
