"""Connections that send too slowly, or are too many, are closed."""

import socket
from contextlib import suppress

from uvicorn import Config

from ract.apps.web.connections import Workers


def test_half_a_request_is_not_waited_for(files, tmp_path, run_service, monkeypatch):
    """Connections that send slowly are closed, and others are answered meanwhile."""
    ledger = str(tmp_path / "promises.db")
    with run_service(files / "model.ract", ledger, tmp_path / "log.txt") as service:
        host, port = service.address.removeprefix("http://").split(":")
        slow = []
        for _ in range(320):
            one = socket.create_connection((host, int(port)), 30)
            one.sendall(b"POST /decide HTTP/1.1\r\nhost: x\r\n")
            slow.append(one)
        # Three hundred are kept until their header is due, the others are closed at once.
        closed = [hung_up(one) for one in slow[300:]]
        assert all(closed) and hung_up(slow[0])
        for one in slow:
            one.close()


def test_nobody_waits_for_workers_that_have_ended():
    """The socket that they share is closed first: new connections are refused, not reset later."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        Workers(Config("none:app"), sockets=[listening]).terminate_all()
        assert listening.fileno() == -1


def hung_up(connection):
    """Whether the other side closes a connection, without a word."""
    connection.settimeout(60)
    with suppress(ConnectionResetError):
        return connection.recv(1) == b""
    return True
