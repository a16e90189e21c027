"""What the server says about itself: nodes, machine, features, weights (it has none)."""

import os
import sys
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from comfyfleet import __version__
from comfyfleet.engine.registry import describe
from comfyfleet.engine.routes.answers import body_as_json, empty, engine_of, json_answer, text

BODY_BYTES_MAX = 100 * 1024 * 1024
# The version whose behaviour this server shows.
SPOKEN_VERSION = "0.33.0"
FEATURES = {
    "supports_preview_metadata": True,
    "supports_model_type_tags": True,
    "max_upload_size": BODY_BYTES_MAX,
    "extension": {"manager": {"supports_v4": True}},
    "node_replacements": True,
    "assets": False,
}
WEIGHT_FOLDERS = (
    *("checkpoints", "configs", "loras", "vae", "text_encoders", "diffusion_models", "clip_vision", "style_models"),
    *("embeddings", "diffusers", "vae_approx", "controlnet", "gligen", "upscale_models", "latent_upscale_models"),
    *("custom_nodes", "datasets", "hypernetworks", "photomaker", "classifiers", "model_patches", "audio_encoders"),
    *("background_removal", "frame_interpolation", "geometry_estimation", "optical_flow", "detection"),
)


async def get_features(request: Request) -> Response:
    return json_answer(FEATURES)


async def get_object_info(request: Request) -> Response:
    engine = engine_of(request)
    return json_answer(engine.registry.describe_all(engine.folders))


async def get_one_object_info(request: Request) -> Response:
    engine = engine_of(request)
    node = engine.registry.find(request.path_params["node_class"])
    return json_answer({} if node is None else {node.name: describe(node, engine.folders)})


async def get_system_stats(request: Request) -> Response:
    total_bytes, free_bytes = memory_bytes()
    system = {
        "os": sys.platform,
        "ram_total": total_bytes,
        "ram_free": free_bytes,
        "comfyui_version": SPOKEN_VERSION,
        "required_frontend_version": None,
        "installed_templates_version": None,
        "required_templates_version": None,
        "comfy_package_versions": [],
        "python_version": sys.version,
        "pytorch_version": "",
        "embedded_python": False,
        "deploy_environment": f"comfyfleet-engine {__version__}",
        "argv": [f"comfyfleet {__version__}", "engine"],
    }
    device = {
        "name": "cpu",
        "type": "cpu",
        "index": None,
        "vram_total": total_bytes,
        "vram_free": free_bytes,
        "torch_vram_total": total_bytes,
        "torch_vram_free": free_bytes,
    }
    return json_answer({"system": system, "devices": [device]})


def memory_bytes() -> tuple[int, int]:
    page = os.sysconf("SC_PAGE_SIZE")
    return os.sysconf("SC_PHYS_PAGES") * page, os.sysconf("SC_AVPHYS_PAGES") * page


async def get_models(request: Request) -> Response:
    return json_answer(list(WEIGHT_FOLDERS))


async def get_models_of(request: Request) -> Response:
    return json_answer([]) if request.path_params["folder"] in WEIGHT_FOLDERS else empty(404)


async def get_nothing_listed(request: Request) -> Response:
    return json_answer([])


async def get_nothing_named(request: Request) -> Response:
    return json_answer({})


async def get_users(request: Request) -> Response:
    return json_answer({"storage": "server", "migrated": False})


async def no_assets(request: Request) -> Response:
    message = "Assets system is disabled. Start the server with --enable-assets to use this feature."
    error: dict[str, Any] = {"code": "SERVICE_DISABLED", "message": message, "details": {}}
    return json_answer({"error": error}, 503)


async def get_no_metadata(request: Request) -> Response:
    return empty(404)


async def get_no_userdata(request: Request) -> Response:
    return text("Directory not found", 404)


async def get_files(request: Request) -> Response:
    """Newest first, as the real one."""
    kind = request.path_params["directory_type"]
    folder = engine_of(request).folders.named(kind)
    if folder is None:
        return json_answer({"error": "Invalid directory type"}, 400)
    with os.scandir(folder) as entries:
        files = [entry for entry in entries if entry.is_file() and not entry.name.startswith(".")]
    files.sort(key=lambda entry: -entry.stat().st_mtime)
    return json_answer([f"{entry.name} [{kind}]" for entry in files])


async def get_folder_paths(request: Request) -> Response:
    return json_answer({name: [] for name in WEIGHT_FOLDERS})


async def patch_logs_subscription(request: Request) -> Response:
    """From now on the client's socket hears `logs` messages: what the engine says of each prompt."""
    said = await body_as_json(request)
    engine_of(request).hub.subscribe_log(str(said.get("clientId")), enabled=bool(said.get("enabled")))
    return empty()
