"""Jobs: what a user asked for. Only here a dispatch, a reservation and a request are one thing."""

from comfyfleet.jobs.cancel import request_cancel, request_cancels, unheard_cancels
from comfyfleet.jobs.collect import Leftovers, erase_leftovers, list_leftovers, mark_collected
from comfyfleet.jobs.count import count_ended, count_new
from comfyfleet.jobs.create import create_job, create_jobs
from comfyfleet.jobs.expire import drop_loose, expire_jobs, list_loose, list_taken, list_told
from comfyfleet.jobs.lifecycle import JOB, JobEvent, JobStatus
from comfyfleet.jobs.model import Job, JobFile, JobRules, NewJob, Submission
from comfyfleet.jobs.order import Order, Wish, digest_request, open_input, prepare_order
from comfyfleet.jobs.place import Placed, find_ordered, place_order
from comfyfleet.jobs.read import (
    effects_of,
    get_job,
    list_jobs,
    list_outputs,
    read_job,
    read_payload,
    read_whole,
    require_unused,
)
from comfyfleet.jobs.relay import begin_traces, forget_sent, mark_sent, to_dispatch, traceparents_of, unsent
from comfyfleet.jobs.remove import delete_job
from comfyfleet.jobs.retry import find_retried, retry_job, retry_order
from comfyfleet.jobs.sanitize import sanitize_worker_error
from comfyfleet.jobs.settle import Ended, Owner, apply_settlement, read_owners, start_job

__all__ = [
    "JOB",
    "Ended",
    "Job",
    "JobEvent",
    "JobFile",
    "JobRules",
    "JobStatus",
    "Leftovers",
    "NewJob",
    "Order",
    "Owner",
    "Placed",
    "Submission",
    "Wish",
    "apply_settlement",
    "begin_traces",
    "count_ended",
    "count_new",
    "create_job",
    "create_jobs",
    "delete_job",
    "digest_request",
    "drop_loose",
    "effects_of",
    "erase_leftovers",
    "expire_jobs",
    "find_ordered",
    "find_retried",
    "forget_sent",
    "get_job",
    "list_jobs",
    "list_leftovers",
    "list_loose",
    "list_outputs",
    "list_taken",
    "list_told",
    "mark_collected",
    "mark_sent",
    "open_input",
    "place_order",
    "prepare_order",
    "read_job",
    "read_owners",
    "read_payload",
    "read_whole",
    "request_cancel",
    "request_cancels",
    "require_unused",
    "retry_job",
    "retry_order",
    "sanitize_worker_error",
    "start_job",
    "to_dispatch",
    "traceparents_of",
    "unheard_cancels",
    "unsent",
]
