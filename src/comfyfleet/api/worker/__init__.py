"""What workers call. Its routes come with the dispatch queue; its prefix is taken from the first day."""

from fastapi import APIRouter


def worker_router() -> APIRouter:
    return APIRouter(prefix="/api/worker", tags=["worker"])
