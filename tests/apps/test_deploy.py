"""What is deployed: the unit is closed, and the proxy passes on what the service needs."""

import re
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.apps.web.conftest import files, running  # noqa: F401  (a fixture)

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_unit_is_closed():
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    words = [analyze, "security", "--offline=true", str(DEPLOY / "ract.service")]
    said = subprocess.run(words, capture_output=True, text=True)
    score = re.search(r"exposure level for ract.service: ([\d.]+)", said.stdout)
    if score is None:
        pytest.skip(f"this systemd-analyze cannot do that: {said.stderr[:200]}")
    assert float(score[1]) <= 3.0


def test_the_container_file_is_pinned_and_not_root():
    text = (DEPLOY / "Containerfile").read_text()
    base = re.search(r"^FROM \S+:(\S+)$", text, re.M)[1]
    assert re.match(r"\d+\.\d+\.\d+-", base)
    assert re.search(r"^USER (?!root)\w+$", text, re.M) and "HEALTHCHECK" in text
    assert text.index("install --directory") < text.index("\nUSER")  # /data is made before
    assert "/data" in re.search(r"^VOLUME (.*)$", text, re.M)[1]


def test_behind_the_proxy(files, tmp_path):  # noqa: F811
    """HTTPS ends at nginx: links, cookies and the addresses of callers are right behind it."""
    nginx, openssl = shutil.which("nginx"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("nginx and openssl are needed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    public = f"https://127.0.0.1:{port}"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
         str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    options = ("--public-url", public, "--trusted-proxy", "127.0.0.1")
    ledger, log = str(tmp_path / "promises.db"), tmp_path / "log.txt"
    with running(files / "model.ract", ledger, log, *options) as service:
        text = (DEPLOY / "nginx.conf").read_text()
        for old, new in (
            ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            ("/etc/ssl/loans.example.org.pem", str(tmp_path / "cert.pem")),
            ("/etc/ssl/loans.example.org.key", str(tmp_path / "key.pem")),
            ("server 127.0.0.1:8000", f"server {service.address.removeprefix('http://')}"),
        ):
            assert old in text
            text = text.replace(old, new)
        paths = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        top = f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; events {{}}"
        (tmp_path / "nginx.conf").write_text(f"{top} http {{ access_log off; {paths} {text} }}")
        proxy = subprocess.Popen([nginx, "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)])
        try:
            checked_behind(public, service, ssl.create_default_context(
                cafile=str(tmp_path / "cert.pem")
            ))  # fmt: skip
        finally:
            proxy.terminate()
            proxy.wait(30)


def checked_behind(public, service, context):
    transport = httpx.HTTPTransport(verify=context, retries=8)
    with httpx.Client(base_url=public, transport=transport, timeout=60) as http:
        assert http.get("/health").json() == {"status": "ok"}
        signed_in = http.post("/login", data={"key": service.keys["admin"]})
        assert signed_in.status_code == 303 and "Secure" in signed_in.headers["set-cookie"]
        assert http.get("/desk").status_code == 200
        large = http.post("/decide", content=b"x" * 2_000_000)
        assert large.status_code == 413
        # Wrong keys are counted by who the proxy says has shown them, not by what they say.
        wrong = {"authorization": "Bearer ract-guessed"}
        statuses = [
            http.get("/audit", headers=wrong | {"x-forwarded-for": f"10.0.0.{k}"}).status_code
            for k in range(35)
        ]
        assert statuses[0] == 401 and statuses[-1] == 429
