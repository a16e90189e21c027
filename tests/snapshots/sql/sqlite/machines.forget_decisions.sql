DELETE
FROM fleet_decisions
WHERE fleet_decisions.fleet_id IN (SELECT comfyui_fleets.id
FROM comfyui_fleets)
AND (fleet_decisions.is_change = 0
AND fleet_decisions.decided_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z') OR fleet_decisions.decided_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
