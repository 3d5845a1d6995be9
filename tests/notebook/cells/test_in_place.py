"""What a traced cell changes in place: as an eager one does, and never with a graph's tensor."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import tensorflow as tf

from nbfn.notebook.cells.in_place import InPlaceError

SETUP = """
import numpy as np
x = tf.constant([1.0, 2.0])
class Log:
    def __init__(self): self.items, self.count = [], 0
log = Log(); L = [tf.constant(1.0)]; d = {'a': tf.constant(1.0)}; mixed = [log]; s = {1}
a = np.array([1.0, 2.0])
def note(z):
    log.items.append(z)
    return z
class Counter:
    def __init__(self): self.seen = 0
    def count(self, z):
        self.seen += 1
        log.items.append(z)
        return z
counter = Counter(); count = counter.count
def made():
    kept = []
    def keep(z): kept.append(z); return kept
    return keep
keep = made()
"""


def values(items) -> list:
    return [np.asarray(item).tolist() for item in items]


@pytest.mark.parametrize(
    ("code", "expression", "once", "twice"),
    [
        ("L.append(x)", "L", [1.0, [1, 2]], [1.0, [1, 2], [1, 2]]),
        ("L += [x]", "L", [1.0, [1, 2]], [1.0, [1, 2], [1, 2]]),
        ("d['b'] = x", "d.values()", [1.0, [1, 2]], [1.0, [1, 2]]),
        ("log.items.append(x)", "log.items", [[1, 2]], [[1, 2], [1, 2]]),
        ("y = note(x)", "log.items", [[1, 2]], [[1, 2], [1, 2]]),
        ("mixed.append(x)", "mixed[1:]", [[1, 2]], [[1, 2], [1, 2]]),
        ("log.count += 2", "[log.count]", [2], [4]),
        ("log.last = x * 2", "[log.last]", [[2, 4]], [[2, 4]]),
        ("s |= {2, 3}", "sorted(s)", [1, 2, 3], [1, 2, 3]),
        ("a[0] = 7.0; a += 1", "a", [8.0, 3.0], [8.0, 4.0]),
        ("y = counter.count(x)", "log.items", [[1, 2]], [[1, 2], [1, 2]]),
        ("y = count(x)", "[counter.seen]", [1], [2]),
        ("y = len(keep(x))", "[y]", [1], [2]),
        ("L[:] = [x]; L.append(L[0])", "L", [[1, 2], [1, 2]], [[1, 2], [1, 2]]),
    ],
)
def test_each_run_changes_it(run, code: str, expression: str, once: list, twice: list) -> None:
    run(SETUP)
    for expected in (once, twice):
        run("%%tf_function\n" + code)
        assert values(run(expression).result) == expected


def test_a_hit_changes_it_too(run, shell) -> None:
    run(SETUP)
    cell = "%%tf_function note_it\nd['b'] = x * 2"
    run(cell)
    run(cell)
    run("x = tf.constant([5.0, 6.0])")
    run(cell)
    assert shell.user_ns["note_it"].hits == 1
    assert values(run("d.values()").result) == [1.0, [10.0, 12.0]]


def test_the_container_stays_the_same_object(run) -> None:
    run(SETUP + "\nalias = L; other = d")
    run("%%tf_function\nL.append(x)\nL += [x]\nd['b'] = x\nM = L")
    assert run("(L is alias, d is other, M is L, len(alias))").result == (True, True, True, 3)


def test_results_that_share_go_on_sharing(run) -> None:
    run(SETUP)
    run("%%tf_function\npair = [x, x + 1]\nsame = pair\nnest = {'p': pair}")
    assert run("(pair is same, nest['p'] is pair, pair is L)").result == (True, True, False)


def test_a_failing_cell_leaves_containers_as_they_were(run, shell) -> None:
    run(SETUP)
    with pytest.raises(ValueError, match="reshape"):
        run("%%tf_function\nL.append(x)\ny = note(x)\nlog.count = 5\ntf.reshape(x, [3])")
    assert values(shell.user_ns["L"]) == [1.0]
    assert (shell.user_ns["log"].items, shell.user_ns["log"].count) == ([], 0)


@pytest.mark.parametrize(
    "code", ["L.append(x * 2)", "kept = [1]; kept.append(x)", "x = note(x * 2)", "x = note(x)"]
)
def test_a_branch_of_the_graph_is_refused_with_the_line(run, shell, code: str) -> None:
    run(SETUP)
    line = "    " + "\n    ".join(code.split("; ")[-1:])
    before = "kept = [1]\n" if "kept" in code else ""
    with pytest.raises(InPlaceError, match=rf"at line {3 + bool(before)};") as refused:
        run(f"%%tf_function\n{before}if tf.reduce_sum(x) > 100:\n{line}\n" + "z = 1")
    assert "change the container after it" in str(refused.value)
    assert values(shell.user_ns["L"]) == [1.0]
    assert shell.user_ns["log"].items == []


def test_globals_that_helpers_assign(run, shell) -> None:
    run(
        SETUP
        + "\ntotal = 0\ndef count():\n    global total, seen\n    total += 1; seen = x * total"
    )
    for expected in (1, 2):
        run("%%tf_function\ncount()\ny = x")
        assert shell.user_ns["total"] == expected
        assert isinstance(shell.user_ns["seen"], tf.Tensor)
        assert shell.user_ns["seen"].numpy().tolist() == [expected, 2 * expected]


def test_what_a_layer_notes_when_it_is_built_stays(run, shell) -> None:
    run(
        SETUP
        + "\nclass Model(tf.Module):\n    def __init__(self): super().__init__(); self.w = None"
        "\n    def __call__(self, x):\n        if self.w is None: self.w = tf.Variable(2.0)"
        "\n        self.last = x * self.w\n        return self.last\nmodel = Model()"
    )
    for n in (1, 2):
        run("%%tf_function\ny = model(x)")
        assert shell.user_ns["model"].last.numpy().tolist() == [2.0, 4.0]
        assert shell.user_ns["y"].numpy().tolist() == [2.0, 4.0], n


def test_a_function_called_by_its_name_changes_nothing(run, shell) -> None:
    run("import nbfn\nx = tf.constant(1.0); y = tf.constant([1.0, 2.0]); L = []; D = {'n': 0}")
    run("%%tf_function step\nL.append(x)\nD['n'] += 1\nz = x + 1")
    namespace = shell.user_ns
    assert (len(namespace["L"]), namespace["D"]) == (1, {"n": 1})
    returned = run("step(y, D)" if "D" in namespace["step"].parameters else "step(y)").result
    assert (len(namespace["L"]), namespace["D"]) == (1, {"n": 1})
    assert returned["z"].numpy().tolist() == [2.0, 3.0]
    assert returned["L"][-1].numpy().tolist() == [1.0, 2.0]
    assert namespace["z"].numpy() == 2.0


def test_a_function_called_by_its_name_that_fails_leaves_all_as_it_was(run, shell) -> None:
    run("import nbfn\nx = tf.constant(1.0); L = []; wrong = False")
    run("%%tf_function step\nL.append(x)\nif wrong:\n    raise KeyError('wrong')\nz = x + 1")
    with pytest.raises(KeyError, match="wrong"):
        run("step(tf.constant([1.0]), wrong=True)")
    assert [each.numpy() for each in shell.user_ns["L"]] == [1.0]


def test_what_a_call_by_name_makes_is_not_kept(run, shell) -> None:
    run("class Part(tf.Module): pass\nx = tf.constant(1.0); y = tf.constant([1.0])")
    run("%%tf_function step\npart = Part()\nz = x + 1")
    traced = shell.user_ns["step"]
    run("step(y)")
    gc.collect()
    parts = [trace.python_results for trace in traced.traces]
    assert [each.is_whole() for each in parts] == [True, False]
    run("x = y\ndel part")
    run("%%tf_function step\npart = Part()\nz = x + 1")
    assert run("type(part).__name__").result == "Part"
    assert shell.user_ns["step"] is traced


def test_a_branch_of_python_that_calls_one_of_tensorflow(run, shell) -> None:
    run("def decided(z):\n    if tf.reduce_sum(z) > 4:\n        z = z + 1\n    return z")
    run("x = tf.constant(1.0); n = 3; L = []")
    run("%%tf_function\nif n > 2:\n    L.append(decided(x))")  # both decide on line 2
    assert [each.numpy() for each in shell.user_ns["L"]] == [1.0]


def test_a_new_variable_of_a_call_that_fails_does_not_stay(run, shell, refused) -> None:
    run("x = tf.constant(1.0); made = []")
    cell = (
        "%%tf_function\nif not made:\n    made.append(tf.Variable(1.0))\n"
        "tf.debugging.assert_less(x, 1.0)\nz = made[0] + x"
    )
    assert "InvalidArgumentError" in refused(cell)
    assert shell.user_ns["made"] == []
    run("x = tf.constant(-1.0)")
    run(cell)
    assert (len(shell.user_ns["made"]), shell.user_ns["z"].numpy()) == (1, 0.0)


def test_a_list_with_what_ended_with_the_trace_is_not_left(run, shell) -> None:
    run("x = tf.constant(1.0)")
    text = run("%%tf_function\nwith tf.GradientTape() as tape:\n    y = x\npair = [tape, x]").text
    assert "`pair` ended with the trace" in text
    assert "pair" not in shell.user_ns


HELPERS = """
x = tf.constant(1.0); log = []
class Meter:
    def __init__(self): self.seen = []; self.best = 0.0
    def keep(self, z):
        if z > 100.0:
            self.seen.append('large')
        return z
    def note(self, z):
        if z > 100.0:
            z = z * 2
            self.best = z
        self.seen.append('any')
        return z
m = Meter()
def often(z):
    for i in tf.range(3):
        log.append('a')
        z = z + 1
    return z
"""


@pytest.mark.parametrize(
    ("cell", "what"), [("m.keep(x)", "`self.seen` is"), ("often(x)", "`log` is")]
)
def test_a_change_in_a_branch_of_a_helper_is_refused(run, shell, refused, cell, what) -> None:
    run(HELPERS)
    text = refused(f"%%tf_function\n{cell}")
    assert f"{what} changed in a branch or a loop that TensorFlow decides, at line" in text
    assert "of In [1]" in text
    assert (shell.user_ns["log"], shell.user_ns["m"].seen) == ([], [])


def test_a_change_beside_a_branch_of_a_helper_is_not(run, shell) -> None:
    run(HELPERS)
    run("%%tf_function\nm.note(x)")
    assert (shell.user_ns["m"].seen, shell.user_ns["m"].best.numpy()) == (["any"], 0.0)
