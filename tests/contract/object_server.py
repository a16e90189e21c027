"""The routes of a local store in a process of their own: `python object_server.py FOLDER KEY PORT`."""

import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.middleware.body_limit import RequestBodyLimitMiddleware

from comfyfleet.api.errors import install_error_handlers
from comfyfleet.api.objects import objects_router
from comfyfleet.kernel.secret import Secret
from comfyfleet.storage.backends.local import LocalStore

JSON_BYTES_MAX = 64 * 1024


def build_app(folder: Path, signing_key: Secret) -> FastAPI:
    app = FastAPI()
    app.include_router(objects_router(LocalStore(folder, signing_key)))
    install_error_handlers(app)
    # As in the whole application: uploads must not be held to the limit for JSON.
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=JSON_BYTES_MAX)
    return app


if __name__ == "__main__":
    folder, key, port = sys.argv[1:]
    uvicorn.run(build_app(Path(folder), Secret(key)), host="127.0.0.1", port=int(port), log_level="warning")
