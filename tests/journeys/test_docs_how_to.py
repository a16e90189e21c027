"""The how-tos are run: what they show is typed in order, in one home, and what they promise must be printed.

A page needs what its reader brings along: files, and others who act meanwhile. That is its `Stage`.
"""

import json
import shutil
from collections.abc import Iterator

import pytest

from tests.journeys.docs_reader import Reader, Stage, reader

SHOP_SECRET = "whsec_c29tZSBzZWNyZXQgdGhhdCBvbmx5IHRlc3RzIGtub3c="
DRAW = """cat > face-swap.json <<'END'
{"1": {"class_type": "EmptyImage", "inputs": {"width": 64, "height": 64, "batch_size": 1, "color": 7}},
 "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "draw"}}}
END
"""
# A graph as the editor saves it.
EDITOR = """cat > workflow.json <<'END'
{"nodes": [
  {"id": 1, "type": "EmptyImage", "mode": 0, "order": 0, "inputs": [], "properties": {},
   "outputs": [{"name": "IMAGE", "type": "IMAGE", "links": [1]}], "widgets_values": [64, 64, 1, 7]},
  {"id": 2, "type": "SaveImage", "mode": 0, "order": 1, "outputs": [], "properties": {},
   "inputs": [{"name": "images", "type": "IMAGE", "link": 1}], "widgets_values": ["draw"]}],
 "links": [[1, 1, 0, 2, 0, "IMAGE"]], "version": 0.4}
END
"""
# Two machines of the fleet, one of them with two jobs; and a third that has left.
WORKERS = """
at() { curl -s http://127.0.0.1:8700/api/worker/$1 -H "Authorization: Bearer $2" -d "$3"; }
enter() { curl -s http://127.0.0.1:8700/api/worker/register -H "X-Fleet-Secret: $SECRET" \
  -d '{"worker_id": "'$1'", "fleet_slug": "video", "stage": "production"}' | jq -r .token; }
SECRET=$(comfyfleet fleet-secrets create stage --fleet video/production --json | jq -r .secret)
GONE=$(enter gpu-7); at deregister $GONE '{"worker_id": "gpu-7"}'
"""
WORK = """
comfyfleet tenants create acme; comfyfleet users create ada@acme.test --tenant acme --role admin
comfyfleet wallets credit ada@acme.test 100 --id stage
comfyfleet dispatches create --tenant acme --workflow face-swap --count 3 --cost 1
ONE=$(enter gpu-1); TWO=$(enter gpu-2)
for each in 1 2; do
  at poll $TWO '{"worker_id": "gpu-2", "wait_seconds": 5, "poll_id": "poll-'$each'"}' > got.json
  job=$(jq -c '{worker_id: "gpu-2", dispatch_id: .job.dispatch_id, lease_token: .job.lease_token}' got.json)
  at heartbeat $TWO "$job"
done
"""
SHOP = """comfyfleet tenants create shop; comfyfleet users create ada@shop.test --tenant shop
"""
BOAT = """cat > boat.json <<'END'
{"1": {"class_type": "LoadImage", "inputs": {"image": "boat.png"}},
 "3": {"class_type": "FleetRepaint",
       "inputs": {"image": ["1", 0], "prompt": "a {{colour}} boat", "seed": 7, "steps": 20, "strength": 0.5}},
 "4": {"class_type": "SaveImage", "inputs": {"images": ["3", 0], "filename_prefix": "boat"}}}
END
cp boat.json better.json; cp docs/pictures/demo.webp boat.webp
"""
STAGES = {
    "credit-from-a-shop": Stage(
        first=f"{SHOP}export SHOP_SECRET={SHOP_SECRET}",
        instead={"--tenant acme": "--tenant shop", '"tenant": "acme"': '"tenant": "shop"'},
    ),
    "embed-the-pool": Stage(),
    "prepare-a-workflow": Stage(first=EDITOR),
    "receive-webhooks": Stage(
        first="KEY=$(comfyfleet keys create demo@localhost --name stage --scope manage --json | jq -r .secret)"
    ),
    "register-a-workflow": Stage(first=BOAT),
    "run-a-fleet": Stage(
        first=DRAW,
        before={"comfyfleet workers forget gpu-7": WORKERS, "comfyfleet workers list": WORK},
    ),
    "run-a-job-by-http": Stage(
        first="""python3 -c "from PIL import Image
Image.open('docs/pictures/demo.webp').resize((320, 240)).save('clip.png')"
"""
    ),
    "run-one-workflow": Stage(),
    "simulate-a-fleet": Stage(
        instead={
            "--workers 200 --jobs 20000": "--workers 4 --jobs 40 --tenants 2 --seconds 0.05",
            "20000 of 20000": "40 of 40",
            "with 200 workers": "with 4 workers",
        }
    ),
}
pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.flaky(reruns=0),
    pytest.mark.skipif(not all(map(shutil.which, ("bash", "curl", "jq"))), reason="NO BASH, CURL OR JQ"),
]


@pytest.fixture(scope="module")
def at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    settings = {"PAYMENT_WEBHOOK_SECRETS": json.dumps([SHOP_SECRET])}
    with reader(tmp_path_factory.mktemp("reader"), **settings) as found:
        yield found


@pytest.mark.parametrize("page", STAGES)
def test_who_follows_a_how_to_gets_what_it_shows(at_home: Reader, page: str) -> None:
    wrong = at_home.follow(f"docs/how-to/{page}.md", STAGES[page])
    assert not wrong, "\n\n".join(wrong)
