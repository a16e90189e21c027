"""Jobs: what a user asked for. Only here a dispatch, a reservation and a request are one thing."""

from comfyfleet.jobs.create import create_job, create_jobs
from comfyfleet.jobs.lifecycle import JobEvent, JobStatus
from comfyfleet.jobs.model import Job, NewJob, Submission
from comfyfleet.jobs.read import get_job
from comfyfleet.jobs.relay import forget_sent, mark_sent, to_dispatch, unsent
from comfyfleet.jobs.retry import retry_job
from comfyfleet.jobs.sanitize import sanitize_worker_error
from comfyfleet.jobs.settle import apply_settlement, start_job

__all__ = [
    "Job",
    "JobEvent",
    "JobStatus",
    "NewJob",
    "Submission",
    "apply_settlement",
    "create_job",
    "create_jobs",
    "forget_sent",
    "get_job",
    "mark_sent",
    "retry_job",
    "sanitize_worker_error",
    "start_job",
    "to_dispatch",
    "unsent",
]
