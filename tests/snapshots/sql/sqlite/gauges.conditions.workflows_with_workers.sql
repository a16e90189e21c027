SELECT DISTINCT worker_workflows.workflow_id
FROM worker_workflows
JOIN comfyui_workers ON comfyui_workers.id = worker_workflows.worker_id
WHERE comfyui_workers.status = 'approved'
AND ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(comfyui_workers.last_seen_at)) * 86400.0) <= ?
