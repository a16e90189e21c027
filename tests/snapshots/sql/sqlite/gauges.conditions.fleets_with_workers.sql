SELECT DISTINCT comfyui_workers.fleet_id
FROM comfyui_workers
WHERE comfyui_workers.status = 'approved'
AND ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(comfyui_workers.last_seen_at)) * 86400.0) <= ?
AND comfyui_workers.fleet_id IS NOT NULL
