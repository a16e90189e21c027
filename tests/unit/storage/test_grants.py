"""Tokens of the local store."""

import hashlib
from dataclasses import asdict

import pytest
from itsdangerous import URLSafeSerializer

from comfyfleet.kernel.errors import SignatureRefused
from comfyfleet.kernel.secret import Secret
from comfyfleet.storage.backends.grants import SALT, GetGrant, Grant, GrantSigner, PartGrant, PutGrant
from comfyfleet.storage.model import ObjectKey

KEY = ObjectKey("tenants/a/files/b")
GRANTS: list[Grant] = [
    GetGrant(KEY, "image/png", "€.png", expires_at_s=1000),
    PutGrant(KEY, "image/png", 5, expires_at_s=1000),
    PartGrant(KEY, "an-upload", 7, 5, expires_at_s=1000),
]
SIGNER = GrantSigner(Secret("a key for tests"))


@pytest.mark.parametrize("grant", GRANTS)
def test_a_grant_comes_back_as_it_was_signed(grant: Grant) -> None:
    assert SIGNER.open(SIGNER.sign(grant), now_s=999.9) == grant


@pytest.mark.parametrize("grant", GRANTS)
def test_a_grant_ends_at_its_expiry(grant: Grant) -> None:
    with pytest.raises(SignatureRefused, match="expired"):
        SIGNER.open(SIGNER.sign(grant), now_s=1000)


@pytest.mark.parametrize("grant", GRANTS)
def test_a_change_of_any_character_is_refused(grant: Grant) -> None:
    token = SIGNER.sign(grant)
    for place, character in enumerate(token[:-1]):
        forged = token[:place] + ("A" if character != "A" else "B") + token[place + 1 :]
        with pytest.raises(SignatureRefused):
            SIGNER.open(forged, now_s=0)


@pytest.mark.parametrize("salt", ["comfyfleet.links", SALT])
def test_a_token_of_another_use_of_the_same_key_is_refused(salt: str) -> None:
    options = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
    stranger = URLSafeSerializer("a key for tests", salt=salt, signer_kwargs=options)
    token = str(stranger.dumps(["GET", asdict(GRANTS[0])]))
    if salt == SALT:  # so that it is the salt, and nothing else, that makes the difference
        assert SIGNER.open(token, now_s=0) == GRANTS[0]
    else:
        with pytest.raises(SignatureRefused):
            SIGNER.open(token, now_s=0)


def test_a_token_with_fields_of_another_release_is_refused() -> None:
    options = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
    older = URLSafeSerializer("a key for tests", salt=SALT, signer_kwargs=options)
    for payload in (["GET", {"key": KEY}], ["PATCH", asdict(GRANTS[0])]):
        with pytest.raises(SignatureRefused):
            SIGNER.open(str(older.dumps(payload)), now_s=0)
