SELECT count(*) AS live
FROM comfyui_workers
WHERE comfyui_workers.fleet_id IS NULL
AND comfyui_workers.worker_id != %(worker_id_1)s::VARCHAR
AND comfyui_workers.status IN (__[POSTCOMPILE_status_1])
AND comfyui_workers.last_seen_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
