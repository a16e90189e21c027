SELECT comfyui_workers.fleet_id, worker_audit_log.detail
FROM worker_audit_log
JOIN comfyui_workers ON comfyui_workers.worker_id = worker_audit_log.worker_id
WHERE worker_audit_log.id >= ?
AND worker_audit_log.event = 'requeue'
AND comfyui_workers.fleet_id IS NOT NULL
ORDER BY worker_audit_log.id DESC
LIMIT ? OFFSET ?
