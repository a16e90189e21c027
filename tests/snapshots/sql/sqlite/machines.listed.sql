SELECT fleet_machines.fleet_id, fleet_machines.machine_id, fleet_machines.machine_class, fleet_machines.market, fleet_machines.zone, fleet_machines.launched_at, fleet_machines.start_s, fleet_machines.end_asked_at, fleet_machines.end_reason, fleet_machines.ended_at, comfyui_workers.status, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(comfyui_workers.last_seen_at)) * 86400.0) AS silent_s, (SELECT count(*) AS count_1
FROM ai_job_dispatches
WHERE ai_job_dispatches.worker_id = comfyui_workers.id
AND ai_job_dispatches.status = 'leased') AS leases
FROM fleet_machines
LEFT OUTER
JOIN comfyui_workers ON comfyui_workers.worker_id = fleet_machines.machine_id
AND comfyui_workers.fleet_id = fleet_machines.fleet_id
WHERE fleet_machines.fleet_id = ?
AND (fleet_machines.ended_at IS NULL OR fleet_machines.ended_at > (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ORDER BY fleet_machines.ended_at IS NOT NULL, fleet_machines.launched_at DESC, fleet_machines.machine_id
LIMIT ? OFFSET ?
