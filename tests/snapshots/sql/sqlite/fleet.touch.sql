UPDATE comfyui_workers
SET current_load=?, last_seen_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE comfyui_workers.id = ?
