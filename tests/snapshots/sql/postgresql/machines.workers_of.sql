SELECT comfyui_workers.id, comfyui_workers.worker_id, comfyui_workers.status, comfyui_workers.created_at, EXTRACT(EPOCH
FROM ((clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))) - (comfyui_workers.last_seen_at))::float8 AS silent_s, (SELECT count(*) AS count_1
FROM ai_job_dispatches
WHERE ai_job_dispatches.worker_id = comfyui_workers.id
AND ai_job_dispatches.status = 'leased') AS leases, (SELECT min(dispatch_attempts.granted_at) AS min_1
FROM dispatch_attempts
WHERE dispatch_attempts.worker_id = comfyui_workers.id) AS first_lease_at, (SELECT max(dispatch_attempts.granted_at) AS max_1
FROM dispatch_attempts
WHERE dispatch_attempts.worker_id = comfyui_workers.id) AS last_lease_at, lanes.structure_hash, EXISTS (SELECT *
FROM fleet_machines
WHERE fleet_machines.fleet_id = comfyui_workers.fleet_id
AND fleet_machines.machine_id = comfyui_workers.worker_id
AND fleet_machines.ended_at > comfyui_workers.last_seen_at) AS ended_with_machine
FROM comfyui_workers
LEFT OUTER
JOIN ai_job_dispatches ON ai_job_dispatches.id = (SELECT dispatch_attempts.dispatch_id
FROM dispatch_attempts
WHERE dispatch_attempts.worker_id = comfyui_workers.id
ORDER BY dispatch_attempts.granted_at DESC
LIMIT %(param_1)s::INTEGER)
LEFT OUTER
JOIN lanes ON lanes.id = ai_job_dispatches.lane
WHERE comfyui_workers.fleet_id = %(fleet_id_1)s::UUID
AND (comfyui_workers.status IN (__[POSTCOMPILE_status_1]) OR comfyui_workers.last_seen_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)))
