"""Certificates, ledgers and the database of a service, as texts."""

from __future__ import annotations

import json
import shutil
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.pins.loans import as_text, opened, people
from tests.pins.names import (
    HERE,
    QUIET,
    App,
    Ledger,
    Settings,
    __version__,
    certify,
    check,
    verify,
)


def certificate_pin(_: Path) -> str:
    """A certificate of 0.2 is checked, and made again."""
    model, rows = opened("forest"), people()
    witnesses, stored = HERE / "witnesses.json", HERE / "certificate.json"
    limits = {"time_limit": 60.0, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that forty people are few
        again = certify(model, rows, groups="Education", **QUIET)
    checked = verify(stored, model, rows, groups="Education", witnesses=witnesses, **limits)
    searched = verify(stored, model, rows, groups="Education", **limits)
    record = again.to_dict()
    for changing in ("date", "digest", "version"):
        record.pop(changing, None)
    said = {"checked": str(checked), "searched": str(searched), "text": again.describe()}
    return as_text({**said, "record": record})


def ledger_pin(name: str, folder: Path) -> str:
    """A ledger of 0.2: everything in it, and what can still be done with it."""
    shutil.copy(HERE / f"{name}.db", folder / "ledger.db")
    now = [datetime(2027, 1, 1, tzinfo=UTC)]
    with Ledger(folder / "ledger.db", clock=lambda: now[0]) as ledger:
        record = {"verified": bool(ledger.verify()), "counts": ledger.counts()}
        open_ = ledger.open()
        record["open"] = [_promise_record(promise) for promise in open_]
        keys = [f"P-{k:02}" for k in range(40)]
        record["history"] = {
            key: ledger.history(key).to_dict("records") for key in keys if len(ledger.of(key))
        }
        record["check"] = {m: str(check(ledger, opened(m))) for m in ("forest", "boosting")}
        first, second = open_[:2]
        record["before"] = str(ledger.redeem(first.person, first.before))
        record["after"] = str(ledger.redeem(first.person, first.after))
        record["withdrawn"] = str(ledger.withdraw(second.id, "Moved away"))
        now[0] += timedelta(days=40_000)
        record["expired"] = [str(p) for p in ledger.expire()]
        record["erased"] = ledger.erase(first.person).promises
        record["afterwards"] = {"verified": bool(ledger.verify()), "counts": ledger.counts()}
    return as_text(record)


def _promise_record(promise: object) -> dict[str, object]:
    record = {"text": str(promise), "plan": promise.plan, "model": promise.model, "by": promise.by}
    record |= {"offered": str(promise.offered), "expires": str(promise.expires)}
    record |= {"before": promise.before, "after": promise.after, "strength": promise.strength}
    limits = promise.region.limits.items()
    return record | {"region": {name: str(limit) for name, limit in limits}}


def service_pin(folder: Path) -> str:
    """A database that the service of 0.2 wrote: its keys, model, cases and promises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions would rather have another library
        from fastapi.testclient import TestClient
    shutil.copy(HERE / "service.db", folder / "service.db")
    known = json.loads((HERE / "service.json").read_text())
    settings = Settings(str(folder / "service.db"), time_limit=60.0)
    record: dict[str, object] = {}
    with TestClient(App(settings), base_url="http://127.0.0.1", follow_redirects=False) as client:

        def ask(method: str, path: str, role: str, **given: object) -> str:
            headers = {"authorization": f"Bearer {known['keys'][role]}"}
            answer = client.request(method, path, headers=headers, **given)
            return [answer.status_code, answer.json() if "json" in answer.headers[
                "content-type"] else answer.text]  # fmt: skip

        one = {"people": [known["asked"]]}
        status, audit = ask("GET", "/audit", "auditor")
        hidden = ("head", "signature", "key")  # keys are made anew
        record["audit"] = [status, {k: v for k, v in audit.items() if k not in hidden}]
        record["decided"] = ask("POST", "/decide", "case-worker", json=one)
        back = {"person": known["asked"]["person"], "values": known["after"]}
        record["back"] = ask("POST", "/decide", "case-worker", json={"people": [back]})
        record["plans"] = ask("POST", "/plans", "case-worker", json=one)
        record["promise"] = ask("GET", f"/promises/{known['promise']}", "auditor")
        for language in ("en", "de"):
            path = f"/notices/{known['case']}?language={language}&form=text"
            record[f"notice {language}"] = ask("GET", path, "case-worker")
        redeem = f"/promises/{known['promise']}/redeem"
        record["redeemed"] = ask("POST", redeem, "case-worker", json={"values": known["after"]})
        record["not allowed"] = ask("POST", "/reload", "auditor", json={})
        record["erased"] = client.delete(
            f"/people/{known['asked']['person']}",
            headers={"authorization": f"Bearer {known['keys']['admin']}"},
        ).status_code
    return as_text(record).replace(__version__, "<version>")
