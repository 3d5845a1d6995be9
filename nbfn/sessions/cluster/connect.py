"""Adds the devices of remote TensorFlow servers to the session.

RFC "Functions, not Sessions", section "Distributed Execution": a device's name can be that of a
remote one, ``with tf.device("/job:worker/task:1")``.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from nbfn.errors import NbfnError
from nbfn.text import count, join

_ENVIRONMENT = {
    "GRPC_FAIL_FAST": "use_caller",
    "TF_ENABLE_EAGER_CLIENT_STREAMING_ENQUEUE": "false",
}
"""Settings that TensorFlow reads when it connects. Without them, the second call to a server that
has died never returns; with them, each call raises an error at once (TensorFlow 2.21). About the
first: https://github.com/tensorflow/community/pull/355."""
_EXPECTED = (
    'expected "host:port", a list of them, {"worker": ["host:port", ...]}, a tf.train.ClusterSpec, '
    "the text of a TF_CONFIG, a cluster resolver, or nothing for the TF_CONFIG of the environment"
)


class ConnectError(NbfnError, ValueError):
    """Raised if a cluster cannot be connected; nothing was connected."""


@dataclass(frozen=True)
class Connection:
    """The result of `connect`.

    Attributes:
        jobs: The addresses of each job's tasks.
        devices: The devices that were added, by full name.
    """

    jobs: Mapping[str, tuple[str, ...]]
    devices: tuple[str, ...]

    def __repr__(self) -> str:
        tasks = sum(len(addresses) for addresses in self.jobs.values())
        lines = [
            f"<nbfn connection: {count(tasks, 'server')}, {count(len(self.devices), 'device')}>"
        ]
        lines += [
            f"  /job:{job}/task:{i}  {address}"
            for job, addresses in self.jobs.items()
            for i, address in enumerate(addresses)
        ]
        return "\n".join(lines)


_connected: dict[str, tuple[str, ...]] = {}


def connect(cluster: Any = None, *, time_limit: float = 10.0) -> Connection:
    """Adds the devices of TensorFlow servers to the session.

    Then ``with tf.device("/job:worker/task:1"):`` runs code there, eagerly and in traced functions.
    A call to a server that has died raises ``tf.errors.UnavailableError``; local work, and work on
    other servers, continues.

    Args:
        cluster: ``"host:port"``, with or without ``grpc://``; a list of them; addresses by job; a
            ``tf.train.ClusterSpec``; a TF_CONFIG as text or dict; a cluster resolver. By default,
            the TF_CONFIG of the environment.
        time_limit: Seconds in which each server must accept a connection.

    Returns:
        The addresses and the added devices.

    Raises:
        ConnectError: If `cluster` is invalid, a server does not answer, or the job is already
            connected. In these cases nothing is connected.
    """
    if not time_limit > 0:
        raise ConnectError(f"time_limit is {time_limit!r}; expected a number of seconds above 0")
    jobs = _jobs(cluster)
    for job, addresses in jobs.items():
        if job in _connected and not _silent(_connected[job], time_limit):
            same = "" if addresses == _connected[job] else f", not {join(addresses)}"
            raise ConnectError(
                f"the job `{job}` is connected already, to {join(_connected[job])}{same}; it is "
                "kept while its servers live. Give other servers the name of another job"
            )
    silent = _silent([each for addresses in jobs.values() for each in addresses], time_limit)
    if silent:
        raise ConnectError(
            f"{join([f'{address} ({why})' for address, why in silent])}: no server answers there "
            f"within {time_limit:g} s; start tf.distribute.Server on it, or correct the address. "
            "Nothing was connected"
        )
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    before = set(_devices())
    every = {**_connected, **jobs}  # TensorFlow drops jobs that are not listed again
    spec = tf.train.ClusterSpec({job: list(addresses) for job, addresses in every.items()})
    try:
        tf.config.experimental_connect_to_cluster(spec)
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        line: str = str(error).strip().splitlines()[0]
        raise ConnectError(f"{join(list(jobs))}: TensorFlow cannot connect: {line}") from None
    _connected.update(jobs)
    return Connection(jobs, tuple(each for each in _devices() if each not in before))


def _devices() -> list[str]:
    return [device.name for device in tf.config.list_logical_devices()]


def _jobs(cluster: Any) -> dict[str, tuple[str, ...]]:
    """Returns the addresses of each job."""
    spec = cluster
    if cluster is None:
        spec = os.environ.get("TF_CONFIG", "")
        if not spec:
            raise ConnectError(f"no cluster is given, and TF_CONFIG is not set; {_EXPECTED}")
    if isinstance(spec, str) and spec.lstrip().startswith("{"):
        try:
            spec = json.loads(spec)
        except ValueError as error:
            raise ConnectError(
                f"the text of the TF_CONFIG is not JSON: {error}; {_EXPECTED}"
            ) from None
    if hasattr(spec, "cluster_spec"):
        spec = spec.cluster_spec()
    if isinstance(spec, tf.train.ClusterSpec):
        spec = spec.as_dict()
    if isinstance(spec, Mapping) and isinstance(spec.get("cluster"), Mapping):
        spec = spec["cluster"]
    if isinstance(spec, str):
        spec = [spec]
    if isinstance(spec, Sequence):
        spec = {"worker": spec}
    if not isinstance(spec, Mapping) or not spec:
        raise ConnectError(
            f"the cluster is of type {type(cluster).__name__}, {cluster!r:.60}; {_EXPECTED}"
        )
    return {str(job): _addresses(str(job), tasks) for job, tasks in spec.items()}


def _addresses(job: str, tasks: Any) -> tuple[str, ...]:
    tasks = list(tasks.values()) if isinstance(tasks, Mapping) else tasks
    if isinstance(tasks, str):
        tasks = [tasks]
    if not isinstance(tasks, Sequence):
        raise ConnectError(f"the job `{job}` has the addresses {tasks!r:.60}; {_EXPECTED}")
    found = [str(each).removeprefix("grpc://") for each in tasks]
    for address in found:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ConnectError(f"the job `{job}` has the address {address!r}; expected host:port")
    if not found:
        raise ConnectError(f"the job `{job}` has no address; {_EXPECTED}")
    return tuple(found)


def _silent(addresses: Sequence[str], seconds: float) -> list[tuple[str, str]]:
    """Returns the addresses that accept no connection, and why. TensorFlow itself would hang."""

    def why(address: str) -> str | None:
        host, _, port = address.rpartition(":")
        try:
            # An IPv6 address is in brackets before a port; `socket` takes it without them.
            socket.create_connection((host.strip("[]"), int(port)), seconds).close()
        except OSError as error:
            return error.strerror or str(error)
        return None

    # At the same time: each that does not answer takes all of the time.
    with ThreadPoolExecutor(min(32, len(addresses))) as pool:
        answers = list(pool.map(why, addresses))
    pairs = zip(addresses, answers, strict=True)
    return [(address, answer) for address, answer in pairs if answer is not None]
