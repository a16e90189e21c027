"""Bytes to the store, by the signed requests that the API gives for them: one, or one a part."""

from collections.abc import Callable
from dataclasses import dataclass

from comfyfleet.client.ask import Patience, ask, ask_for
from comfyfleet.client.events import Uploading
from comfyfleet.client.jobs import post
from comfyfleet.client.model import Announced, File, SignedRequest, Video
from comfyfleet.client.source import Piece, Source
from comfyfleet.client.steps import Call, Flow
from comfyfleet.kernel.errors import SignatureRefused

TellBytes = Callable[[Uploading], None]
# An object is created once: a second PUT of it is told that it is there.
ALREADY_THERE = 412
REFUSED = 403
# The server looks at the upload, after those that came before it.
LOOKED_AT_S = 120.0


def upload_video(source: Source, patience: Patience, tell: TellBytes, *, title: str | None = None) -> Flow[Video]:
    """As the primary input of jobs: looked at by the server, and given a poster."""
    announced = yield from _announce("/api/videos/uploads", source, patience)
    parts = yield from _Sending(source, announced, patience, tell).send()
    body = {"original_file_id": announced.file.id, "parts": parts, "title": title}
    return (yield from ask_for(post("/api/videos", body, idle_s=LOOKED_AT_S), Video, patience))


def upload_file(source: Source, patience: Patience, tell: TellBytes) -> Flow[File]:
    """For any other property that takes a picture or a film."""
    announced = yield from _announce("/api/files", source, patience)
    parts = yield from _Sending(source, announced, patience, tell).send()
    path = f"/api/files/{announced.file.id}/confirm"
    return (yield from ask_for(post(path, {"parts": parts}, idle_s=LOOKED_AT_S), File, patience))


def _announce(path: str, source: Source, patience: Patience) -> Flow[Announced]:
    body = {"name": source.name, "mime_type": source.media_type, "size": source.size_bytes}
    return ask_for(post(path, body), Announced, patience)


@dataclass
class _Sending:
    source: Source
    announced: Announced
    patience: Patience
    tell: TellBytes

    def send(self) -> Flow[list[dict[str, str | int]]]:
        """The parts, each with the ETag that it was answered with; none for an upload in one."""
        part_size = self.announced.upload.part_size
        if part_size is None:
            yield from self._put(0, 0, self.source.size_bytes)
            return []
        parts: list[dict[str, str | int]] = []
        for index in range(len(self.announced.upload.requests)):
            offset = index * part_size
            etag = yield from self._put(index, offset, min(part_size, self.source.size_bytes - offset))
            parts.append({"number": index + 1, "etag": etag})
        return parts

    def _put(self, index: int, offset: int, size_bytes: int) -> Flow[str]:
        piece = Piece(self.source, offset, size_bytes, on_sent=lambda sent: self._told(offset + sent))
        for _ in range(2):
            signed = self.announced.upload.requests[index]
            answer = yield from ask(_put_call(signed, piece), self.patience, also={REFUSED, ALREADY_THERE})
            if answer.status != REFUSED:
                return answer.headers.get("etag", "")
            # The signature may have run out on the way: a large file takes its time.
            path = f"/api/files/{self.announced.file.id}/upload"
            self.announced = yield from ask_for(post(path, {}), Announced, self.patience)
        raise SignatureRefused("The store refuses the upload. Has the file changed since, or a proxy its headers?")

    def _told(self, sent_bytes: int) -> None:
        self.tell(Uploading(self.source.name, sent_bytes, self.source.size_bytes))


def _put_call(signed: SignedRequest, piece: Piece) -> Call:
    headers = {**signed.headers, "Content-Length": str(piece.size_bytes)}
    return Call(signed.method, signed.url, headers=headers, body=piece, is_signed=True)
