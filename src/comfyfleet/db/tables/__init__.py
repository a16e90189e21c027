"""The schema: one file per slice, two databases."""

from comfyfleet.db.tables.audit import (
    audit_alarms,
    audit_head,
    audit_log,
    tenant_audit_heads,
    tenant_audit_log,
    worker_audit_log,
)
from comfyfleet.db.tables.base import CENTRAL, TENANT
from comfyfleet.db.tables.dispatch import (
    ai_job_dispatches,
    attempt_results,
    dispatch_attempts,
    dispatch_payloads,
    failover_blocks,
    fair_shares,
    lanes,
    settlements,
    upkeep_ticks,
    waiting_reasons,
)
from comfyfleet.db.tables.fleet import (
    capability_lists,
    comfyui_fleets,
    comfyui_workers,
    comfyui_workflow_fleets,
    fleet_inventories,
    fleet_secrets,
    node_definitions,
    worker_workflows,
)
from comfyfleet.db.tables.jobs import ai_jobs, job_files, submissions
from comfyfleet.db.tables.ledger import token_transactions, token_wallets
from comfyfleet.db.tables.live import replicas
from comfyfleet.db.tables.notifications import alerts, notification_channels, notifications, replica_reports
from comfyfleet.db.tables.pipelines import (
    candidates,
    pipeline_run_steps,
    pipeline_runs,
    pipelines,
    run_jobs,
    votes,
)
from comfyfleet.db.tables.scaling import fleet_decisions, fleet_launches, fleet_machines, fleet_scaling
from comfyfleet.db.tables.storage import files
from comfyfleet.db.tables.tenants import api_keys, one_time_links, tenants, users, web_sessions
from comfyfleet.db.tables.videos import videos
from comfyfleet.db.tables.webhooks import webhook_attempts, webhook_deliveries, webhook_endpoints, webhook_events
from comfyfleet.db.tables.workflows import effects, workflow_versions, workflows

__all__ = [
    "CENTRAL",
    "TENANT",
    "ai_job_dispatches",
    "ai_jobs",
    "alerts",
    "api_keys",
    "attempt_results",
    "audit_alarms",
    "audit_head",
    "audit_log",
    "candidates",
    "capability_lists",
    "comfyui_fleets",
    "comfyui_workers",
    "comfyui_workflow_fleets",
    "dispatch_attempts",
    "dispatch_payloads",
    "effects",
    "failover_blocks",
    "fair_shares",
    "files",
    "fleet_decisions",
    "fleet_inventories",
    "fleet_launches",
    "fleet_machines",
    "fleet_scaling",
    "fleet_secrets",
    "job_files",
    "lanes",
    "node_definitions",
    "notification_channels",
    "notifications",
    "one_time_links",
    "pipeline_run_steps",
    "pipeline_runs",
    "pipelines",
    "replica_reports",
    "replicas",
    "run_jobs",
    "settlements",
    "submissions",
    "tenant_audit_heads",
    "tenant_audit_log",
    "tenants",
    "token_transactions",
    "token_wallets",
    "upkeep_ticks",
    "users",
    "videos",
    "votes",
    "waiting_reasons",
    "web_sessions",
    "webhook_attempts",
    "webhook_deliveries",
    "webhook_endpoints",
    "webhook_events",
    "worker_audit_log",
    "worker_workflows",
    "workflow_versions",
    "workflows",
]
