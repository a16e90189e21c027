"""Files and the objects behind them: announce, confirm, read, delete. Back ends are chosen by `bootstrap`."""

from comfyfleet.storage.announce import announce_upload, prepare_upload, read_unfinished, sign_upload
from comfyfleet.storage.confirm import assemble_upload, confirm_upload
from comfyfleet.storage.lifecycle import FileStatus
from comfyfleet.storage.model import (
    Announced,
    File,
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
from comfyfleet.storage.read import list_files, read_file, sign_download
from comfyfleet.storage.remove import delete_file, erase_object

__all__ = [
    "Announced",
    "File",
    "FileStatus",
    "NewUpload",
    "ObjectKey",
    "ObjectStore",
    "PartsUpload",
    "SignedRequest",
    "SingleUpload",
    "StoredObject",
    "UploadedPart",
    "announce_upload",
    "assemble_upload",
    "confirm_upload",
    "delete_file",
    "erase_object",
    "list_files",
    "object_key",
    "prepare_upload",
    "read_file",
    "read_unfinished",
    "sign_download",
    "sign_upload",
]
