SELECT comfyui_workers.id
FROM comfyui_workers
WHERE comfyui_workers.status IN (__[POSTCOMPILE_status_1])
AND comfyui_workers.last_seen_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
LIMIT %(param_1)s::INTEGER FOR UPDATE SKIP LOCKED
