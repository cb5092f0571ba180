"""Keys: random, long, and kept as hashes only."""

import hashlib

from ract.apps.web.keys import PREFIX, Denied, digest, new_key


def test_a_key_is_kept_as_its_hash():
    key = new_key()
    assert key.startswith(PREFIX) and len(key) == len(PREFIX) + 43  # 32 random bytes in base64
    assert digest(key) == hashlib.sha256(key.encode()).hexdigest()
    assert digest("\ud800") != digest("")  # what no encoding holds is no error


def test_who_is_denied_learns_when_to_ask_again():
    denied = Denied("Too many requests; please wait a little.", 429, 7)
    assert (str(denied), denied.status, denied.after) == (denied.args[0], 429, 7)
    assert (Denied("A key is needed.").status, Denied("A key is needed.").after) == (401, 0)
