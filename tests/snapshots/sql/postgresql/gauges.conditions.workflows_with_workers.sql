SELECT DISTINCT worker_workflows.workflow_id
FROM worker_workflows
JOIN comfyui_workers ON comfyui_workers.id = worker_workflows.worker_id
WHERE comfyui_workers.status = 'approved'
AND EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (comfyui_workers.last_seen_at))::float8 <= %(param_1)s
