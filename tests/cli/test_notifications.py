"""`comfyfleet notifications` and `comfyfleet alerts`, as an operator types them."""

import json

from tests.cli.conftest import Command

TARGET = "https://chat.example.com/hooks/T0KEN"


def test_channels_are_made_listed_checked_and_deleted(comfyfleet: Command) -> None:
    comfyfleet("db", "upgrade")
    made = comfyfleet.json("notifications", "create-channel", "pager", TARGET, "--only-pages")
    assert made["secret"].startswith("whsec_")
    assert (made["target"], made["only_pages"]) == ("https://chat.example.com/…", True)
    assert "exists already" in comfyfleet("notifications", "create-channel", "pager", TARGET, code=4)
    refused = comfyfleet("notifications", "create-channel", "inside", "http://10.0.0.1/x", code=2)
    assert "COMFYFLEET_NOTIFICATION_NETWORKS" in refused
    assert "COMFYFLEET_SMTP_URL" in comfyfleet(
        "notifications", "create-channel", "mail", "ops@example.com", "--kind", "mail", code=2
    )
    listed = comfyfleet("notifications", "list-channels")
    assert "pager" in listed
    assert "T0KEN" not in listed + json.dumps(comfyfleet.json("notifications", "list-channels"))
    assert "A test goes to pager" in comfyfleet("notifications", "check-channel", "pager")
    [row] = comfyfleet.json("notifications", "list")
    assert (row["kind"], row["status"], row["channel"]) == ("test", "pending", "pager")
    assert "is off" in comfyfleet("notifications", "disable-channel", "pager")
    assert "dropped" in comfyfleet("notifications", "list")
    assert "is on" in comfyfleet("notifications", "enable-channel", "pager")
    assert comfyfleet.json("alerts", "list", "--state", "firing") == []
    assert "is deleted" in comfyfleet("notifications", "delete-channel", "pager")
    assert "There is no notification channel" in comfyfleet("notifications", "check-channel", "pager", code=3)
    done = [each["action"] for each in comfyfleet.json("audit-log", "list")]
    assert [each for each in reversed(done) if each.startswith("notification_channel")] == [
        f"notification_channel.{verb}" for verb in ("create", "test", "disable", "enable", "delete")
    ]
