"""The service under load: a FICO forest of the default settings behind ``ract serve``, on loopback.

    python benchmarks/bench_serve.py [--seconds 60] [--plans 50] [--decisions 300] [--workers 2]
        [--memory 600] [--overload 200] [--ledger URL]

Two worker processes answer; this process asks. Requests are due at even times, whether or not
earlier ones were answered, and the time of an answer counts from when its request was due. One
person a request: plans with the service's settings (few changes, ranges, at least) for refused
people, decisions for anyone, each with a key that is looked up in the ledger where the model
refuses. Printed for each kind: answers a second, percentiles of their time, errors, CPU
milliseconds a request of all worker processes and of this one, and the load of the machine. Then
the memory of the worker processes over ``--memory`` seconds of half of both loads. At last
``--overload`` connections ask for plans at once, again and again: how long those that were accepted
and those that were refused have waited, and how long the service takes to end meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil

from experiments.benchmark.run import Fold
from ract import RecourseForestClassifier, save_model
from ract.apps.ledger import Ledger
from ract.apps.ledger.entries import plain_value
from ract.apps.web.state import ServiceState

CONNECTIONS = 64
TARGETS = {"/plans": 40, "/decide": 5}  # milliseconds of the 95th percentile


def prepared(folder: Path):
    """A model file, refused people and anyone, of whom the model has seen nobody."""
    fold = Fold.of("fico", 1)
    data = fold.data
    model = RecourseForestClassifier(data.actions, desired=data.desired, random_state=0)
    model.fit(data.frame.iloc[fold.train], data.target.to_numpy()[fold.train])
    save_model(model, folder / "model.ract")
    new = data.frame.iloc[fold.test]
    rows = [{k: plain_value(v) for k, v in row.items()} for row in new.to_dict("records")]
    refused = model.predict(new) != data.desired
    return [row for row, no in zip(rows, refused, strict=True) if no], rows


@contextmanager
def serving(folder: Path, ledger: str, workers: int):
    """The service; its port, a key and its process."""
    with Ledger(ledger) as book:
        key = ServiceState(book.store).add_key("admin", "Load", by="benchmark")
    log = folder / "log.txt"
    with log.open("w") as file:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "ract", "serve", str(folder / "model.ract"), "--ledger",
                ledger, "--port", "0", "--workers", str(workers), "--per-minute", "1000000",
                "--search-seconds", "100000",
            ],
            stdout=file, stderr=file,
        )  # fmt: skip
    try:
        while (text := log.read_text()).count("Application startup complete") < workers:
            if process.poll() is not None:
                raise SystemExit(text)
            time.sleep(0.1)
        yield int(re.search(r"Serving on \S+:(\d+);", text)[1]), key, process
    finally:
        process.terminate()
        process.wait(60)


def workers_of(process) -> list[psutil.Process]:
    """The processes that answer."""
    children = psutil.Process(process.pid).children()
    return [c for c in children if "spawn_main" in " ".join(c.cmdline())] or [
        psutil.Process(process.pid)
    ]


def request(path: str, key: str, people: list[dict]) -> bytes:
    """A request as it is sent."""
    body = json.dumps({"people": people}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Asker:
    """Sends requests when they are due, over a number of connections that stay open."""

    def __init__(self, port: int) -> None:
        self.port, self.free = port, asyncio.Queue()
        self.took: list[float] = []
        self.problems: Counter[str] = Counter()

    async def ask(self, message: bytes, due: float) -> None:
        """One request."""
        reader, writer = await self.free.get()
        try:
            if reader is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(message)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(re.search(rb"content-length: (\d+)", head)[1])
            body = await reader.readexactly(length)
            status = head.split(b" ", 2)[1]
            if status == b"200":
                self.took.append(time.perf_counter() - due)
            else:
                self.problems[f"{status.decode()} {body[:100].decode()}"] += 1
            if b"connection: close" in head:
                writer.close()
                reader = writer = None
        except (OSError, asyncio.IncompleteReadError) as error:
            self.problems[type(error).__name__] += 1
            reader = writer = None
        self.free.put_nowait((reader, writer))

    async def run(self, messages: list[bytes], per_second: float, seconds: float) -> None:
        """All requests of so many seconds."""
        for _ in range(CONNECTIONS):
            self.free.put_nowait((None, None))
        begun, tasks = time.perf_counter(), []
        for i in range(int(per_second * seconds)):
            due = begun + i / per_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            tasks.append(asyncio.create_task(self.ask(messages[i % len(messages)], due)))
        await asyncio.gather(*tasks)
        while not self.free.empty():
            _, writer = self.free.get_nowait()
            if writer is not None:
                writer.close()


def used(processes) -> float:
    """CPU seconds so far."""
    return sum(sum(p.cpu_times()[:2]) for p in processes)


def loaded(port, process, path, messages, per_second, seconds) -> None:
    """One kind of request, and a line on it."""
    workers = workers_of(process)
    before, own, begun = used(workers), time.process_time(), time.perf_counter()
    asker = Asker(port)
    asyncio.run(asker.run(messages, per_second, seconds))
    took, wall = 1000 * np.array(asker.took), time.perf_counter() - begun
    n = len(took) + sum(asker.problems.values())
    p50, p95, p99 = np.percentile(took, [50, 95, 99]) if len(took) else [np.nan] * 3
    print(
        f"{path:8} {len(took) / wall:6.1f}/s of {per_second:g}  p50 {p50:.1f}  p95 {p95:.1f} "
        f"(target {TARGETS[path]})  p99 {p99:.1f} ms  errors {dict(asker.problems)}  "
        f"CPU {1000 * (used(workers) - before) / n:.2f} ms a request "
        f"(asking: {1000 * (time.process_time() - own) / n:.2f})  "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        flush=True,
    )


def remembered(port, process, kinds, seconds) -> None:
    """Memory of the worker processes over time, while half of every load goes on."""

    async def both() -> None:
        askers = [
            asyncio.create_task(Asker(port).run(messages, per_second / 2, seconds))
            for messages, per_second in kinds
        ]
        workers, begun = workers_of(process), time.perf_counter()
        while not all(task.done() for task in askers):
            sizes = [f"{worker.memory_info().rss / 2**20:.0f}" for worker in workers]
            print(f"after {time.perf_counter() - begun:4.0f} s  {' '.join(sizes)} MiB", flush=True)
            await asyncio.sleep(seconds / 10)

    asyncio.run(both())


def overloaded(port, process, messages, n_connections, seconds) -> None:
    """Connections that ask for plans again as soon as they are answered, and then SIGTERM."""
    took, broken, ended = {"200": [], "503": [], "429": []}, Counter(), asyncio.Event()

    stopping = False

    async def one(k: int) -> None:
        while not ended.is_set():
            try:
                begun = time.perf_counter()
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:  # it listens no more
                return
            try:
                is_open = True
                while is_open and not ended.is_set():
                    writer.write(messages[k % len(messages)])
                    head = await reader.readuntil(b"\r\n\r\n")
                    await reader.readexactly(int(re.search(rb"content-length: (\d+)", head)[1]))
                    took[head.split(b" ", 2)[1].decode()].append(time.perf_counter() - begun)
                    is_open, begun = b"connection: close" not in head, time.perf_counter()
            except (OSError, asyncio.IncompleteReadError) as error:
                broken[type(error).__name__ + " at the end" * stopping] += 1
            finally:
                writer.close()

    async def everyone() -> None:
        nonlocal stopping
        asking = [asyncio.create_task(one(k)) for k in range(n_connections)]
        await asyncio.sleep(seconds)
        begun, stopping = time.perf_counter(), True
        process.terminate()
        await asyncio.to_thread(process.wait)
        print(f"SIGTERM under load: ended after {time.perf_counter() - begun:.1f} s (target 5)")
        ended.set()
        await asyncio.gather(*asking)

    asyncio.run(everyone())
    said = [
        f"{status}: {len(waits)}, p95 {np.percentile(waits, 95):.2f} s"
        for status, waits in took.items()
        if waits
    ]
    print(
        f"{n_connections} at once: {'; '.join(said)} (target 1 s)  broken {dict(broken)}  "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--plans", type=float, default=50)
    parser.add_argument("--decisions", type=float, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", type=float, default=600)
    parser.add_argument("--overload", type=int, default=200, help="0 for none")
    parser.add_argument("--ledger", help="a file beside the model by default")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ract-load-") as name:
        folder = Path(name)
        refused, anyone = prepared(folder)
        ledger = given.ledger or str(folder / "promises.db")
        with serving(folder, ledger, given.workers) as (port, key, process):
            kinds = {
                path: (
                    [
                        request(path, key, [{"person": f"P-{i}", "values": row}])
                        for i, row in enumerate(rows)
                    ],
                    per_second,
                )
                for path, rows, per_second in (
                    ("/plans", refused, given.plans),
                    ("/decide", anyone, given.decisions),
                )
            }
            for path, (messages, per_second) in kinds.items():
                loaded(port, process, path, messages, per_second, given.seconds)
            if given.memory:
                remembered(port, process, list(kinds.values()), given.memory)
            if given.overload:
                overloaded(port, process, kinds["/plans"][0], given.overload, given.seconds)


if __name__ == "__main__":
    main()
