INSERT INTO comfyui_workflow_fleets (fleet_id, workflow_id, is_active, created_at)
VALUES (%(fleet_id)s::UUID, %(workflow_id)s::UUID, %(is_active)s, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
ON CONFLICT (fleet_id, workflow_id) DO UPDATE
SET is_active = %(param_1)s
RETURNING comfyui_workflow_fleets.fleet_id, comfyui_workflow_fleets.workflow_id, comfyui_workflow_fleets.is_active, comfyui_workflow_fleets.created_at
