UPDATE comfyui_workers
SET fleet_id=?, boot_id=?, capabilities=?, providers=?, max_concurrency=?, address=?, last_seen_at=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), capability_digest=?
WHERE comfyui_workers.id = ?
RETURNING id, worker_id, fleet_id, registration_source, status, is_approved, is_draining, incarnation, token_hash, boot_id, capabilities, providers, max_concurrency, current_load, address, takeovers, takeovers_since, last_seen_at, created_at, capability_digest, drained_at
