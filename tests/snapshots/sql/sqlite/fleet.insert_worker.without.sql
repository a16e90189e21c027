INSERT INTO comfyui_workers (id, worker_id, fleet_id, registration_source, status, is_approved, is_draining, incarnation, token_hash, boot_id, capabilities, providers, max_concurrency, current_load, address, takeovers, last_seen_at, created_at, capability_digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ?)
ON CONFLICT DO NOTHING
RETURNING id, worker_id, fleet_id, registration_source, status, is_approved, is_draining, incarnation, token_hash, boot_id, capabilities, providers, max_concurrency, current_load, address, takeovers, takeovers_since, last_seen_at, created_at, capability_digest, drained_at
