"""The comm to the JupyterLab panel.

The page opens the comm. A presence comm, opened by the kernel, announces that nbfn is loaded. Other
front ends ignore both.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any

import comm
from comm.base_comm import BaseComm, CommManager

TARGET = "nbfn"
PRESENCE = "nbfn.presence"
# A page that was closed without a message leaves its client behind.
MAX_CLIENTS = 16


@functools.cache
def _presence() -> BaseComm:
    """Returns the only presence comm. It is kept: a collected comm closes itself (comm 0.2.3)."""
    return comm.create_comm(target_name=PRESENCE, primary=False)


class Channel:
    """The kernel's end of the comm. Handlers may run on any thread, so none calls TensorFlow.

    Args:
        on_message: Called when a message of a page arrives, on the thread that handles it.
    """

    def __init__(self, on_message: Callable[[], None] = lambda: None) -> None:
        self._on_message = on_message
        self._manager: CommManager = comm.get_comm_manager()
        self._clients: dict[str, _Client] = {}

    def open(self) -> None:
        """Registers the target and the presence comm."""
        self._manager.register_target(TARGET, self._on_open)
        self._manager.register_comm(_presence())
        # A page whose requests wait behind queued cells learns from this message that nbfn is
        # loaded.
        _presence().send({"type": "presence"})

    def close(self) -> None:
        """Unregisters both and closes the comms of all clients."""
        # Unregistered first: a page whose comm is closed immediately looks for another one.
        self._manager.unregister_comm(_presence())
        self._manager.unregister_target(TARGET, self._on_open)
        for client in list(self._clients.values()):
            client.close()
        self._clients.clear()

    def _on_open(self, opened: BaseComm, message: dict[str, Any]) -> None:
        try:
            self._attach(opened, message)
        finally:
            self._on_message()  # last, because the first page imports the feed, which takes time

    def _attach(self, opened: BaseComm, message: dict[str, Any]) -> None:
        from nbfn import protocol
        from nbfn.package import __version__

        data = message.get("content", {}).get("data", {})
        if data.get("protocol") != protocol.PROTOCOL:
            refused = protocol.Refused(
                protocol=protocol.PROTOCOL,
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
        client = _Client(opened, self._on_message, data.get("page"))
        earlier = [id for id, each in list(self._clients.items()) if client.replaces(each)]
        self._clients[opened.comm_id] = client
        opened.on_close(lambda _: self._on_close(opened.comm_id))
        client.attach()
        # Closed last, so that a page always has an open comm.
        for id in earlier:
            replaced = self._clients.pop(id, None)
            if replaced is not None:
                replaced.close()

    def _on_close(self, comm_id: str) -> None:
        self._on_message()
        client = self._clients.pop(comm_id, None)
        if client is not None:
            client.detach()


class _Client:
    """One attached page."""

    def __init__(self, opened: BaseComm, on_message: Callable[[], None], page: str | None) -> None:
        from nbfn.sessions.messages.feed import feed

        self._on_message = on_message
        self._comm = opened
        self._page = page
        self._feed = feed()
        # ipykernel sends a comm's messages to the shell that was answered last (ipykernel 7.4). If
        # a patch were sent as part of a cell, requests of the page would wait for the cells to
        # finish.
        self._context = contextvars.copy_context()

    def replaces(self, other: _Client) -> bool:
        """Returns whether both belong to one page, which opens a new comm for each retry."""
        return self._page is not None and self._page == other._page

    def attach(self) -> None:
        self._comm.on_msg(self._on_data)
        self._feed.subscribe(self._send, is_page=True)

    def detach(self) -> None:
        self._feed.unsubscribe(self._send)

    def close(self) -> None:
        self.detach()
        self._comm.close()

    def _send(self, message: Any) -> None:
        self._context.copy().run(self._comm.send, message.model_dump(mode="json"))

    def _on_data(self, message: dict[str, Any]) -> None:
        self._on_message()
        self._feed.answer(self._send, message.get("content", {}).get("data", {}))
