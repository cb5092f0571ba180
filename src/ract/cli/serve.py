"""``ract serve``: decisions, plans and promises over HTTP, and the keys of those who ask."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli import options
from ract.cli.default import WithDefault
from ract.cli.failures import BadInput
from ract.cli.promises import BROKEN, Where


class ServeCommands(WithDefault):
    """``start`` need not be said: what names no command is a model file."""

    default = "start"


app = typer.Typer(
    cls=ServeCommands,
    help="Decide, plan and keep promises over HTTP, with pages for applicants, case workers and "
    "auditors. ract serve MODEL is short for ract serve start MODEL.",
    epilog="Exit code of start and reload: 4 if the model would break promises and is not forced.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Force = Annotated[
    bool, typer.Option("--force", help="Use the model although it breaks open promises.")
]


def start(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="Model file.", show_default=False)
    ] = None,
    *,
    ledger: Where = "ract-promises.db",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Worker processes.")] = 1,
    threads: Annotated[
        int, typer.Option(min=1, max=64, help="Requests that a worker process works on at once.")
    ] = 8,
    notices: Annotated[
        list[Path] | None,
        typer.Option(help="File of ract notice init. May be given again for another language."),
    ] = None,
    promise_days: Annotated[
        int, typer.Option(min=1, max=3650, help="How long promises last.")
    ] = 180,
    link_days: Annotated[
        int, typer.Option(min=1, max=3650, help="How long applicants' links last.")
    ] = 30,
    time_limit: Annotated[float, typer.Option(min=0.1, help="Seconds for a request.")] = 10.0,
    per_minute: Annotated[
        int, typer.Option(min=1, help="Requests a minute of one key, in each worker process.")
    ] = 6000,
    certificate: Annotated[Path | None, typer.Option(help="Certificate for HTTPS, as PEM.")] = None,
    private_key: Annotated[Path | None, typer.Option(help="Its key, as PEM.")] = None,
    force: Force = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Try it: a loans model and a made-up applicant.")
    ] = False,
) -> None:
    """Start the service.

    Keys are made with ract serve add-key; nothing can be read without one.

    Example: ract serve model.ract --ledger promises.db --workers 2
    """
    _library()
    from ract.serve.settings import VARIABLE, Settings

    if demo == (model is not None):
        raise BadInput("Name a model file, or --demo to try the service without one.")
    if (certificate is None) != (private_key is None):
        raise BadInput("--certificate and --private-key belong together.")
    with tempfile.TemporaryDirectory(prefix="ract-demo-") as folder:
        if demo:
            from ract.cli.serve_demo import prepare

            ledger = str(Path(folder, "promises.db"))
            model, files, show = prepare(Path(folder))
            notices = [*files]
        settings = Settings(
            ledger=ledger, model=str(Path(str(model)).resolve()), promise_days=promise_days,
            notices=tuple(str(path.resolve()) for path in notices or ()), link_days=link_days,
            time_limit=time_limit, per_minute=per_minute, threads=threads,
        )  # fmt: skip
        _publish(model, ledger, force)
        with _listening(host, port) as socket:
            address = _address(socket, host, secure=certificate is not None)
            if demo:
                show(settings, address)
            else:
                _say_keys(ledger, address)
            os.environ[VARIABLE] = settings.to_text()
            reread = None if demo else partial(_publish, model, ledger, False)
            _run(socket, workers, time_limit, certificate, private_key, reread)


def add_key(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="case-worker, auditor or admin.")],
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Whose key it is; kept with what they do.")
    ],
    *,
    ledger: Where = "ract-promises.db",
) -> None:
    """Make a key and print it, once: only its hash is kept.

    Example: ract serve add-key case-worker "J. Doe"
    """
    from ract.errors import listing

    state = _state(ledger)
    from ract.serve.keys import ROLES

    known = {role: role for role in ROLES}
    if role not in known:
        raise BadInput(f"ROLE must be one of {listing(ROLES)}, got {role!r}.")
    typer.echo(state.add_key(known[role], name))


def keys(*, ledger: Where = "ract-promises.db") -> None:
    """List the keys; what they are is not kept.

    Example: ract serve keys
    """
    for key in _state(ledger).all_keys():
        ended = f"revoked {key['revoked'][:10]}" if key["revoked"] else ""
        line = f"{key['id']}  {key['role']:<12} {key['made'][:10]}  {key['name']}  {ended}"
        typer.echo(line.rstrip())


def revoke(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="Number of the key, as keys prints it.")
    ],
    *,
    ledger: Where = "ract-promises.db",
) -> None:
    """End a key at once, in every worker process.

    Example: ract serve revoke 5f2c8a01
    """
    from ract.cli.messages import say

    _state(ledger).revoke(key)
    say(f"Key {key} is revoked.")


def reload(
    model: options.ModelPath, *, ledger: Where = "ract-promises.db", force: Force = False
) -> None:
    """Let running services decide by another model, if it keeps every open promise.

    Requests under way are answered by the model that they began with.

    Example: ract serve reload new.ract
    """
    _library()
    _publish(model, ledger, force)


def _publish(path: Path | None, ledger: str, force: bool) -> None:
    from ract.cli.inputs import readable
    from ract.cli.messages import say
    from ract.errors import InvalidFile
    from ract.promises import Ledger
    from ract.serve.service import Broken, publish
    from ract.serve.state import State

    assert path is not None
    with readable(path):
        content = path.read_bytes()
    with Ledger(ledger) as book:
        try:
            found = publish(book, State(book.store), content, force=force)
        except InvalidFile as error:
            raise BadInput(f"{path} cannot be read as a model: {error}") from None
        except Broken as error:
            say(f"Error: {error}")
            raise typer.Exit(BROKEN) from None
    kept = f"{found['kept']} of {found['promises']} open promises"
    what = "decides now" if found["changed"] else "decides already"
    say(f"{path} {what}; it keeps {kept}{', and was forced' if found['forced'] else ''}.")


def _say_keys(ledger: str, address: str) -> None:
    from ract.cli.messages import say

    say(f"Serving on {address}; pages are at {address}/login.")
    if not any(key["revoked"] is None for key in _state(ledger).all_keys()):
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

    from ract.cli.messages import say

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
    socket: Any, workers: int, time_limit: float, certificate: Path | None, key: Path | None,
    reread: Callable[[], None] | None,
) -> None:  # fmt: skip
    """Run worker processes until someone ends them; requests under way are answered."""
    import copy

    import uvicorn
    from uvicorn.config import LOGGING_CONFIG
    from uvicorn.supervisors import Multiprocess

    logging = copy.deepcopy(LOGGING_CONFIG)
    logging["loggers"]["ract.serve"] = {
        "handlers": ["default"], "level": "INFO", "propagate": False,
    }  # fmt: skip
    config = uvicorn.Config(
        "ract.serve.app:from_environment", factory=True, workers=workers, log_config=logging,
        access_log=False, server_header=False, timeout_graceful_shutdown=int(time_limit) + 1,
        timeout_worker_healthcheck=60, limit_concurrency=500,
        ssl_certfile=certificate, ssl_keyfile=key,
    )  # fmt: skip
    server = uvicorn.Server(config)
    run: Callable[[], None] = partial(server.run, sockets=[socket])
    if workers > 1:
        run = Multiprocess(config, sockets=[socket]).run  # which has a use of its own for SIGHUP
    if reread is not None:
        _on_hangup(reread)
    with suppress(KeyboardInterrupt):
        run()
    if workers == 1 and not server.started:
        raise typer.Exit(2)


def _state(ledger: str) -> Any:
    _library()
    from ract.promises import Ledger
    from ract.serve.state import State

    return State(Ledger(ledger).store)


def _library() -> None:
    from ract.cli.failures import optional_library

    for module in ("fastapi", "uvicorn", "sqlalchemy"):
        optional_library(module, "the service", "serve")


for command, name in (
    (start, "start"),
    (add_key, "add-key"),
    (keys, "keys"),
    (revoke, "revoke"),
    (reload, "reload"),
):
    app.command(name)(options.with_option_groups(command))
