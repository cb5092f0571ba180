"""Connections: who sends too slowly, or holds too many, is disconnected.

A reverse proxy does this too; without one nobody else would.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from ract._utils.errors import InvalidSpec

Network = IPv4Network | IPv6Network

HEADER_SECONDS = 10.0  # in which the header of a request must have come
MOST = 1000  # connections of one worker process
MOST_OF_ONE = 300  # of one address, unless it is a proxy that is trusted


class Connection(H11Protocol):
    """uvicorn's, with limits."""

    trusted: ClassVar[tuple[Network, ...]] = ()
    _of_address: ClassVar[Counter[str]] = Counter()
    _timer: asyncio.TimerHandle | None = None
    _address: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self._of_address[self._address] += 1
        too_many = self._of_address[self._address] > MOST_OF_ONE and not self._is_trusted()
        if too_many or len(self.connections) > MOST:
            transport.abort()
        else:
            self._timer = self.loop.call_later(HEADER_SECONDS, transport.abort)

    def handle_events(self) -> None:
        """Read what has come; once the header is there, its timer has done its work."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def data_received(self, data: bytes) -> None:
        """Begin to time a header that comes in pieces."""
        waits = self.cycle is None or self.cycle.response_complete
        if waits and self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        if self._timer is not None:
            self._timer.cancel()
        if self._address is not None:
            self._of_address[self._address] -= 1
            if not self._of_address[self._address]:
                del self._of_address[self._address]
        super().connection_lost(exc)

    def _is_trusted(self) -> bool:
        return any(ip_address(self._address or "::") in network for network in self.trusted)


class Workers(Multiprocess):
    """uvicorn's worker processes; when they end, nobody is left waiting for one to accept them."""

    def terminate_all(self) -> None:
        """Refuse connections from now on, and end the processes."""
        for socket in self.sockets:
            socket.close()
        super().terminate_all()


def trust(proxies: Iterable[str]) -> None:
    """Let proxies hold as many connections as they need.

    >>> trust(["10.0.0.0/8"])
    >>> Connection.trusted
    (IPv4Network('10.0.0.0/8'),)
    >>> trust([])
    """
    try:
        Connection.trusted = tuple(ip_network(proxy) for proxy in proxies)
    except ValueError as error:
        raise InvalidSpec(f"A trusted proxy is an address or a network: {error}.") from None
