"""Connections that send too slowly, or are too many, are closed."""

import socket
from contextlib import suppress


def test_half_a_request_is_not_waited_for(files, tmp_path, run_service, monkeypatch):
    """Connections that send slowly are closed, and others are answered meanwhile."""
    ledger = str(tmp_path / "promises.db")
    with run_service(files / "model.ract", ledger, tmp_path / "log.txt") as service:
        host, port = service.address.removeprefix("http://").split(":")
        slow = []
        for _ in range(150):
            one = socket.create_connection((host, int(port)), 30)
            one.sendall(b"POST /decide HTTP/1.1\r\nhost: x\r\n")
            slow.append(one)
        # A hundred are kept until their header is due, the others are closed at once.
        closed = [hung_up(one) for one in slow[100:]]
        assert all(closed) and hung_up(slow[0])
        for one in slow:
            one.close()


def hung_up(connection):
    """Whether the other side closes a connection, without a word."""
    connection.settimeout(60)
    with suppress(ConnectionResetError):
        return connection.recv(1) == b""
    return True
