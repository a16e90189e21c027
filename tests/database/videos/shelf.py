"""Videos without anybody looking at their bytes: what the verbs do with them is the point."""

from dataclasses import replace

from comfyfleet import storage, videos
from comfyfleet.house import House
from comfyfleet.kernel.ids import FileId, JobId, VideoId, new_id
from comfyfleet.storage import File
from comfyfleet.videos import NewVideo, Video
from tests.builders import Member


async def a_written_upload(house: House, member: Member, name: str = "clip.mp4", media_type: str = "video/mp4") -> File:
    """Announced, and its bytes in the store; not yet confirmed."""
    upload = await storage.prepare_upload(
        house.store, member.tenant.id, name=name, media_type=media_type, size_bytes=len(name)
    )
    async with house.tenant_tx(member.tenant) as tx:
        file = await storage.announce_upload(tx, upload, user_id=member.user.id)
    await house.store.write(file.key, name.encode(), media_type=media_type)
    return file


async def a_new_video(house: House, member: Member, *, media_type: str = "video/mp4", title: str = "clip") -> NewVideo:
    original = await a_written_upload(house, member, media_type=media_type)
    poster = await a_written_upload(house, member, "poster.webp", "image/webp")
    return NewVideo(
        user_id=member.user.id,
        title=title,
        original_file_id=original.id,
        poster_file_id=poster.id,
        media_type=media_type,
        width=64,
        height=48,
        duration_s=1.5 if media_type.startswith("video/") else None,
    )


async def create(house: House, member: Member, new: NewVideo) -> Video:
    async with house.tenant_tx(member.tenant) as tx:
        return await videos.create_video(tx, new)


async def a_video(house: House, member: Member, *, media_type: str = "video/mp4", title: str = "clip") -> Video:
    return await create(house, member, await a_new_video(house, member, media_type=media_type, title=title))


async def start(house: House, member: Member, video_id: VideoId, job_id: JobId | None = None) -> JobId:
    job_id = job_id or JobId(new_id())
    async with house.tenant_tx(member.tenant) as tx:
        await videos.start_processing(tx, video_id, member.user.id, job_id=job_id)
    return job_id


async def an_output(house: House, member: Member) -> FileId:
    file = await a_written_upload(house, member, "output.mp4")
    async with house.tenant_tx(member.tenant) as tx:
        return (await storage.confirm_upload(tx, file.id, member.user.id)).id


async def complete(house: House, member: Member, video_id: VideoId, job_id: JobId, file_id: FileId) -> Video | None:
    async with house.tenant_tx(member.tenant) as tx:
        return await videos.complete_video(tx, video_id, file_id, job_id=job_id, media_type="video/mp4")


async def fail(house: House, member: Member, video_id: VideoId, job_id: JobId, error: str) -> Video | None:
    async with house.tenant_tx(member.tenant) as tx:
        return await videos.fail_video(tx, video_id, error, job_id=job_id)


async def read(house: House, member: Member, video_id: VideoId) -> Video:
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        return await videos.read_video(tx, video_id, member.user.id)


async def file_statuses(house: House, member: Member, video: Video) -> dict[FileId, str]:
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        return {
            file.id: file.status for file in (await storage.read_files(tx, video.file_ids, member.user.id)).values()
        }


def same_upload(new: NewVideo, poster: File) -> NewVideo:
    return replace(new, poster_file_id=poster.id)
