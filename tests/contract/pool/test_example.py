import re

import pytest
from examples import pool_failover


async def test_the_example_shows_what_it_promises(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_failover, "COOLDOWN_S", 1.5)
    await pool_failover.main()
    said = re.findall(r"^ *[\d.]+ s +(.*)$", capsys.readouterr().out, re.MULTILINE)
    assert re.match(r"broken is kept from workflow \w{8} \(execution_error\)", said[0])
    assert said[1] == "a job failed on broken and goes elsewhere"
    drawings, painting, back, drawing = said[-4:]
    assert "broken" not in drawings
    assert painting == "a painting, made by broken → paint_00001_.png"
    assert re.match(r"broken may run workflow \w{8} again \(expired\)", back)
    assert drawing == "a drawing, made by broken"
