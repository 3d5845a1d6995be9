"""Remote devices: real servers on loopback, one of which dies."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.harness import forked_kernels

from .test_strategy import free_addresses

HERE = Path(__file__).parent


def started(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        forked_kernels.command_of(HERE / program, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def with_a_worker_that_dies(program: str, jobs: dict[str, list[str]]) -> dict[str, Any]:
    """What a notebook prints that sees worker 1 die when it asks for that."""
    text = json.dumps(jobs)
    tasks = [(job, str(i)) for job, addresses in jobs.items() for i in range(len(addresses))]
    servers = {task: started("server.py", text, *task) for task in tasks}
    notebook = None
    try:
        assert {line_of(each) for each in servers.values()} == {"up"}
        notebook = started(program, text)
        assert line_of(notebook) == "kill 1"
        worker = servers["worker", "1"]
        worker.terminate()  # `kill` would end only what waits for a forked program
        worker.wait()
        assert notebook.stdin is not None
        notebook.stdin.write("killed\n")
        notebook.stdin.flush()
        found: dict[str, Any] = json.loads(line_of(notebook))
        return found
    finally:
        for each in (*servers.values(), *([notebook] if notebook else [])):
            each.kill()
            each.communicate()


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return with_a_worker_that_dies("remote.py", {"worker": free_addresses(2)})


WORKERS = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(2)]


def test_what_is_no_cluster_is_refused(found: dict[str, Any]) -> None:
    expected = [
        "the cluster is of type int, 3; expected",
        "the job `worker` has the address 'nowhere'; expected host:port",
        "the job `worker` has the address 'host:0'; expected host:port",
        "the cluster is of type dict, {}; expected",
        "the job `worker` has no address",
        "the job `worker` has the addresses 5; expected",
        "the text of the TF_CONFIG is not JSON",
        "no cluster is given, and TF_CONFIG is not set",
        "127.0.0.1:1 (Connection refused): no server answers there within 2 s",
    ]
    for message, part in zip(found["bad"], expected, strict=True):
        assert message.startswith(f"ConnectError: {part}")
    assert len(found["none_added"]) == 1


def test_the_session_gets_the_devices(found: dict[str, Any]) -> None:
    assert found["added"] == WORKERS
    assert set(WORKERS) < set(found["devices"])
    assert found["text"].startswith("<nbfn connection: 2 servers, 2 devices>\n  /job:worker/task:0")
    for message in found["again"]:
        assert message.startswith("ConnectError: the job `worker` is connected already, to 127")


def test_a_function_runs_on_a_worker(found: dict[str, Any]) -> None:
    assert found["device"] == WORKERS[1]
    assert found["value"] == [[3.0] * 3] * 3
    assert found["requested"] == ["/job:worker/task:1"]
    assert found["placed"] == {"worker/1/CPU:0": 1}


def test_a_remote_device_inside_a_function(found: dict[str, Any]) -> None:
    """RFC, section "Distributed Execution": ``tf.device`` names a device of a remote server."""
    assert found["backing"] == WORKERS[1]
    assert found["grown"] == 3.0
    assert "worker" in found["capture"]
    assert found["counts"] == [1, 1]


def test_a_worker_that_dies_is_an_error_and_the_rest_goes_on(found: dict[str, Any]) -> None:
    for message in found["dead"]:
        assert message.startswith("UnavailableError")
        # In the words of the gRPC that TensorFlow is built with.
        said = ("Connection refused", "Socket closed", "failed to connect to all addresses")
        assert any(each in message for each in said)
    assert found["seconds"] < 60
    assert found["other"] == [[3.0] * 3] * 3
    assert found["local"] == [[[3.0] * 3] * 3, [1.0, 2.0]]
    assert found["placed_after"] == {"CPU:0": 1}
    assert found["other_after"] == [[3.0] * 3] * 3
    assert "kept" in found["session"]


def test_a_coordinator_schedules_and_a_worker_that_dies_is_replaced() -> None:
    jobs = {"worker": free_addresses(2), "ps": free_addresses(1)}
    found = with_a_worker_that_dies("coordinate.py", jobs)
    assert found["total"] == 8.0
    assert found["results"] == [2.0] * 8
    assert found["where"].startswith("/job:ps/")
    assert found["calls"] == [9, 7, 2]
    assert found["causes"] == ["`n`: Python value was 2, is 3"]
    assert found["captures"] == ["total"]
    assert "give the call to its coordinator" in found["refused"]
    assert found["after"] == 16.0
    assert found["local"] == 3.0
    assert "total" in found["session"]
