SELECT comfyui_workers.id
FROM comfyui_workers
WHERE comfyui_workers.status = %(status_1)s::VARCHAR
AND comfyui_workers.last_seen_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
LIMIT %(param_1)s::INTEGER FOR UPDATE SKIP LOCKED
