"""One frozen object; unknown and contradictory settings stop the start and name the field."""

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from comfyfleet.settings import PREFIX, Settings, SettingsError, load_settings

ROOT = Path(__file__).parents[2]
KEY = "kM3x9Qw7Zt5Rv1Yb8Nc4Hd6Jf0Lg2Ps+"


@pytest.fixture(autouse=True)
def _nothing_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith((PREFIX, "AWS_"))]:
        monkeypatch.delenv(name)


def test_nothing_said_gives_a_working_embedded_system() -> None:
    settings = load_settings()
    assert settings.mode == "embedded"
    assert settings.central_url() == "sqlite:///.comfyfleet/central.sqlite"
    assert list(settings.pool_urls()) == ["main"]


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load_settings().port = 1  # type: ignore[misc]


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "comfyfleet.toml").write_text('host = "10.0.0.1"\nport = 1000\nurl_ttl_s = 60\n')
    monkeypatch.setenv("COMFYFLEET_PORT", "2000")
    monkeypatch.setenv("COMFYFLEET_URL_TTL_S", "70")
    settings = load_settings(url_ttl_s=80)
    assert (settings.host, settings.port, settings.url_ttl_s) == ("10.0.0.1", 2000, 80)


def test_pools_come_from_json_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMFYFLEET_POOLS", '{"eu": "postgresql://u:p@db/eu", "us": "sqlite:///us.sqlite"}')
    settings = load_settings()
    assert list(settings.pool_urls()) == ["eu", "us"]
    assert ":p@" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("PROT", "8000", "COMFYFLEET_PROT"),
        ("PORT", "eighty", "port"),
        ("PORT", "70000", "port"),
        ("TRACE_URL", "https://jaeger.example.com/trace/", "trace_url"),
        ("TRACE_URL", "javascript:alert({trace_id})", "trace_url"),
        ("TRACE_URL", "https://{trace_id}.example.com/", "trace_url"),
        ("MODE", "prod", "mode"),
        ("POOLS", "{not json", "COMFYFLEET_POOLS: is not JSON"),
        ("POOLS", '{"a b": "sqlite:///x"}', "pools"),
        ("POOLS", '{"a": "mysql://x/y"}', "pools"),
        ("DATABASE_URL", "oracle://x", "database_url"),
        ("DATABASE_URL", "nonsense", "database_url"),
        ("DATABASE_URL", "sqlite:///:memory:", "database_url"),
        ("PAYMENT_WEBHOOK_SECRETS", '["abc"]', "payment_webhook_secrets"),
        ("PAYMENT_WEBHOOK_SECRETS", '["whsec_"]', "payment_webhook_secrets"),
        ("PAYMENT_WEBHOOK_SECRETS", '["whsec_!!!"]', "payment_webhook_secrets"),
        ("SMTP_URL", "starttls://u:p@host", "smtp_url"),
        ("SMTP_URL", "mail.example.com:25", "smtp_url"),
        ("MAIL_FROM", "a@b.de\nBcc: c@d.de", "mail_from"),
        ("SESSION_TTL_S", "10000000000000000", "session_ttl_s"),
        ("PUBLIC_URL", "fleet.example.com", "public_url"),
        ("SECRET_KEY", "short", "secret_key"),
        ("STORAGE", "s3", "s3_bucket"),
        ("S3_BUCKET", "b", "s3_bucket"),
        ("S3_ACCESS_KEY_ID", "only half", "s3_access_key_id"),
        ("DEFAULT_POOL", "nowhere", "default_pool"),
        ("AWS_REGION", "frankfurt", "aws_region"),
        ("PUBLISH_CLOUDWATCH", "true", "aws_region: is needed"),
        ("ASG_GROUPS", '["gpus"]', "asg_groups: is set, but nothing is checked"),
        ("CONFIG", "/nowhere/at/all.toml", "COMFYFLEET_CONFIG"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"COMFYFLEET_{name}", value)
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert field in refused.value.message


@pytest.mark.parametrize("text", ["prot = 1", "port = ", "[section]\nport = 1"])
def test_a_wrong_file_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "comfyfleet.toml").write_text(text)
    with pytest.raises(SettingsError):
        load_settings()


def test_two_names_for_one_database_are_a_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMFYFLEET_DATABASE_URL", "sqlite:///same.sqlite")
    monkeypatch.setenv("COMFYFLEET_POOLS", '{"main": "sqlite:///./same.sqlite"}')
    with pytest.raises(SettingsError, match="pools"):
        load_settings()


PRODUCTION: dict[str, Any] = {
    "mode": "production",
    "secret_key": KEY,
    "public_url": "https://fleet.example.com",
    "database_url": "postgresql://u:p@db/central",
    "pools": {"main": "postgresql://u:p@db/main"},
}


def test_production_starts_with_everything_said() -> None:
    assert load_settings(**PRODUCTION).mode == "production"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"secret_key": None}, "secret_key"),
        ({"secret_key": "change-me-change-me-change-me-change-me"}, "secret_key"),
        ({"secret_key": "a" * 64}, "secret_key"),
        ({"public_url": None}, "public_url"),
        ({"public_url": "http://fleet.example.com"}, "public_url"),
        ({"trusted_proxies": ["*"]}, "trusted_proxies"),
        ({"validate_asg_instance": True}, "aws_region"),
        ({"database_url": None}, "database_url"),
        ({"pools": {}}, "pools"),
        ({"cors_origins": ["*"]}, "cors_origins"),
        ({"cors_origins": ["https://*.example.com"]}, "cors_origins"),
        ({"payment_webhook_secrets": ["whsec_" + "A" * 32]}, "payment_webhook_secrets"),
    ],
)
def test_production_refuses_what_is_only_fit_for_trying_out(change: dict[str, Any], field: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(**{**PRODUCTION, **change})
    assert refused.value.message.startswith(f"{field}:")


def test_no_secret_in_an_error_or_a_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMFYFLEET_DATABASE_URL", "oracle://user:canary-password@host/db")
    monkeypatch.setenv("COMFYFLEET_SECRET_KEY", "canary-short")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert "canary" not in refused.value.message
    monkeypatch.delenv("COMFYFLEET_DATABASE_URL")
    assert "canary" not in repr(Settings(secret_key="canary-" + KEY, smtp_url="smtp://u:canary@h"))


def test_every_setting_is_documented_with_its_meaning() -> None:
    page = (ROOT / "docs/reference/settings.md").read_text()
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert f"`{PREFIX}{name.upper()}`" in page, name
