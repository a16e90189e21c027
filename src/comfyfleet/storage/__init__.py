"""Files and the objects behind them: announce, confirm, read, delete. Back ends are chosen by `bootstrap`."""

from comfyfleet.storage.announce import announce_upload, prepare_upload, read_unfinished, sign_upload
from comfyfleet.storage.collect import abandon_uploads, forget_files, keys_of, list_long_deleted
from comfyfleet.storage.confirm import assemble_upload, confirm_upload, made_file, record_made
from comfyfleet.storage.lifecycle import FileStatus
from comfyfleet.storage.model import (
    Announced,
    File,
    MadeFile,
    NewUpload,
    ObjectKey,
    ObjectStore,
    PartsUpload,
    SignedRequest,
    SingleUpload,
    StoredObject,
    UploadedPart,
    object_key,
)
from comfyfleet.storage.quota import read_usage
from comfyfleet.storage.read import list_files, read_file, read_files, sign_download
from comfyfleet.storage.receive import expect_stream, note_size, receive_stream
from comfyfleet.storage.remove import delete_file, delete_files, drop_files, erase_object
from comfyfleet.storage.thumbs import has_thumb, may_have_thumb, read_thumb

__all__ = [
    "Announced",
    "File",
    "FileStatus",
    "MadeFile",
    "NewUpload",
    "ObjectKey",
    "ObjectStore",
    "PartsUpload",
    "SignedRequest",
    "SingleUpload",
    "StoredObject",
    "UploadedPart",
    "abandon_uploads",
    "announce_upload",
    "assemble_upload",
    "confirm_upload",
    "delete_file",
    "delete_files",
    "drop_files",
    "erase_object",
    "expect_stream",
    "forget_files",
    "has_thumb",
    "keys_of",
    "list_files",
    "list_long_deleted",
    "made_file",
    "may_have_thumb",
    "note_size",
    "object_key",
    "prepare_upload",
    "read_file",
    "read_files",
    "read_thumb",
    "read_unfinished",
    "read_usage",
    "receive_stream",
    "record_made",
    "sign_download",
    "sign_upload",
]
