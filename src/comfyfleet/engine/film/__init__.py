"""Moving pictures and sound, by PyAV: no ffmpeg binary is needed."""
