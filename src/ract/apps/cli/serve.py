"""``ract serve``: decisions, plans and promises over HTTP, and the keys of those who ask."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import typer

from ract._utils.errors import InvalidFile, listing, optional_library
from ract._utils.files import readable
from ract.apps.cli import options
from ract.apps.cli.inputs import actor
from ract.apps.cli.messages import BROKEN, BadInput, say

app = typer.Typer(
    cls=options.WithDefault,  # the first command, start, need not be named
    help="Decide, plan and keep promises over HTTP, with pages for applicants, case workers and "
    "auditors. ract serve MODEL is short for ract serve start MODEL.",
    epilog="Exit code of start and reload: 4 if the model would break promises and is not forced.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@options.command(app, "start")
def start(
    model: Path | None = None,
    *,
    ledger: str = "ract-promises.db",
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    threads: int = 8,
    notices: list[Path] | None = None,
    promise_days: int = 180,
    link_days: int = 30,
    time_limit: float = 10.0,
    per_minute: int = 6000,
    search_seconds: float = 30.0,
    public_url: str = "",
    trusted_proxy: list[str] | None = None,
    zone: str = "UTC",
    pin: list[str] | None = None,
    heads: str = "",
    four_eyes: bool = False,
    certificate: Path | None = None,
    private_key: Path | None = None,
    force: bool = False,
    demo: bool = False,
) -> None:
    """Start the service.

    Keys are made with ract serve add-key; nothing can be read without one.

    Example: ract serve model.ract --ledger promises.db --workers 2
    """
    _library()
    from ract.apps.web.connections import trust
    from ract.apps.web.settings import VARIABLE, Settings

    if demo == (model is not None):
        raise BadInput("Name a model file, or --demo to try the service without one.")
    if (certificate is None) != (private_key is None):
        raise BadInput("--certificate and --private-key belong together.")
    with tempfile.TemporaryDirectory(prefix="ract-serve-") as folder:
        if demo:
            from ract.apps.cli.serve_demo import prepare_demo

            ledger = str(Path(folder, "promises.db"))
            model, files, show = prepare_demo(Path(folder))
            notices = [*files]
        if public_url and not re.fullmatch(r"https?://[^/\s]+", public_url):
            raise BadInput(f"--public-url is like https://loans.example.org, got {public_url!r}.")
        trust(trusted_proxy or ())
        _publish_if_there(model, ledger, force)
        with _listening(host, port) as socket:
            address = _address(socket, host, secure=certificate is not None)
            settings = Settings(
                ledger=ledger,
                model=str(Path(str(model)).resolve()),
                notices=tuple(str(path.resolve()) for path in notices or ()),
                public_url=public_url or address,
                proxies=tuple(trusted_proxy or ()),
                shared=folder,
                heads=heads,
                zone=zone,
                pinned=tuple(pin or ()),
                promise_days=promise_days,
                link_days=link_days,
                time_limit=time_limit,
                per_minute=per_minute,
                search_seconds=search_seconds,
                threads=threads,
                four_eyes=four_eyes,
            )
            if demo:
                show(settings, address)
            else:
                _say_keys(ledger, address)
            os.environ[VARIABLE] = settings.to_text()
            if workers > 1:
                os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            reread = None if demo else partial(_publish, model, ledger, False)
            tls = {"ssl_certfile": certificate, "ssl_keyfile": private_key}
            _run(socket, workers, trusted_proxy or [], tls, reread)


@options.command(app, "add-key")
def add_key(
    role: str, name: str, *, days: int | None = None, ledger: str = "ract-promises.db"
) -> None:
    """Make a key and print it once; only its hash is stored.

    Example: ract serve add-key case-worker "J. Doe"
    """
    _library()
    from ract.apps.web.keys import ROLES

    known = {role: role for role in ROLES}
    if role not in known:
        raise BadInput(f"ROLE must be one of {listing(ROLES)}, got {role!r}.")
    with _state(ledger) as state:
        typer.echo(state.add_key(known[role], name, by=actor(), days=days))


@options.command(app, "keys")
def keys(*, ledger: str = "ract-promises.db") -> None:
    """List the keys by number, role and name; the keys themselves are not stored.

    Example: ract serve keys
    """
    with _state(ledger) as state:
        known = state.all_keys()
    for key in known:
        ended = f"until {key['until'][:10]}" if key["until"] else ""
        ended = f"revoked {key['revoked'][:10]}" if key["revoked"] else ended
        line = f"{key['id']}  {key['role']:<12} {key['made'][:10]}  {key['name']}  {ended}"
        typer.echo(line.rstrip())


@options.command(app, "revoke")
def revoke(key: str, *, ledger: str = "ract-promises.db") -> None:
    """End a key at once, in every worker process.

    Example: ract serve revoke 5f2c8a01
    """
    with _state(ledger) as state:
        state.revoke(key, by=actor())
    say(f"Key {key} is revoked.")


@options.command(app, "reload")
def reload(model: Path, *, ledger: str = "ract-promises.db", force: bool = False) -> None:
    """Let running services decide by another model, if it keeps every open promise.

    Requests under way are answered by the model that they began with.

    Example: ract serve reload new.ract
    """
    _library()
    _publish(model, ledger, force)


def _publish(path: Path | None, ledger: str, force: bool) -> None:
    from ract.apps.ledger import Ledger
    from ract.apps.web.service import Broken, publish_model
    from ract.apps.web.state import ServiceState

    assert path is not None
    with readable(path):
        content = path.read_bytes()
    with Ledger(ledger) as book:
        try:
            found = publish_model(book, ServiceState(book.store), content, by=actor(), force=force)
        except InvalidFile as error:
            raise BadInput(f"{path} cannot be read as a model: {error}") from None
        except Broken as error:
            say(f"Error: {error}")
            raise typer.Exit(BROKEN) from None
    kept = f"{found.kept} of {found.promises} open promises"
    what = "decides now" if found.changed else "decides already"
    say(f"{path} {what}; it keeps {kept}{', and was forced' if found.forced else ''}.")


def _publish_if_there(path: Path | None, ledger: str, force: bool) -> None:
    """Publish a model; if the database is away, serve the one that was let in last, once it is."""
    from ract.apps.ledger import LedgerUnavailable

    try:
        _publish(path, ledger, force)
    except LedgerUnavailable as error:
        if "sqlite" in str(error):  # a file that is away does not come back by itself
            raise
        say(f"{error} The service waits for it, and uses the model that was accepted last.")


def _say_keys(ledger: str, address: str) -> None:
    from ract.apps.ledger import LedgerUnavailable

    say(f"Serving on {address}; pages are at {address}/login.")
    with suppress(LedgerUnavailable), _state(ledger) as state:
        if not any(key["revoked"] is None for key in state.all_keys()):
            say('There is no key yet: ract serve add-key admin "Your name" makes one.')


def _listening(host: str, port: int) -> Any:
    """A socket that listens; the port is known before anything else begins."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, so that asyncio sends small answers at once (TCP_NODELAY).
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise BadInput(f"{host}:{port} cannot be listened on: {error.strerror}.") from None
    opened.set_inheritable(True)
    return opened


def _address(socket: Any, host: str, *, secure: bool) -> str:
    scheme, name = "https" if secure else "http", f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}:{socket.getsockname()[1]}"


def _on_hangup(reread: Callable[[], None]) -> None:
    """Have SIGHUP read the model file again, through the guard.

    Where there is a terminal it means that the terminal was closed, and nothing is read.
    """
    import signal
    import sys
    import threading

    def read() -> None:
        try:
            reread()
        except typer.Exit:  # it has said why
            pass
        except (ValueError, OSError) as error:
            say(f"Error: {error}")

    if hasattr(signal, "SIGHUP") and not (sys.stdin and sys.stdin.isatty()):
        signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=read, daemon=True).start())


def _run(
    socket: Any,
    workers: int,
    proxies: list[str],
    tls: dict[str, Any],
    reread: Callable[[], None] | None,
) -> None:
    """Run worker processes until someone ends them; requests under way are answered."""
    import copy
    import gc

    import uvicorn
    from uvicorn.config import LOGGING_CONFIG

    from ract.apps.web.connections import Connection, Workers

    logging = copy.deepcopy(LOGGING_CONFIG)
    logging["loggers"]["ract.apps.web"] = logging["loggers"]["uvicorn"]
    config = uvicorn.Config(
        "ract.apps.web.app:from_environment",
        factory=True,
        workers=workers,
        log_config=logging,
        access_log=False,
        server_header=False,
        http=Connection,
        ws="none",
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
        timeout_graceful_shutdown=3,
        timeout_worker_healthcheck=60,
        **tls,
    )
    server = uvicorn.Server(config)
    run: Callable[[], None] = partial(server.run, sockets=[socket])
    if workers > 1:
        run = Workers(config, sockets=[socket]).run  # which has a use of its own for SIGHUP
    if reread is not None:
        _on_hangup(reread)
    with suppress(KeyboardInterrupt):
        run()
    gc.freeze()  # else Python looks at everything once more before it ends, which takes a second
    if workers == 1 and not server.started:
        raise typer.Exit(2)


@contextmanager
def _state(ledger: str) -> Iterator[Any]:
    _library()
    from ract.apps.ledger import Ledger
    from ract.apps.web.state import ServiceState

    with Ledger(ledger) as book:
        yield ServiceState(book.store)


def _library() -> None:
    for module in ("fastapi", "uvicorn", "sqlalchemy", "limits", "prometheus_client"):
        optional_library(module, "the service", "serve")
