SELECT comfyui_workers.fleet_id, count(*) AS workers, sum(CASE WHEN (comfyui_workers.status = 'approved'
AND comfyui_workers.max_concurrency > comfyui_workers.current_load) THEN comfyui_workers.max_concurrency - comfyui_workers.current_load ELSE %(param_1)s::INTEGER END) AS free
FROM comfyui_workers
WHERE comfyui_workers.status IN (__[POSTCOMPILE_status_1])
AND comfyui_workers.fleet_id IS NOT NULL
AND comfyui_workers.last_seen_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) GROUP BY comfyui_workers.fleet_id
