"""What only the S3 store can meet: wrong settings, a store that is away, strangers."""

import subprocess
import sys

import httpx2
import pytest

from comfyfleet.kernel.errors import StorageUnavailable
from comfyfleet.kernel.secret import Secret
from comfyfleet.storage.backends.s3 import S3Options, S3Store
from comfyfleet.storage.model import ObjectKey
from tests.contract.conftest import s3_store
from tests.seaweedfs import SeaweedFs


async def test_a_bucket_that_is_not_there_fails_the_check(seaweedfs: SeaweedFs) -> None:
    with pytest.raises(StorageUnavailable) as refused:
        await s3_store(seaweedfs, bucket="no-such-bucket").check()
    assert refused.value.facts["problem"] == "the bucket 'no-such-bucket' does not exist"


async def test_wrong_credentials_fail_the_check(seaweedfs: SeaweedFs) -> None:
    with pytest.raises(StorageUnavailable) as refused:
        await s3_store(seaweedfs, secret_key="wrong").check()
    assert "credentials" in refused.value.facts["problem"]


async def test_a_store_that_is_away_is_unavailable_to_every_call(key: ObjectKey) -> None:
    away = S3Store(
        S3Options(bucket="any", endpoint_url="http://127.0.0.1:9", access_key="any", secret_key=Secret("any"))
    )
    for call in (
        away.check(),
        away.head(key),
        away.delete(key),
        away.read(key, bytes_max=1),
        away.write(key, b"", media_type="image/png"),
        away.start_multipart(key, media_type="image/png"),
        away.complete_multipart(key, "id", []),
        away.abort_multipart(key, "id"),
    ):
        with pytest.raises(StorageUnavailable):
            await call


async def test_a_signature_by_another_secret_is_refused(
    seaweedfs: SeaweedFs, http: httpx2.AsyncClient, key: ObjectKey
) -> None:
    await s3_store(seaweedfs).write(key, b"bytes", media_type="image/png")
    forged = s3_store(seaweedfs, secret_key="wrong").presign_get(key, media_type="image/png", expires_s=60)
    assert (await http.get(forged.url)).status_code == 403


async def test_nobody_reads_without_a_signature(seaweedfs: SeaweedFs, http: httpx2.AsyncClient, key: ObjectKey) -> None:
    store = s3_store(seaweedfs)
    await store.write(key, b"bytes", media_type="image/png")
    url = store.presign_get(key, media_type="image/png", expires_s=60).url
    assert (await http.get(url)).status_code == 200
    assert (await http.get(url.partition("?")[0])).status_code == 403


def test_without_boto3_only_making_a_store_fails_and_says_what_to_install() -> None:
    program = """
import sys
sys.modules["boto3"] = sys.modules["botocore"] = None
from comfyfleet.storage.backends.s3 import S3Options, S3Store
print("imported")
S3Store(S3Options(bucket="any"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "imported\n"
    assert "pip install 'comfyfleet[s3]'" in done.stderr.splitlines()[-1]
