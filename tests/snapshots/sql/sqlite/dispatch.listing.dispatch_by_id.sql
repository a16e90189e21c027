SELECT ai_job_dispatches.id, ai_job_dispatches.status, ai_job_dispatches.tenant_id, tenants.slug AS tenant, workflows.slug AS workflow, ai_job_dispatches.lane, lanes.structure_hash, ai_job_dispatches.provider, ai_job_dispatches.priority, ai_job_dispatches.attempts, ai_job_dispatches.max_attempts, ai_job_dispatches.releases, ai_job_dispatches.epoch, comfyui_workers.worker_id AS worker, ai_job_dispatches.queued_at, ai_job_dispatches.queue_deadline_at, ai_job_dispatches.run_at, ai_job_dispatches.lease_expires_at, ai_job_dispatches.deadline_at, ai_job_dispatches.cancel_requested_at, ai_job_dispatches.provider_job_id, ai_job_dispatches.service_status, ai_job_dispatches.service_submitted_at, ai_job_dispatches.last_service_check, ai_job_dispatches.error_class, ai_job_dispatches.last_error, ai_job_dispatches.duration_seconds, ai_job_dispatches.finished_at, ai_job_dispatches.settled_at, ai_job_dispatches.traceparent
FROM ai_job_dispatches
JOIN lanes ON lanes.id = ai_job_dispatches.lane
LEFT OUTER
JOIN tenants ON tenants.id = ai_job_dispatches.tenant_id
LEFT OUTER
JOIN workflows ON workflows.id = ai_job_dispatches.workflow_id
LEFT OUTER
JOIN comfyui_workers ON comfyui_workers.id = ai_job_dispatches.worker_id
WHERE ai_job_dispatches.id = ?
