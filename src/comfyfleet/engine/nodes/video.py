"""Films: load, take apart, put together."""

from fractions import Fraction

from comfyfleet.engine.film.model import Film, FilmFile, FilmFrames
from comfyfleet.engine.film.read import read_film
from comfyfleet.engine.folders import Folders
from comfyfleet.engine.node import Context, Inputs, Made, Node, Output, Spec
from comfyfleet.engine.nodes.frames import REPORTED_FROM
from comfyfleet.engine.nodes.loading import FileNode, uploaded_or_raise
from comfyfleet.engine.nodes.specs import choice, integer, real

EXTRAS_VIDEO = "comfy_extras.nodes_video"
VIDEO_SUFFIXES = (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ogv", ".ts", ".flv", ".wmv")


def frame_rate(fps: float) -> Fraction:
    return Fraction(round(fps * 1000), 1000)


def watch(context: Context, done: int, total: int) -> None:
    """A film's picture is done; the total is 0 where the container does not say."""
    context.check()
    if total >= REPORTED_FROM:
        context.step(min(done, total), total)


class LoadVideo(FileNode):
    display_name = "Load Video"
    category = "video"
    python_module = EXTRAS_VIDEO
    search_aliases = ("import video", "open video", "video file")
    newer_schema = True
    extra_facts = {"essentials_category": "Basics"}
    outputs = (Output("VIDEO"),)
    judged = ("file",)
    file_input, kind_of_file = "file", "video"

    @staticmethod
    def _files(folders: Folders) -> Spec:
        return choice(*folders.upload_names(VIDEO_SUFFIXES), video_upload=True)

    required = {"file": _files}

    def run(self, inputs: Inputs, context: Context) -> Made:
        return Made(FilmFile(uploaded_or_raise(context.folders, inputs["file"])))


class GetVideoComponents(Node):
    display_name = "Get Video Components"
    category = "video"
    description = "Extracts all components from a video: frames, audio, and framerate."
    python_module = EXTRAS_VIDEO
    search_aliases = ("extract frames", "split video", "video to images", "demux")
    newer_schema = True
    required = {"video": ("VIDEO", {"tooltip": "The video to extract components from."})}
    outputs = (Output("IMAGE", "images"), Output("AUDIO", "audio"), Output("FLOAT", "fps"), Output("INT", "bit_depth"))

    def run(self, inputs: Inputs, context: Context) -> Made:
        film: Film = inputs["video"]
        if isinstance(film, FilmFile):
            film = read_film(film, lambda done, total: watch(context, done, total))
        return Made(film.images, film.sound, float(film.fps), film.bit_depth)


class CreateVideo(Node):
    display_name = "Create Video"
    category = "video"
    description = "Create a video from images."
    python_module = EXTRAS_VIDEO
    search_aliases = ("images to video",)
    newer_schema = True
    extra_facts = {"essentials_category": "Video Tools"}
    required = {
        "images": ("IMAGE", {"tooltip": "The images to create a video from."}),
        "fps": real(30.0, 1.0, 120.0, 1.0),
    }
    optional = {
        "audio": ("AUDIO", {"tooltip": "The audio to add to the video."}),
        "bit_depth": integer(
            *(8, 8, 10, 2),
            display="number",
            tooltip="Bit depth of the created video. 10-bit keeps smoother gradients with less banding, but some "
            "players and downstream nodes may not support it.",
        ),
    }
    outputs = (Output("VIDEO"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        depth = inputs.get("bit_depth") or 8
        return Made(FilmFrames(inputs["images"], frame_rate(inputs["fps"]), inputs.get("audio"), depth))
