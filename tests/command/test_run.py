"""`nbfn run` in real processes, on real kernels."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from nbfn import protocol
from nbfn.command.main import main
from nbfn.command.outcome import Exit
from nbfn.package import page_of_cause
from tests.command.conftest import PREAMBLE, Ended, run, start
from tests.harness.html import Page
from tests.harness.notebooks import write

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and process groups are POSIX's")

TRAINING = (
    f"{PREAMBLE}weight = tf.Variable(tf.ones([4, 2]), name='w')",
    "@nbfn.function\ndef predict(x):\n    return {'y': x @ weight}\n"
    "for n in (1, 2):\n    predict(tf.ones([n, 4]))",
    # What a helper makes and drops is deleted before the feed looks at it.
    "def helper():\n    @nbfn.function\n    def step(x):\n        return x + 1\n"
    "    for n in (1, 2, 3):\n        step(tf.ones([n]))\nhelper()",
    "%%tf_function body\ntotal = tf.constant(0.)\nfor n in range(60):\n"
    "    total = total + tf.reduce_sum(tf.ones([200, 200]) @ tf.ones([200, 200]))\n"
    "print('<b>done</b>')",
    "raise KeyError('meant')",
)
FAILING = (
    f"{PREAMBLE}@nbfn.function\ndef f(x):\n    return x\nf(tf.ones([1]))",
    "# <i>comment</i>\nprint('before')\nraise ValueError('<script>alert(1)</script>')",
    "print('never')",
)


OWN_SCRIPTS = ["nbfn-traits", "nbfn-widget", "nbfn-pictures"]
"""What the page holds for its views; then comes the script that draws them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def trained(folder: Path) -> Ended:
    """A run with everything that may be asked for, three retraces where three are allowed."""
    write(folder / "training.ipynb", *TRAINING, tags=["raises-exception"])
    return run(
        folder,
        *("run", "training.ipynb", "--export", "out/model", "--report", "out/report.html"),
        *("--max-retraces", "3", "--output", "out/ran.ipynb"),
    )


@pytest.fixture(scope="module")
def page(folder: Path, trained: Ended) -> Page:
    return Page((folder / "out/report.html").read_text())


@pytest.fixture(scope="module")
def failed(folder: Path) -> Ended:
    write(folder / "failing.ipynb", *FAILING, kernel="python3")
    return run(
        folder, "run", "failing.ipynb", "--report", "failed.html", "--export", "failed", "--save"
    )


def test_a_notebook_that_runs_and_is_verified_ends_with_0(folder: Path, trained: Ended) -> None:
    assert trained.code == 0, trained.err
    assert trained.err == ""
    assert (folder / "out/model/saved_model.pb").exists()
    assert re.search(r"predict\(x: float32\[None, 4\]\).*: equal", trained.out)


def test_each_cell_and_each_retrace_has_a_plain_line(trained: Ended) -> None:
    lines = trained.out.splitlines()
    assert lines[0] == "training.ipynb: 5 cells, kernel python3"
    assert re.match(r"\[1/5\] In \[1\] +[\d.]+ m?s  import tensorflow as tf$", lines[1])
    assert "  predict retraced, In [2], line 5: `x`: shape was [1, 4], is [2, 4]" in lines
    assert sum("step retraced, In [3], line 7" in line for line in lines) == 2
    assert any("KeyError, as its tag allows" in line for line in lines)
    counted = "1 function, 4 traces, 1 retrace and 2 obsolete (3 allowed)"
    assert any(counted in line for line in lines)
    assert "\x1b" not in trained.out


def test_the_notebook_is_left_as_it_was(folder: Path, trained: Ended, tmp_path: Path) -> None:
    again = write(tmp_path / "again.ipynb", *TRAINING, tags=["raises-exception"])
    assert (folder / "training.ipynb").read_bytes() == again.read_bytes()


def test_the_output_has_the_counts_and_outputs_of_the_notebook_alone(
    folder: Path, trained: Ended
) -> None:
    cells = json.loads((folder / "out/ran.ipynb").read_text())["cells"]
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3, 4, 5]
    printed = [each["text"] for each in cells[3]["outputs"] if each["output_type"] == "stream"]
    assert printed == [["<b>done</b>\n"]]
    assert all("widget-view" not in str(cell) for cell in cells)


def test_the_report_is_one_file_that_leads_to_the_pages_of_causes_only(page: Page) -> None:
    assert not {"link", "img", "iframe"} & set(page.tags)
    elsewhere = {each for each in page.all("src", "href") if not each.startswith("#")}
    assert elsewhere == {page_of_cause(code) for code in ("shape", "first_trace", "export")}


def test_the_report_holds_the_session_for_its_views(page: Page) -> None:
    assert list(page.scripts) == [*OWN_SCRIPTS, None]
    traits = json.loads(page.scripts["nbfn-traits"])
    snapshot = protocol.SnapshotMessage.model_validate(traits["snapshot"])
    assert traits["kept"]
    assert {each.name for each in snapshot.state.functions.values()} == {"predict", "body:4"}
    assert snapshot.totals is not None
    assert snapshot.totals.retraces == 1


def test_the_report_says_what_the_session_was(page: Page) -> None:
    for said in (
        "passed",
        "predict(x) 2 calls",
        "x : shape was [1, 4], is [2, 4]",
        "Let one trace serve every size of x predict.relax()",
        "x: float32[1, 4]",
        "weight float32[4, 2] CPU:0 variable",
        "computes the same with the inputs of a real call",
        "largest difference 0",
        "step(x) deleted by the end · 3 calls, 0 hits, 3 traces, 2 retraces",
        "raised KeyError, as its tag allows",
        "CPU:0 CPU",
    ):
        pattern = re.escape(said).replace(r"\ ", r"\s*")
        assert re.search(pattern, page.text), said


def test_the_report_shows_a_cell_line_by_line(page: Page) -> None:
    # On a busy machine the graph may not be the faster way.
    assert re.search(r"total = total \+ .*?\)\) (graph|Python .*?too short)", page.text)
    assert re.search(r"5 print\('<b>done</b>'\) Python prints", page.text)


def test_a_failing_cell_ends_with_1_and_its_error(folder: Path, failed: Ended) -> None:
    assert failed.code == Exit.CELL_FAILED
    last = failed.err.strip().splitlines()[-1]
    assert last == "error: In [2]: ValueError: <script>alert(1)</script>"
    assert "----> 3 raise ValueError" in failed.err
    assert "never" not in failed.out
    assert not (folder / "failed").exists()


def test_the_report_of_a_failure_says_what_is_known(folder: Path, failed: Ended) -> None:
    page = Page((folder / "failed.html").read_text())
    assert list(page.scripts) == [*OWN_SCRIPTS, None]
    assert "i" not in page.tags
    assert "ValueError: <script>alert(1)</script>" in page.text
    assert "----> 3 raise ValueError" in page.text
    assert "f(x) 1 call" in page.text
    assert "2 of 3" in page.text
    assert "Nothing was exported to failed" in page.text


def test_save_writes_the_outputs_back(folder: Path, failed: Ended) -> None:
    cells = json.loads((folder / "failing.ipynb").read_text())["cells"]
    assert [cell["execution_count"] for cell in cells] == [1, 2, None]
    assert cells[1]["outputs"][0]["text"] == ["before\n"]
    assert cells[1]["outputs"][1]["ename"] == "ValueError"


def test_more_retraces_than_allowed_and_a_refused_export(folder: Path) -> None:
    write(folder / "over.ipynb", *(PREAMBLE, *TRAINING[2:3]))
    ended = run(folder, "run", "over.ipynb", "--max-retraces", "1")
    assert ended.code == Exit.OVER_BUDGET
    assert "error: 2 retraces, and --max-retraces allows 1" in ended.err
    write(folder / "nothing.ipynb", "x = 1")
    ended = run(folder, "run", "nothing.ipynb", "--export", "nothing")
    assert ended.code == Exit.NOT_EXPORTED
    assert "there is nothing to export" in ended.err


def test_a_model_that_computes_something_else_is_not_verified(folder: Path) -> None:
    of_this_moment = (
        f"{PREAMBLE}@nbfn.function\ndef f(x):\n"
        "    return x + tf.math.floormod(tf.timestamp(), 1000.0)\n"
        "f(tf.ones([2], tf.float64))"
    )
    write(folder / "unverified.ipynb", of_this_moment)
    ended = run(folder, "run", "unverified.ipynb", "--export", "unverified")
    assert ended.code == Exit.NOT_VERIFIED, ended
    assert "`f`: output `output_0` differs from the notebook's by up to" in ended.err
    assert not (folder / "unverified").exists()


def test_a_kernel_that_dies_and_a_cell_that_takes_too_long(folder: Path) -> None:
    write(folder / "dying.ipynb", FAILING[0], "import os\nprint('last', flush=True)\nos._exit(3)")
    ended = run(folder, "run", "dying.ipynb", "--report", "dying.html", may_fork=False)
    assert ended.code == Exit.KERNEL_DIED
    assert "error: In [2]: the kernel died" in ended.err
    page = Page((folder / "dying.html").read_text())
    assert "the kernel died" in page.text
    assert "f(x) 1 call" in page.text
    write(folder / "slow.ipynb", "x = 1", "import time\ntime.sleep(600)")
    ended = run(folder, "run", "slow.ipynb", "--timeout", "2", may_fork=False)
    assert ended.code == Exit.TIMEOUT
    assert "error: In [2]: took longer than the 2 s of --timeout" in ended.err


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED)]
)
def test_an_interrupt_leaves_nothing(tmp_path: Path, sent: signal.Signals, code: Exit) -> None:
    write(
        tmp_path / "endless.ipynb",
        "import os, subprocess, time\nstubborn = 'trap \"\" INT TERM; sleep 600; true'\n"
        "process = subprocess.Popen(['sh', '-c', stubborn])\n"
        "open('ids.part', 'w').write(f'{os.getpid()} {process.pid}')\n"
        "os.rename('ids.part', 'ids')\nwhile True:\n    time.sleep(1)",
    )
    arguments = ("run", "endless.ipynb", "--report", "report.html")
    process = start(tmp_path, *arguments, may_fork=False)  # a forked one has a group of its own
    end = time.monotonic() + 120
    while not (tmp_path / "ids").exists() and time.monotonic() < end:
        time.sleep(0.1)
    process.send_signal(sent)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert err == f"error: In [1]: {code.meaning}\n"
    for id in (tmp_path / "ids").read_text().split():
        assert is_gone(int(id)), id
    assert not list((tmp_path / ".jupyter/runtime").glob("kernel-*"))
    assert code.meaning in Page((tmp_path / "report.html").read_text()).text


def is_gone(id: int) -> bool:
    """Whether a process has ended, within some seconds; one that nobody waits for has too."""
    status = Path(f"/proc/{id}/status")
    for _ in range(50):
        if not status.exists() or "State:\tZ" in status.read_text():
            return True
        time.sleep(0.1)
    return False


def test_what_cannot_be_carried_out_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.ipynb").write_text("hello")
    (tmp_path / "list.ipynb").write_text("[]")
    (tmp_path / "folder").mkdir()
    write(tmp_path / "good.ipynb", "x = 1")
    write(tmp_path / "other.ipynb", "x = 1", kernel="nosuch")
    for arguments, said in (
        (["none.ipynb"], "there is no notebook `none.ipynb`"),
        (["text.ipynb"], "`text.ipynb` is not a notebook: Notebook does not appear to be JSON"),
        (["list.ipynb"], "`list.ipynb` is not a notebook: it is JSON without cells"),
        (["other.ipynb"], "there is no kernel `nosuch`; choose an installed one with --kernel: "),
        (["good.ipynb", "--kernel", "nosuch"], "there is no kernel `nosuch`"),
        (["good.ipynb", "--export", "folder"], "`folder` exists; give --overwrite"),
        (["good.ipynb", "--export", "folder", "--overwrite"], "`folder` holds no SavedModel"),
        (["good.ipynb", "--report", "./good.ipynb"], "--report `good.ipynb` would replace the not"),
        (["good.ipynb", "--report", "a", "--output", "a"], "--report `a` would replace the output"),
        (
            ["good.ipynb", "--output", "text.ipynb/a"],
            "--output `text.ipynb/a`: `text.ipynb` is a file",
        ),
        (["good.ipynb", "--report", "folder"], "`folder` is a folder; give --report the name"),
        (["good.ipynb", "--save", "--output", "x"], "--save and --output are both given"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["run", *arguments])
        assert ended.value.code == Exit.MISUSE
        out, err = capsys.readouterr()
        assert err.startswith(f"error: {said}")
        assert err.count("\n") == 1
        assert out == ""


def test_a_kernel_without_nbfn_is_an_error_with_what_to_install(tmp_path: Path) -> None:
    write(tmp_path / "good.ipynb", "x = 1", kernel="bare")
    spec = tmp_path / "share/kernels/bare"
    spec.mkdir(parents=True)
    hide = (
        "import sys; sys.modules['nbfn'] = None; import ipykernel.kernelapp as a; "
        "a.launch_new_instance()"
    )
    (spec / "kernel.json").write_text(
        json.dumps(
            {
                "argv": ["python", "-c", hide, "-f", "{connection_file}"],
                "display_name": "bare",
                "language": "python",
            }
        )
    )
    ended = run(tmp_path, "run", "good.ipynb")
    assert ended.code == Exit.MISUSE
    assert re.search(r"the kernel `bare` has no nbfn .*install it there: .*pip install", ended.err)


def test_the_help_has_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    said = capsys.readouterr().out
    for exit in Exit:
        assert re.search(rf"^ *{exit.value}  {re.escape(exit.meaning)}$", said, re.MULTILINE)
