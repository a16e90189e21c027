SELECT comfyui_workers.id
FROM comfyui_workers
WHERE comfyui_workers.status = ?
AND comfyui_workers.last_seen_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
LIMIT ? OFFSET ?
