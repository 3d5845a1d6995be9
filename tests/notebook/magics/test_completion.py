"""Completion on the lines of the magics, with Jedi and without."""

from __future__ import annotations

import pytest


@pytest.fixture(params=[True, False], ids=["jedi", "no jedi"])
def complete(shell, run, request):
    run("x = tf.ones([2]); strategy = tf.distribute.OneDeviceStrategy('CPU:0')")
    run("%%tf_function\ndef train_step(x):\n    return x\ndef test_step(x):\n    return x\n")
    shell.Completer.use_jedi = request.param

    def complete_(text: str) -> set[str]:
        line, cursor = text.rsplit("\n", 1)[-1], len(text)
        found = shell.Completer.completions(text, cursor)
        from IPython.core.completer import provisionalcompleter

        with provisionalcompleter():
            return {line[: each.start - cursor + len(line)] + each.text for each in found}

    return complete_


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%%tf_function step --on", {"--on-limit", "--on-stale"}),
        ("%%tf_function --on-limit e", {"evict", "eager"}),
        ("%%tf_function -i x,", {"x"}),
        ("%tf_traces t", {"train_step", "test_step"}),
        ("%tf_graph train_step --", {"--trace", "--save", "--help"}),
        ("%tf_graph --ti", {"--time"}),
        ("%tf_graph --time tr", {"train_step"}),
        ("%tf_stance fail", {"fail_on_retrace"}),
        ("%tf_export model tr", {"train_step"}),
    ],
)
def test_options_choices_and_names(complete, line: str, expected: set[str]) -> None:
    words = {each.replace(",", " ").split()[-1] for each in complete(line)}
    assert expected - {"--help"} <= words - {"--help"}
    if not line.endswith((" ", ",", "--")):
        assert words == expected


def test_other_lines_are_completed_as_ever(complete) -> None:
    assert any("train_step" in each for each in complete("train_st"))
    assert any("reduce_sum" in each for each in complete("%%tf_function\ntf.reduce_su"))


def test_unloading_takes_it_away(shell, complete) -> None:
    shell.run_cell("%unload_ext nbfn").raise_error()
    assert shell.Completer.custom_matchers == []
    shell.run_cell("%load_ext nbfn").raise_error()
    assert len(shell.Completer.custom_matchers) == 1
