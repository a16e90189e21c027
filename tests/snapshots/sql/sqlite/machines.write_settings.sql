INSERT INTO fleet_scaling (fleet_id, settings, max_workers, adapter, adapter_settings, state, generation, is_empty, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT (fleet_id) DO UPDATE
SET settings = ?, max_workers = ?, adapter = ?, adapter_settings = ?, generation = (fleet_scaling.generation + ?), is_empty = ?, problem = ?, updated_at = (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z')
RETURNING fleet_id, settings, max_workers, adapter, adapter_settings, state, generation, is_empty, counted_to, decided_at, held_by, held_until, problem, updated_at
