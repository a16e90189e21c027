"""Which texts of a graph name a model file, and which inputs name a file of the server that is not a model."""

from comfyfleet.comfy.graph.definitions import UPLOADS, InputDefinition

MODEL_SUFFIXES = (
    ".safetensors",
    ".sft",
    ".ckpt",
    ".pt",
    ".pt2",
    ".pth",
    ".pkl",
    ".gguf",
    ".bin",
    ".onnx",
    ".engine",
    ".torchscript",
)
FILE_NAME_CHARS_MAX = 1_024

# By the last three characters most texts are told from a file name without a second look.
TAILS = frozenset(cased[-3:] for each in MODEL_SUFFIXES for cased in (each, each.upper()))

# Inputs that name a model whatever their value looks like: a folder of diffusers, a name without a suffix.
MODEL_INPUTS = {
    "ckpt_name": "checkpoints",
    "clip_name": "text_encoders",
    "clip_name1": "text_encoders",
    "clip_name2": "text_encoders",
    "clip_name3": "text_encoders",
    "clip_name4": "text_encoders",
    "control_net_name": "controlnet",
    "gligen_name": "gligen",
    "hypernetwork_name": "hypernetworks",
    "lora_name": "loras",
    "photomaker_model_name": "photomaker",
    "style_model_name": "style_models",
    "unet_name": "diffusion_models",
    "vae_name": "vae",
}
# Inputs that never do: what people write, what they upload, what a sampler is told.
OTHER_INPUTS = [
    *("audio", "file", "image", "mask", "video"),
    *("filename_prefix", "negative", "negative_prompt", "positive", "prompt", "string", "text", "text_g", "text_l"),
    *("sampler_name", "scheduler", "upscale_method", "weight_dtype"),
]
VERDICTS = dict.fromkeys(MODEL_INPUTS, True) | dict.fromkeys(OTHER_INPUTS, False)


def names_model_file(name: str, value: str) -> bool:
    verdict = VERDICTS.get(name)
    return has_model_suffix(value) if verdict is None else verdict


def has_model_suffix(value: str) -> bool:
    return len(value) <= FILE_NAME_CHARS_MAX and "\n" not in value and value.lower().endswith(MODEL_SUFFIXES)


# Core nodes that read a file by its name. Some hold names inside an object, so all of their texts count.
FILE_CLASSES = frozenset(
    [
        *("LoadImage", "LoadImageMask", "LoadImageOutput", "LoadAudio", "LoadVideo", "LoadLatent"),
        *("Load3D", "Load3DAdvanced", "Load3DAnimation", "Painter", "WebcamCapture"),
        *("LoadImageDataSetFromFolder", "LoadImageTextDataSetFromFolder", "LoadTrainingDataset"),
        *("LoadVideoDataSetFromFolder", "LoadVideoTextDataSetFromFolder"),
    ]
)
# Of other nodes that load something: what their authors call a file or a folder.
FILE_NAMES = frozenset(
    [
        *("audio", "audio_file", "directory", "file", "file_name", "file_path", "filename", "folder", "folder_path"),
        *("image", "image_file", "image_path", "latent", "mask", "model_file", "path", "video", "video_file"),
        "video_path",
    ]
)
LISTED_FILES = "/internal/files/"


def names_server_file(class_type: str, name: str, definition: InputDefinition | None = None) -> bool:
    """Whether the server opens a file by what this input holds. Without a definition it is known by its name."""
    if definition is not None and _takes_file(definition):
        return True
    return class_type in FILE_CLASSES or ("load" in class_type.lower() and name in FILE_NAMES)


def _takes_file(definition: InputDefinition) -> bool:
    remote = definition.options.get("remote")
    route = remote.get("route", "") if isinstance(remote, dict) else ""
    flags = (*UPLOADS, "file_upload")
    return any(definition.options.get(each) is True for each in flags) or str(route).startswith(LISTED_FILES)
