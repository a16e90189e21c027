SELECT comfyui_workers.id, comfyui_workers.worker_id, comfyui_workers.fleet_id, comfyui_workers.registration_source, comfyui_workers.status, comfyui_workers.is_approved, comfyui_workers.is_draining, comfyui_workers.incarnation, comfyui_workers.boot_id, comfyui_workers.capabilities, comfyui_workers.providers, comfyui_workers.max_concurrency, comfyui_workers.current_load, comfyui_workers.address, comfyui_workers.takeovers, comfyui_workers.takeovers_since, comfyui_workers.last_seen_at, comfyui_workers.created_at, comfyui_workers.capability_digest, comfyui_workers.drained_at, comfyui_fleets.slug AS fleet_slug, comfyui_fleets.stage AS fleet_stage, (SELECT count(*) AS count_1
FROM ai_job_dispatches
WHERE ai_job_dispatches.worker_id = comfyui_workers.id
AND ai_job_dispatches.status = 'leased') AS open_leases
FROM comfyui_workers
LEFT OUTER
JOIN comfyui_fleets ON comfyui_fleets.id = comfyui_workers.fleet_id
WHERE comfyui_workers.worker_id = %(worker_id_1)s::VARCHAR
