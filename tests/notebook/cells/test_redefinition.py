"""Cells run again, changed, out of order, dropped: the right result, no stale graph, no leak."""

from __future__ import annotations

import gc
import logging
import weakref

import pytest
import tensorflow as tf

from nbfn.functions import live_functions

SETUP = "import nbfn\nx = tf.constant(2.0)\n"


@pytest.fixture(autouse=True)
def no_warning(caplog):
    with caplog.at_level(logging.WARNING, logger="tensorflow"):
        yield
    assert "retracing" not in caplog.text


def graphs_of(function) -> list[weakref.ref]:
    return [weakref.ref(trace.concrete_function) for trace in function.traces]


def alive(references) -> list:
    gc.collect()
    return [each for each in references if each() is not None]


def test_a_definition_run_again_and_changed(run, shell) -> None:
    run(SETUP)
    run("%%tf_function\ndef f(x):\n    return x + 1")
    assert run("f(x)").result.numpy() == 3.0
    first = weakref.ref(shell.user_ns["f"])
    graphs = graphs_of(shell.user_ns["f"])
    run("%%tf_function\ndef f(x):\n    return x + 1")
    assert shell.user_ns["f"] is first()
    run("f(x)")
    assert first().hits == 1
    run("%%tf_function\ndef f(x):\n    return x + 2")
    assert run("f(x)").result.numpy() == 4.0
    assert alive([first, *graphs]) == []


def test_a_helper_that_changes(run) -> None:
    run(SETUP + "def helper(x): return x * 2")
    run("%%tf_function\ndef f(x):\n    return helper(x)")
    run("%%tf_function body\ny = helper(x)")
    assert run("f(x)").result.numpy() == 4.0
    run("def helper(x): return x * 10")
    run("%%tf_function\ndef f(x):\n    return helper(x)")
    run("%%tf_function body\ny = helper(x)")
    assert run("(f(x).numpy(), y.numpy())").result == (20.0, 20.0)


def test_a_definition_run_again_after_a_change_that_was_traced_is_kept(run, shell) -> None:
    cell = "%%tf_function\ndef f(x):\n    return x * k"
    run(SETUP + "k = 2.0")
    run(cell)
    run("f(x); k = 3.0; f(x)")
    first = weakref.ref(shell.user_ns["f"])
    run(cell)
    assert shell.user_ns["f"] is first()
    assert run("f(x)").result.numpy() == 6.0
    assert first().hits == 1


def test_a_whole_cell_run_again_after_a_change_names_it(run, shell) -> None:
    cell = "%%tf_function --whole f\ny = helper(x)"
    run(SETUP + "k = 2.0\ndef helper(x): return x * k")
    run(cell)
    for _ in range(2):
        run("k = k + 1.0")
        run(cell)
    sentences = [str(each.causes[0]) for each in shell.user_ns["f"].retraces]
    assert sentences == ["global `k` was 2.0, is 3.0", "global `k` was 3.0, is 4.0"]


def test_cells_out_of_order(run, shell) -> None:
    run(SETUP)
    run("%%tf_function\ndef f(x):\n    return later(x)")
    with pytest.raises(NameError, match="later"):
        run("f(x)")
    run("%%tf_function\ndef later(x):\n    return x * 3")
    assert run("f(x)").result.numpy() == 6.0
    run("x = tf.constant([1.0, 2.0])")
    run("%%tf_function second\nz = y * 2 if 'y' in globals() else x")
    run("%%tf_function first\ny = x + 1")
    run("%%tf_function second\nz = y * 2 if 'y' in globals() else x")
    assert shell.user_ns["z"].numpy().tolist() == [4.0, 6.0]


def test_two_cells_that_define_one_name(run, shell) -> None:
    run(SETUP)
    cells = ["%%tf_function step\ny = x + 1", "%%tf_function step\ny = x + 2"]
    for _ in range(2):
        for n, cell in enumerate(cells, start=1):
            run(cell)
            assert shell.user_ns["y"].numpy() == 2.0 + n


@pytest.mark.parametrize("drop", ["del {}", "{} = None", "%reset -f"])
@pytest.mark.parametrize(
    "cell", ["%%tf_function\ndef f(x):\n    return x + 1", "%%tf_function f\ny = x + 1"]
)
def test_a_dropped_function_gives_its_memory_back(run, shell, cell: str, drop: str) -> None:
    run(SETUP)
    run(cell)
    run("f(x)")
    references = [weakref.ref(shell.user_ns["f"]), *graphs_of(shell.user_ns["f"])]
    run(drop.format("f"))
    run("1")
    assert alive(references) == []


def test_reset_drops_unnamed_cells_and_nbfn_goes_on(run, shell) -> None:
    run(SETUP)
    run("%%tf_function\ny = x + 1")
    (kept,) = shell.user_ns["_nbfn_cells"].values()
    references = [weakref.ref(kept), weakref.ref(kept.whole), *graphs_of(kept.whole)]
    del kept
    run("%reset -f")
    assert alive(references) == []
    run("import tensorflow as tf\nx = tf.constant(3.0)")
    run("%%tf_function\ny = x + 1")
    assert shell.user_ns["y"].numpy() == 4.0


def test_a_class_cell_of_modules_that_are_bound(run, shell) -> None:
    run(SETUP + "from nbfn import nn\nbatch = tf.ones([2, 3])")
    cell = (
        "class Net(nn.Module):\n    size: int = 4\n    @nn.compact\n    def __call__(self, x):\n"
        "        return nn.Dense(self.size)(x) * {}"
    )
    run(cell.format(1))
    run("net = Net().bind(Net().init(nn.key(0), batch))")
    run("%%tf_function\ndef predict(x):\n    return net(x)")
    before = run("predict(batch)").result
    run(cell.format(2))
    assert tf.reduce_all(run("predict(batch)").result == before)
    old = weakref.ref(shell.user_ns["net"])
    run("net = Net().bind(Net().init(nn.key(0), batch))")
    run("%%tf_function\ndef predict(x):\n    return net(x)")
    after = run("predict(batch)").result
    assert tf.reduce_all(tf.abs(after - 2 * before) < 1e-5)
    assert alive([old]) == []


def test_a_body_run_again_and_changed(run, shell, always_traced) -> None:
    cell = "%%tf_function step\ny = tf.sin(x)\nbox.last = y\nz = x * {0}\nbox.z = z"
    run(SETUP + "class Box: pass\nbox = Box()")
    run(cell.format(2))
    first = weakref.ref(shell.user_ns["step"])
    changed, same = (weakref.ref(each) for each in reversed(first().functions))
    graphs = graphs_of(changed())
    run(cell.format(2))
    assert shell.user_ns["step"] is first()
    run(cell.format(3))
    assert shell.user_ns["box"].z.numpy() == 6.0
    assert alive([first, changed, *graphs]) == []
    assert same() is shell.user_ns["step"].functions[0], "its statement has not changed"


def test_what_a_cell_made_is_not_kept(run, shell, always_traced) -> None:
    cell = (
        "%%tf_function step\nmade = Box(); made.value = x * 2; made.up = box\n"
        "f = lambda z: z + x\nlayer = tf.keras.layers.Dense(1)\ny = layer(tf.ones([1, 2])) + x\n"
        "loss = tf.reduce_sum(y) + layer.kernel[0, 0]"
    )
    run(SETUP + "class Box: pass\nbox = Box()")
    for _ in range(2):
        run(cell)
    run("%%tf_function\npart = tf.Module()")
    names = ("made", "f", "box", "part", "layer", "y", "loss")
    references = [weakref.ref(shell.user_ns[name]) for name in names]
    run("del made, f, part, layer, y, loss; box = None")
    assert alive(references) == []
    run("box = Box()")
    run(cell)
    assert shell.user_ns["made"].up is shell.user_ns["box"]
    assert run("f(tf.constant(1.0))").result.numpy() == 3.0


def test_a_class_that_a_body_makes_instances_of_is_defined_again(run, shell) -> None:
    run(SETUP + "class Box: pass")
    for _ in range(2):
        run("%%tf_function step\nmade = Box(); made.value = x * 2")
        assert type(shell.user_ns["made"]) is shell.user_ns["Box"]
        run("class Box: pass")


def test_annotations_are_what_they_are_in_an_ordinary_cell(run, shell) -> None:
    cell = (
        "import dataclasses\n@dataclasses.dataclass\nclass P:\n    n: int = 1\n"
        "def f(z: tf.Tensor) -> int:\n    return z"
    )
    run(cell)
    eager = (dict(shell.user_ns["P"].__annotations__), dict(shell.user_ns["f"].__annotations__))
    run("%%tf_function\n" + cell)
    assert dict(shell.user_ns["P"].__annotations__) == eager[0]
    assert shell.user_ns["f"].python_function.__annotations__ == eager[1]
    run(SETUP)
    run("%%tf_function\n" + cell + "\ny = x + 1")
    assert dict(shell.user_ns["P"].__annotations__) == eager[0]
    assert dict(shell.user_ns["f"].__annotations__) == eager[1]


def test_the_function_of_a_failed_cell_is_not_listed(run, refused) -> None:
    run("x = tf.ones([2]); w = tf.ones([3, 3]); n = tf.constant(1.0)")
    before = {function.id for function in live_functions()}

    def listed() -> list[str]:
        return [each.recorder.name for each in live_functions() if each.id not in before]

    for name in ("", "step"):
        refused(f"%%tf_function {name}\ny = x @ w")  # IPython keeps the traceback
        assert listed() == []
    run("%%tf_function step\ny = 1.0 / n")
    run("n = 0")
    refused("%%tf_function step\ny = 1.0 / n")
    assert listed() == ["step"]
