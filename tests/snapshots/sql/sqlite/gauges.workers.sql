SELECT live.fleet_id, live.status, live.silent, live.busy, count(*) AS workers
FROM (SELECT comfyui_workers.fleet_id AS fleet_id, comfyui_workers.status AS status, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(comfyui_workers.last_seen_at)) * 86400.0) > ? AS silent, EXISTS (SELECT ai_job_dispatches.id
FROM ai_job_dispatches
WHERE ai_job_dispatches.worker_id = comfyui_workers.id
AND ai_job_dispatches.status = 'leased') AS busy
FROM comfyui_workers
WHERE comfyui_workers.status IN (__[POSTCOMPILE_status_1])) AS live GROUP BY live.fleet_id, live.status, live.silent, live.busy
