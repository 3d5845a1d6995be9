"""Magics, views and the comm in a real ipykernel, on each Python and IPython that is there."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbfn import protocol
from tests.harness.kernel import Kernel, running_kernel
from tests.notebook.conftest import shown
from tests.programs.environments import IPYTHON_8, PYTHON_3_13, ROOT, Environment

ATTACH = protocol.Attach(protocol=protocol.PROTOCOL, nbfn="0").model_dump()


@pytest.fixture(scope="module")
def kernel(environment: Environment) -> Iterator[Kernel]:
    with running_kernel(environment, may_be_forked=False) as started:
        code = "%load_ext nbfn\nimport nbfn.site\nprint(nbfn.site.call_site())"
        reply = started.run(code, cell_id="loading")
        assert reply.text == "In [1], line 3\n"
        assert {"type": "presence"} in [each.get("data") for each in reply.comms]
        yield started


def test_the_kernel_is_that_of_the_environment(kernel: Kernel, environment: Environment) -> None:
    said = kernel.run(
        "import sys, IPython, nbfn; print(sys.executable, sys.version, nbfn.__file__)\n"
        "print(IPython.version_info[0], IPython.__file__)"
    ).text
    assert said.startswith(str(environment.python))
    assert str(ROOT / "nbfn") in said
    for name, sign in ((IPYTHON_8, "\n8 "), (PYTHON_3_13, " 3.13.")):
        assert environment is not name or sign in said


def test_the_panel_attaches_before_tensorflow_is_imported(kernel: Kernel) -> None:
    assert len(kernel.comms("nbfn.presence")) == 1
    kernel.send("comm_open", comm_id="early", target_name="nbfn", data=ATTACH)
    snapshot = kernel.received()
    assert snapshot["type"] == "snapshot"
    assert snapshot["state"]["functions"] == {}
    assert kernel.run("import sys; print('tensorflow' in sys.modules)").text.split() == ["False"]
    kernel.send("comm_close", comm_id="early", data={})


def test_a_page_learns_of_tensorflow_before_the_cell_that_imports_it_has_ended(
    kernel: Kernel, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    kernel.send("comm_open", comm_id="early", target_name="nbfn", data=ATTACH)
    assert kernel.received("early")["tensorflow"] is None
    kernel.start(
        f"import pathlib, time, tensorflow\nwhile not pathlib.Path({str(seen)!r}).exists():\n"
        "    time.sleep(0.05)"
    )
    try:
        while kernel.received("early").get("tensorflow") is None:
            pass
    finally:
        seen.touch()
    kernel.send("comm_close", comm_id="early", data={})
    kernel.run("pass")


def test_a_cell_that_awaits_runs_as_a_plain_one(kernel: Kernel) -> None:
    kernel.run("async def later(z): return z * 2")
    text = kernel.run("%%tf_function step\ny = await later(4)\ny").text
    assert "a cell with await runs as plain Python" in text
    assert text.split()[-1] == "8"
    kernel.run("%tf_auto on")
    assert kernel.run("y = await later(5)\ny").text.split() == ["10"]
    kernel.run("%tf_auto off")


def test_the_cell_that_imports_tensorflow_tells_of_devices(kernel: Kernel) -> None:
    code = "import nbfn, tensorflow as tf\none = nbfn.function(lambda: tf.ones([1]))\none()"
    kernel.run(code, timeout=300)
    kernel.send("comm_open", comm_id="devices", target_name="nbfn", data=ATTACH)
    devices = kernel.received("devices")["state"]["devices"].values()
    assert "CPU" in [each["kind"] for each in devices]
    kernel.send("comm_close", comm_id="devices", data={})


def test_patches_arrive_while_a_cell_runs(kernel: Kernel) -> None:
    kernel.run("import time\nimport tensorflow as tf\nimport nbfn", timeout=300)
    kernel.run("%%tf_function\ndef grow(x):\n    return x + 1\n", cell_id="defining")
    kernel.send("comm_open", comm_id="live", target_name="nbfn", data=ATTACH)
    snapshot = kernel.received("live")
    (id,) = [row["id"] for row in snapshot["state"]["functions"].values() if row["name"] == "grow"]
    assert snapshot["state"]["functions"][id]["cell"]["id"] == "defining"
    code = "for n in range(30):\n    grow(tf.ones([n // 15 + 1]))\n    time.sleep(0.03)"
    reply = kernel.run(code, cell_id="calling")
    patches = [
        each
        for each in reply.comms
        if each["comm_id"] == "live"
        and each["data"]["type"] == "patch"
        and id in each["data"]["put"]["functions"]
    ]
    calls = [each["data"]["put"]["functions"][id]["calls"] for each in patches]
    assert len(patches) >= 4
    assert calls == sorted(calls)
    assert calls[-1] == 30
    numbers = [each["data"]["seq"] for each in patches]
    assert numbers == sorted(set(numbers))
    seconds = patches[-1]["time"] - patches[0]["time"]
    assert len(patches) <= 10 * seconds + 3
    (retrace,) = [row for p in patches for row in p["data"]["put"]["retraces"].values()]
    assert retrace["causes"][0]["sentence"] == "`x`: shape was [1], is [2]"
    assert retrace["cell"]["id"] == "calling"
    assert retrace["cell"]["line"] == 2
    kernel.send("comm_msg", comm_id="live", data={"type": "request_snapshot"})
    assert kernel.received("live")["state"]["functions"][id]["calls"] == 30
    kernel.send("comm_close", comm_id="live", data={})


def test_what_a_page_asks_does_not_wait_for_cells_that_send_patches(
    kernel: Kernel, tmp_path: Path
) -> None:
    done = tmp_path / "done"
    kernel.run(f"import pathlib; done = pathlib.Path({str(done)!r})\nf = nbfn.function(tf.sin)")
    subshell = kernel.start_subshell()
    kernel.send("comm_open", subshell, comm_id="beside", target_name="nbfn", data=ATTACH)
    assert kernel.received("beside")["type"] == "snapshot"
    kernel.start("while not done.exists():\n    f(tf.ones([1])); time.sleep(0.05)")
    while kernel.received("beside")["type"] != "patch":
        pass
    kernel.send("comm_msg", subshell, comm_id="beside", data={"type": "request_snapshot"})
    # Long enough for any machine; the cell goes on until it is interrupted.
    soon = itertools.takewhile(lambda _: time.monotonic() < end, itertools.count())
    end = time.monotonic() + 60
    try:
        assert "snapshot" in (kernel.received("beside")["type"] for _ in soon)
    finally:
        done.touch()
    kernel.send("comm_close", subshell, comm_id="beside", data={})
    kernel.run("pass")


def test_a_page_is_marked_how_far_it_should_be(kernel: Kernel) -> None:
    kernel.send("comm_open", comm_id="marked", target_name="nbfn", data=ATTACH)
    seq = kernel.received("marked")["seq"]
    marks = [each["data"] for each in kernel.run("pass").comms if each["comm_id"] == "marked"]
    assert [each["type"] for each in marks if "type" in each][-1] == "mark"
    assert marks[-1]["seq"] >= seq
    kernel.send("comm_msg", comm_id="marked", data={"type": "watch", "active": False})
    assert [each for each in kernel.run("pass").comms if each["comm_id"] == "marked"] == []
    kernel.send("comm_close", comm_id="marked", data={})


def test_the_newest_comm_of_a_page_takes_the_place_of_those_before(kernel: Kernel) -> None:
    for id, page in (("one", "a"), ("other", "b"), ("two", "a")):
        data = {**ATTACH, "page": page}
        kernel.send("comm_open", comm_id=id, target_name="nbfn", data=data)
        assert kernel.received(id)["type"] == "snapshot"
    assert kernel.received("one")["kind"] == "comm_close"
    comms = {each["comm_id"] for each in kernel.run("f(tf.ones([1]))").comms}
    assert {"one", "other", "two"} & comms == {"other", "two"}
    for id in ("other", "two"):
        kernel.send("comm_close", comm_id=id, data={})


def test_another_protocol_is_refused_in_one_sentence(kernel: Kernel) -> None:
    kernel.send("comm_open", comm_id="old", target_name="nbfn", data={**ATTACH, "protocol": 0})
    refused = kernel.received("old")
    assert refused["type"] == "refused"
    assert "pip install --upgrade nbfn" in refused["message"]
    assert kernel.received("old")["kind"] == "comm_close"


def test_the_widget_under_the_cell_is_live_and_has_a_fallback(kernel: Kernel) -> None:
    reply = kernel.run("%%tf_function\ndef halve(x):\n    return x / 2\n")
    (display,) = [each for each in reply.outputs if "data" in each]
    assert "not called yet" in display["data"]["text/html"]
    model = display["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    patches = [
        each["data"]["content"]
        for each in kernel.run("halve(tf.ones([2]))").comms
        if each["comm_id"] == model and each["data"]["method"] == "custom"
    ]
    (row,) = patches[-1]["put"]["functions"].values()
    assert (row["name"], row["calls"]) == ("halve", 1)


def test_the_failing_lines_of_functions_are_shown(kernel: Kernel) -> None:
    kernel.run("import tensorflow as tf")
    kernel.run(
        "%%tf_function\ndef above(x):\n    return below(x)\n\n@tf.function\ndef below(x):\n"
        "    y = x\n    return y @ tf.ones([5, 5])"
    )
    text = kernel.run("# calls\nabove(tf.ones([2, 2]))").text
    for line in (
        "----> 2 above(tf.ones([2, 2]))",
        "----> 3     return below(x)",
        "----> 8     return y @ tf.ones([5, 5])",
    ):
        assert line in text


def test_a_cell_that_is_timed_is_displayed_once(kernel: Kernel) -> None:
    kernel.run("timed = tf.ones([2])")
    reply = kernel.run("%%timeit -n 3 -r 2\n%%tf_function measured\ntimes = timed * 2")
    shown = [each for each in reply.outputs if "data" in each]
    (text,) = [each["data"]["text/plain"] for each in shown]
    assert "measured(timed)" in text
    assert kernel.run("print(measured.calls, measured.hits)").text == "5 5\n"
    again = kernel.run("%%tf_function measured\ntimes = timed * 2")
    assert "hit: trace 1 served" in again.text


def test_an_interrupted_cell_leaves_what_a_plain_one_leaves(kernel: Kernel, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    kernel.run(
        "import pathlib, time\n"
        f"names = []; x = tf.ones([2]); begun = pathlib.Path({str(begun)!r}); pause = 3600.0\n"
        "def wait():\n    begun.touch()\n    time.sleep(pause)"
    )
    cell = "%%tf_function slow\nnames.append(x)\nwait()\ny_slow = x * 2\n"

    def interrupt() -> None:
        while not begun.exists():
            time.sleep(0.05)
        kernel.interrupt()

    interrupter = threading.Thread(target=interrupt, daemon=True)
    interrupter.start()
    assert "KeyboardInterrupt" in kernel.run(cell).text
    interrupter.join()
    assert kernel.run("print(len(names), 'y_slow' in globals())").text == "1 False\n"
    kernel.run("pause = 0.0")
    assert "line 3 `wait` " in kernel.run(cell).text
    assert kernel.run("print(len(names), y_slow.numpy().tolist())").text == "2 [2.0, 2.0]\n"


def test_an_interrupt_of_a_trace_shows_the_users_lines(kernel: Kernel) -> None:
    kernel.run("import itertools, os, signal, tensorflow as tf")
    kernel.run(
        "%%tf_function\ndef count(x, last):\n    for i in itertools.count():\n"
        "        if i == last:\n            os.kill(os.getpid(), signal.SIGINT)\n"
        "        if i > last > 5:\n            break\n"
        "        x = x + 1.0\n    return x"
    )
    reply = kernel.run("count(tf.ones([2]), 5)")
    [error] = [each for each in reply.outputs if "ename" in each]
    assert error["ename"] == "KeyboardInterrupt"
    assert shown(reply.text)[0] == "1 count(tf.ones([2]), 5)"
    assert len(shown(reply.text)) == 2
    assert "interrupted while `count` was traced" in reply.text
    assert "(0, 0)" in kernel.run("count.calls, len(count.traces)").text
    kernel.run("%%time\ncount(tf.ones([2]), 4)")
    assert "polymorphic_function" in kernel.run("%tb").text


ENDLESS = """%%tf_function step
done = endless(n)
y = x * 2"""


def test_an_interrupt_in_an_endless_loop_of_a_graph(kernel: Kernel) -> None:
    kernel.run("import os, signal, threading, time, tensorflow as tf")
    kernel.run("x = tf.constant(1.0); n = tf.constant(0); turns = tf.Variable(0)")
    kernel.run("def endless(n):\n    while n > 0:\n        turns.assign_add(1)\n    return n")
    kernel.run(
        "def interrupt():\n    while turns.numpy() < 10:\n        time.sleep(0.01)\n"
        "    os.kill(os.getpid(), signal.SIGINT)"
    )
    kernel.run(ENDLESS)
    kernel.run("n = tf.constant(1); del y")
    for _ in range(2):
        kernel.run("turns.assign(0); threading.Thread(target=interrupt).start()")
        reply = kernel.run(ENDLESS)
        [error] = [each for each in reply.outputs if "ename" in each]
        assert error["ename"] == "KeyboardInterrupt"
        assert shown(reply.text) == ["2 done = endless(n)"]
        assert "interrupted while `step` ran; variables keep" in reply.text
    assert "(False, True)" in kernel.run("'y' in globals(), int(turns) >= 10").text
    kernel.run("n = tf.constant(0)")
    kernel.run(ENDLESS)
    assert "(2.0, 1)" in kernel.run("float(y), len(step.traces)").text


def test_autograph_and_getsource_work(kernel: Kernel) -> None:
    kernel.run("%%tf_function\ndef sign(x):\n    if x > 0:\n        return 1\n    return -1\n")
    assert kernel.run("int(sign(tf.constant(-3.0)))").text == "-1"
    source = kernel.run("import inspect; print(inspect.getsource(sign.python_function))").text
    assert source.startswith("def sign(x):\n    if x > 0:")


def test_unloading_closes_the_comms(kernel: Kernel) -> None:
    kernel.send("comm_open", comm_id="last", target_name="nbfn", data=ATTACH)
    assert kernel.received()["type"] == "snapshot"
    kinds = [each["type"] for each in kernel.run("%unload_ext nbfn").comms]
    assert "comm_close" in kinds
    assert kernel.comms("nbfn.presence") == []
    assert "UsageError" in kernel.run("%%tf_function\nx = 1").text
