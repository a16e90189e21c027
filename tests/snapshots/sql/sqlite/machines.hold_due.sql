UPDATE fleet_scaling
SET held_by=?, held_until=(strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
WHERE (fleet_scaling.held_until IS NULL OR fleet_scaling.held_until < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
AND (fleet_scaling.decided_at IS NULL OR fleet_scaling.decided_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') OR fleet_scaling.is_empty = 1)
RETURNING fleet_id, ((julianday((strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')) - julianday(coalesce(decided_at, updated_at))) * 86400.0) >= ? AS is_due, decided_at
