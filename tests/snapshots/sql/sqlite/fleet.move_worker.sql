UPDATE comfyui_workers
SET status=?, is_approved=?, is_draining=?, drained_at=CASE WHEN (comfyui_workers.status = ?) THEN coalesce(comfyui_workers.drained_at, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) END
WHERE comfyui_workers.id = ?
AND comfyui_workers.status IN (__[POSTCOMPILE_status_2])
RETURNING id, worker_id, fleet_id, registration_source, status, is_approved, is_draining, incarnation, token_hash, boot_id, capabilities, providers, max_concurrency, current_load, address, takeovers, takeovers_since, last_seen_at, created_at, capability_digest, drained_at
