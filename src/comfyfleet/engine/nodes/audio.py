"""Sound: from nothing, from files, to files."""

import numpy as np

from comfyfleet.engine.film.model import FilmFile, Sound, UnreadableFilm
from comfyfleet.engine.film.read import film_sound
from comfyfleet.engine.film.write import write_sound
from comfyfleet.engine.folders import Folders
from comfyfleet.engine.node import Context, Inputs, Made, Node, Output, Spec
from comfyfleet.engine.nodes.loading import FileNode, uploaded_or_raise
from comfyfleet.engine.nodes.saving import metadata, place_for, saved, temp_prefix
from comfyfleet.engine.nodes.specs import AUDIO, METADATA, SEED_MAX, choice, integer, real, text
from comfyfleet.engine.nodes.video import VIDEO_SUFFIXES
from comfyfleet.engine.pixels.bounds import FLOAT_BYTES, LARGEST_BATCH_BYTES

EXTRAS_AUDIO = "comfy_extras.nodes_audio"
SOUND_SUFFIXES = (".mp3", ".flac", ".wav", ".ogg", ".opus", ".m4a", ".aac", *VIDEO_SUFFIXES)


class SoundNode(Node):
    category = "audio"
    python_module = EXTRAS_AUDIO
    newer_schema = True


class EmptyAudio(SoundNode):
    display_name = "Empty Audio"
    search_aliases = ("blank audio",)
    required = {
        "duration": real(60.0, 0.0, float(SEED_MAX), 0.1, tooltip="Duration of the empty audio clip in seconds"),
        "sample_rate": integer(44100, 1, 192000, tooltip="Sample rate of the empty audio clip."),
        "channels": integer(2, 1, 2, tooltip="Number of audio channels (1 for mono, 2 for stereo)."),
    }
    outputs = (Output("AUDIO"),)

    def run(self, inputs: Inputs, context: Context) -> Made:
        samples = round(inputs["duration"] * inputs["sample_rate"])
        if samples * inputs["channels"] * FLOAT_BYTES > LARGEST_BATCH_BYTES:
            raise RuntimeError(f"can't allocate memory for {inputs['duration']} seconds of sound")
        silence = np.zeros((1, inputs["channels"], samples), dtype=np.float32)
        return Made(Sound(silence, inputs["sample_rate"]))


class LoadAudio(FileNode):
    display_name = "Load Audio"
    category = "audio"
    python_module = EXTRAS_AUDIO
    newer_schema = True
    search_aliases = ("import audio", "open audio", "audio file")
    extra_facts = {"essentials_category": "Audio"}
    outputs = (Output("AUDIO"),)
    judged = ("audio",)
    file_input, kind_of_file = "audio", "audio"

    @staticmethod
    def _files(folders: Folders) -> Spec:
        return choice(*folders.upload_names(SOUND_SUFFIXES), audio_upload=True)

    required = {"audio": _files}

    def run(self, inputs: Inputs, context: Context) -> Made:
        path = uploaded_or_raise(context.folders, inputs["audio"])
        sound = film_sound(FilmFile(path))
        if sound is None:
            raise UnreadableFilm(path, "it has no sound")
        return Made(sound)


class SavingNode(SoundNode):
    """One file for each sound of the batch; the counter stands without ComfyUI's last underscore."""

    hidden = METADATA
    output_node = True
    codec = "flac"
    kind = "output"

    def run(self, inputs: Inputs, context: Context) -> Made:
        sound: Sound = inputs["audio"]
        prefix = inputs["filename_prefix"] if self.kind == "output" else temp_prefix()
        place = place_for(context, prefix, kind=self.kind)
        files = []
        for number, waveform in enumerate(sound.waveform):
            context.check()
            name = f"{place.stem}_{place.counter + number:05}.{self.codec}"
            write_sound(
                place.folder / name,
                Sound(waveform[None], sound.sample_rate_hz),
                self.codec,
                quality=inputs.get("quality", ""),
                metadata=metadata(context),
            )
            files.append(saved(place, name, self.kind))
        return Made(*([sound] if self.outputs else []), ui={"audio": files})


class SaveAudio(SavingNode):
    display_name = "Save Audio (FLAC) (DEPRECATED)"
    search_aliases = ("export flac",)
    extra_facts = {"deprecated": True, "essentials_category": "Audio"}
    required = {"audio": AUDIO, "filename_prefix": text("audio/ComfyUI")}
    outputs = (Output("AUDIO", "audio"),)


class SaveAudioMP3(SavingNode):
    display_name = "Save Audio (MP3)"
    search_aliases = ("export mp3",)
    required = {
        "audio": AUDIO,
        "filename_prefix": text("audio/ComfyUI"),
        "quality": choice("V0", "128k", "320k", default="V0"),
    }
    codec = "mp3"


class SaveAudioOpus(SavingNode):
    display_name = "Save Audio (Opus)"
    search_aliases = ("export opus",)
    required = {
        "audio": AUDIO,
        "filename_prefix": text("audio/ComfyUI"),
        "quality": choice("64k", "96k", "128k", "192k", "320k", default="128k"),
    }
    codec = "opus"


class PreviewAudio(SavingNode):
    display_name = "Preview Audio"
    search_aliases = ("play audio",)
    required = {"audio": AUDIO}
    kind = "temp"
