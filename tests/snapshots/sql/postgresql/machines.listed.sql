SELECT fleet_machines.fleet_id, fleet_machines.machine_id, fleet_machines.machine_class, fleet_machines.market, fleet_machines.zone, fleet_machines.launched_at, fleet_machines.start_s, fleet_machines.end_asked_at, fleet_machines.end_reason, fleet_machines.ended_at, comfyui_workers.status, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (comfyui_workers.last_seen_at))::float8 AS silent_s, (SELECT count(*) AS count_1
FROM ai_job_dispatches
WHERE ai_job_dispatches.worker_id = comfyui_workers.id
AND ai_job_dispatches.status = 'leased') AS leases
FROM fleet_machines
LEFT OUTER
JOIN comfyui_workers ON comfyui_workers.worker_id = fleet_machines.machine_id
AND comfyui_workers.fleet_id = fleet_machines.fleet_id
WHERE fleet_machines.fleet_id = %(fleet_id_1)s::UUID
AND (fleet_machines.ended_at IS NULL OR fleet_machines.ended_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)))
ORDER BY fleet_machines.ended_at IS NOT NULL, fleet_machines.launched_at DESC, fleet_machines.machine_id
LIMIT %(param_1)s::INTEGER
