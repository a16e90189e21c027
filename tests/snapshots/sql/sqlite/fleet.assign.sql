INSERT INTO comfyui_workflow_fleets (fleet_id, workflow_id, is_active, created_at)
VALUES (?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
ON CONFLICT (fleet_id, workflow_id) DO UPDATE
SET is_active = ?
RETURNING fleet_id, workflow_id, is_active, created_at
