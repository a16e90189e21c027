SELECT DISTINCT comfyui_workers.fleet_id
FROM comfyui_workers
WHERE comfyui_workers.status = 'approved'
AND EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (comfyui_workers.last_seen_at))::float8 <= %(param_1)s
AND comfyui_workers.fleet_id IS NOT NULL
