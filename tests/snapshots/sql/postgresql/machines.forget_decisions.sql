DELETE
FROM fleet_decisions
WHERE fleet_decisions.fleet_id IN (SELECT comfyui_fleets.id
FROM comfyui_fleets)
AND (NOT fleet_decisions.is_change
AND fleet_decisions.decided_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)) OR fleet_decisions.decided_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)))
