"""Pipelines: runs that make candidates, let people rank them, and refine the best, until somebody has to decide."""

from comfyfleet.pipelines.advance import Advanced, advance_runs, go_on
from comfyfleet.pipelines.apply import apply_pipeline, archive_pipeline
from comfyfleet.pipelines.control import MoreBudget, pause_run, raise_budget, resume_run, stop_run
from comfyfleet.pipelines.create import create_run
from comfyfleet.pipelines.due import DueRun, list_due
from comfyfleet.pipelines.fit import check_run, require_effects
from comfyfleet.pipelines.gates import approve_by_scorer, approve_step, record_scores, reopen_step
from comfyfleet.pipelines.lifecycle import CANDIDATE, ENDED, RUN, CandidateStatus, RunStatus
from comfyfleet.pipelines.model import (
    Approval,
    Candidate,
    NewPipeline,
    NewRun,
    Pipeline,
    Run,
    RunJob,
    RunJobState,
    RunStep,
    Step,
    Vote,
)
from comfyfleet.pipelines.read import (
    find_pipeline,
    list_pipelines,
    list_run_jobs,
    list_runs,
    read_pipeline,
    read_pipelines,
    read_run,
    read_run_of_house,
    read_steps,
)
from comfyfleet.pipelines.recipe import Recipe, Recipes
from comfyfleet.pipelines.result import Applied, apply_settlement, apply_settlements
from comfyfleet.pipelines.retry import retry_run_job
from comfyfleet.pipelines.rules import RunRules
from comfyfleet.pipelines.spec import parse_pipeline
from comfyfleet.pipelines.tree.making import Making, name_candidates, read_making
from comfyfleet.pipelines.tree.read import (
    Leaf,
    list_candidates,
    list_pictures,
    list_tree,
    list_votes,
    rank_candidates,
    read_candidate,
)
from comfyfleet.pipelines.tree.reject import reject_candidate
from comfyfleet.pipelines.tree.vote import cast_vote, next_pair
from comfyfleet.pipelines.unavailable import UNAVAILABLE, PausedRun, list_unavailable, resume_available

__all__ = [
    "CANDIDATE",
    "ENDED",
    "RUN",
    "UNAVAILABLE",
    "Advanced",
    "Applied",
    "Approval",
    "Candidate",
    "CandidateStatus",
    "DueRun",
    "Leaf",
    "Making",
    "MoreBudget",
    "NewPipeline",
    "NewRun",
    "PausedRun",
    "Pipeline",
    "Recipe",
    "Recipes",
    "Run",
    "RunJob",
    "RunJobState",
    "RunRules",
    "RunStatus",
    "RunStep",
    "Step",
    "Vote",
    "advance_runs",
    "apply_pipeline",
    "apply_settlement",
    "apply_settlements",
    "approve_by_scorer",
    "approve_step",
    "archive_pipeline",
    "cast_vote",
    "check_run",
    "create_run",
    "find_pipeline",
    "go_on",
    "list_candidates",
    "list_due",
    "list_pictures",
    "list_pipelines",
    "list_run_jobs",
    "list_runs",
    "list_tree",
    "list_unavailable",
    "list_votes",
    "name_candidates",
    "next_pair",
    "parse_pipeline",
    "pause_run",
    "raise_budget",
    "rank_candidates",
    "read_candidate",
    "read_making",
    "read_pipeline",
    "read_pipelines",
    "read_run",
    "read_run_of_house",
    "read_steps",
    "record_scores",
    "reject_candidate",
    "reopen_step",
    "require_effects",
    "resume_available",
    "resume_run",
    "retry_run_job",
    "stop_run",
]
