SELECT live.fleet_id, live.status, live.silent, live.busy, count(*) AS workers
FROM (SELECT comfyui_workers.fleet_id AS fleet_id, comfyui_workers.status AS status, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (comfyui_workers.last_seen_at))::float8 > %(param_1)s AS silent, EXISTS (SELECT ai_job_dispatches.id
FROM ai_job_dispatches
WHERE ai_job_dispatches.worker_id = comfyui_workers.id
AND ai_job_dispatches.status = 'leased') AS busy
FROM comfyui_workers
WHERE comfyui_workers.status IN (__[POSTCOMPILE_status_1])) AS live GROUP BY live.fleet_id, live.status, live.silent, live.busy
