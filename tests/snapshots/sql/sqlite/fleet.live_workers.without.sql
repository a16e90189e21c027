SELECT count(*) AS live
FROM comfyui_workers
WHERE comfyui_workers.fleet_id IS NULL
AND comfyui_workers.worker_id != ?
AND comfyui_workers.status IN (__[POSTCOMPILE_status_1])
AND comfyui_workers.last_seen_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
