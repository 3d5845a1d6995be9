"""The comm to the JupyterLab panel.

The page opens the comm; a silent presence comm tells it that there is somebody to open it to. Other
front ends see nothing of either.
"""

from __future__ import annotations

import functools
from typing import Any

import comm
from comm.base_comm import BaseComm, CommManager

TARGET = "nbfn"
PRESENCE = "nbfn.presence"
MAX_CLIENTS = 16


@functools.cache
def _presence() -> BaseComm:
    """The one presence comm of this process; a second one would close the first when freed."""
    return comm.create_comm(target_name=PRESENCE, primary=False)


class Channel:
    """The kernel's end. Messages may be handled on any thread, so nothing here calls TensorFlow."""

    def __init__(self) -> None:
        self._manager: CommManager = comm.get_comm_manager()
        self._clients: dict[str, _Client] = {}

    def open(self) -> None:
        """Registers the target and the presence comm."""
        self._manager.register_target(TARGET, self._opened)
        self._manager.register_comm(_presence())
        # A page whose questions wait behind queued cells learns of nbfn by this.
        _presence().send({"type": "presence"})

    def close(self) -> None:
        """Closes every client's comm and takes both registrations back."""
        for client in list(self._clients.values()):
            client.close()
        self._clients.clear()
        self._manager.unregister_comm(_presence())
        self._manager.unregister_target(TARGET, self._opened)

    def _opened(self, opened: BaseComm, message: dict[str, Any]) -> None:
        from nbfn import protocol
        from nbfn._version import __version__

        data = message.get("content", {}).get("data", {})
        if data.get("protocol") != protocol.PROTOCOL:
            refused = protocol.Refused(
                nbfn=__version__,
                message=f"The kernel has nbfn {__version__} (protocol {protocol.PROTOCOL}), this "
                f"page has nbfn {data.get('nbfn', '?')} (protocol {data.get('protocol', '?')}). "
                "Install the same version in both: pip install --upgrade nbfn",
            )
            opened.send(refused.model_dump(mode="json"))
            opened.close()
            return
        while len(self._clients) >= MAX_CLIENTS:
            self._clients.pop(next(iter(self._clients))).close()
        client = _Client(opened)
        self._clients[opened.comm_id] = client
        opened.on_close(lambda _: self._closed(opened.comm_id))
        client.attach()

    def _closed(self, comm_id: str) -> None:
        client = self._clients.pop(comm_id, None)
        if client is not None:
            client.detach()


class _Client:
    """One page that watches."""

    def __init__(self, opened: BaseComm) -> None:
        from nbfn.sessions.feed import feed

        self._comm = opened
        self._feed = feed()

    def attach(self) -> None:
        self._comm.on_msg(self._received)
        self._feed.subscribe(self._send, is_page=True)

    def detach(self) -> None:
        self._feed.unsubscribe(self._send)

    def close(self) -> None:
        self.detach()
        self._comm.close()

    def _send(self, message: Any) -> None:
        self._comm.send(message.model_dump(mode="json"))

    def _received(self, message: dict[str, Any]) -> None:
        data = message.get("content", {}).get("data", {})
        if data.get("type") == "request_snapshot":
            self._send(self._feed.snapshot())
