"""Films to files: copied where they can be, else encoded frame by frame."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comfyfleet.engine.film.model import Film, FilmFile, FilmFrames
from comfyfleet.engine.film.read import FilmFacts, film_facts, film_frames, film_sound
from comfyfleet.engine.film.write import Encoding, copy_film, write_film
from comfyfleet.engine.node import Context, Inputs, Made, Node, Output, Spec
from comfyfleet.engine.nodes.frames import watched
from comfyfleet.engine.nodes.saving import PREFIX_HINT, metadata, place_for, place_for_pictures, saved
from comfyfleet.engine.nodes.specs import METADATA, choice, real, text
from comfyfleet.engine.nodes.video import EXTRAS_VIDEO, frame_rate, watch
from comfyfleet.engine.pixels.convert import Bytes, Floats, to_bytes

DYNAMIC = "COMFY_DYNAMICCOMBO_V3"
WEBM_CODECS = ("vp8", "vp9", "av1")


def _option(key: str, optional: dict[str, Any] | None = None, **required: Any) -> dict[str, Any]:
    inputs: dict[str, Any] = {"required": required}
    return {"key": key, "inputs": inputs if optional is None else inputs | {"optional": optional}}


def _encoding(label: str, crf: float, worst_crf: float) -> Spec:
    quality = real(crf, 0.0, worst_crf, 1.0, tooltip="Lower values produce higher quality and larger files.")
    colors = choice(
        *("auto", "sRGB", "HDR", "HDR PQ"),
        default="auto",
        display_name="color space",
        tooltip="Auto uses sRGB for videos created from images and preserves recognized colors on loaded videos. "
        "sRGB writes SDR BT.709/sRGB. HDR writes 10-bit BT.2020/HLG; HDR PQ writes BT.2020/PQ. Other input pixels "
        "must already use the selected color space.",
    )
    tooltip = f"Automatic preserves compatible {label} streams. Re-encode applies custom encoding options."
    options = [_option("auto"), _option("re-encode", crf=quality, color_space=colors)]
    return (DYNAMIC, {"display_name": "encoding mode", "tooltip": tooltip, "options": options})


def _codec(*codecs: str, **more: Any) -> Spec:
    known = {
        "auto": _option("auto"),
        "h264": _option("h264", {"encoding": _encoding("H.264", 23.0, 51.0)}),
        "av1": _option("av1", {"encoding": _encoding("AV1", 30.0, 63.0)}),
    }
    tooltip = (
        "The output video codec. Auto preserves a compatible source stream. H.264 and AV1 re-encoding support SDR, "
        "HDR (HLG), and HDR PQ."
    )
    return (DYNAMIC, {"tooltip": tooltip, "options": [known[codec] for codec in codecs], **more})


class SaveVideo(Node):
    display_name = "Save Video"
    category = "video"
    description = "Saves the input videos to your ComfyUI output directory."
    python_module = EXTRAS_VIDEO
    search_aliases = ("export video",)
    newer_schema = True
    extra_facts = {"essentials_category": "Basics"}
    required = {
        "video": ("VIDEO", {"tooltip": "The video to save."}),
        "filename_prefix": text("video/ComfyUI", tooltip=PREFIX_HINT),
        "format": (
            DYNAMIC,
            {
                "tooltip": "The output container. Auto preserves the source container when possible; MP4, MKV, and "
                "WebM select a specific container.",
                "options": [
                    _option("auto", codec=_codec("auto", "h264", "av1")),
                    _option("mp4", codec=_codec("auto", "h264", "av1")),
                    _option("mkv", codec=_codec("auto", "h264", "av1")),
                    _option("webm", codec=_codec("auto", "av1")),
                ],
            },
        ),
    }
    optional = {"codec": _codec("auto", "h264", "av1", hidden=True)}
    hidden = METADATA
    outputs = (Output("VIDEO", "video", tooltip="The input video, unchanged."),)
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        film: Film = inputs["video"]
        wanted = _Wanted.of(inputs)
        facts = film_facts(film)
        container = wanted.container_for(facts)
        place = place_for(context, inputs["filename_prefix"], facts.width_px, facts.height_px)
        name = place.name(container)
        if isinstance(film, FilmFile) and wanted.allows_copy(facts, container):
            copy_film(film, place.folder / name, container, metadata(context))
        else:
            _encode(film, facts, context, place.folder / name, wanted.encoding_for(facts, container))
        return Made(film, ui={"images": [saved(place, name)], "animated": [True]})


@dataclass(frozen=True, slots=True)
class _Wanted:
    container: str
    codec: str
    crf: float | None

    @classmethod
    def of(cls, inputs: Inputs) -> "_Wanted":
        """The choices inside a choice come with dots in their names; older graphs have `codec` beside `format`."""
        codec = inputs.get("format.codec") or inputs.get("codec") or "auto"
        prefix = "format.codec.encoding" if "format.codec" in inputs else "codec.encoding"
        crf = inputs.get(f"{prefix}.crf") if inputs.get(prefix) == "re-encode" else None
        return cls(str(inputs["format"]), str(codec), None if crf is None else float(crf))

    def container_for(self, facts: FilmFacts) -> str:
        if self.container != "auto":
            return self.container
        if not facts.codec or self.codec not in ("auto", facts.codec):
            return "webm" if self.codec == "av1" else "mp4"
        if "matroska" in facts.container:
            return "webm" if facts.codec in WEBM_CODECS else "mkv"
        return "mp4"

    def allows_copy(self, facts: FilmFacts, container: str) -> bool:
        if self.crf is not None or self.codec not in ("auto", facts.codec):
            return False
        if container == "webm":
            return facts.codec in WEBM_CODECS
        return container == "mkv" or facts.codec in ("h264", "hevc", "av1", "mpeg4")

    def encoding_for(self, facts: FilmFacts, container: str) -> Encoding:
        codec = "av1" if self.codec == "av1" or container == "webm" else "h264"
        return Encoding(container, codec, facts.fps, self.crf, facts.bit_depth)


class SaveWEBM(Node):
    display_name = "Save WEBM"
    category = "video"
    python_module = EXTRAS_VIDEO
    search_aliases = ("export webm",)
    newer_schema = True
    extra_facts = {"experimental": True}
    required = {
        "images": (
            "IMAGE",
            {"tooltip": "RGBA images are saved with their alpha channel as transparency (vp9 codec only)."},
        ),
        "filename_prefix": text("ComfyUI"),
        "codec": choice("vp9", "av1"),
        "fps": real(24.0, 0.01, 1000.0, 0.01),
        "crf": real(
            *(32.0, 0, 63.0, 1),
            tooltip="Higher crf means lower quality with a smaller file size, lower crf means higher quality higher "
            "filesize.",
        ),
    }
    hidden = METADATA
    outputs = (Output("IMAGE", "images"),)
    output_node = True

    def run(self, inputs: Inputs, context: Context) -> Made:
        images, codec = inputs["images"], inputs["codec"]
        place = place_for_pictures(context, images, inputs["filename_prefix"])
        name = place.name("webm")
        alpha = images.shape[-1] == 4 and codec == "vp9"
        encoding = Encoding("webm", codec, frame_rate(inputs["fps"]), inputs["crf"], with_alpha=alpha)
        shown = images[..., : 4 if alpha else 3]
        write_film(place.folder / name, _drawn(shown, context), encoding, metadata=metadata(context))
        return Made(images, ui={"images": [saved(place, name)], "animated": [True]})


def _encode(film: Film, facts: FilmFacts, context: Context, path: Path, encoding: Encoding) -> None:
    if isinstance(film, FilmFrames):
        frames, sound = _drawn(film.images[..., :3], context), film.sound
    else:
        frames, sound = _decoded(film, facts.frames, context), film_sound(film)
    write_film(path, frames, encoding, sound=sound, metadata=metadata(context))


def _drawn(images: Floats, context: Context) -> Iterator[Bytes]:
    for frame in watched(images, context):
        yield to_bytes(frame)


def _decoded(film: FilmFile, total: int, context: Context) -> Iterator[Bytes]:
    for done, pixels in enumerate(film_frames(film), start=1):
        watch(context, done, total)
        yield pixels
