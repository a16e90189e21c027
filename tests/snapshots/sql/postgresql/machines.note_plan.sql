UPDATE fleet_launches
SET plan=%(plan)s::VARCHAR
WHERE fleet_launches.decision_id = %(decision_id_1)s::UUID
AND fleet_launches.ordinal = %(ordinal_1)s::INTEGER
AND fleet_launches.answered_at IS NULL
AND fleet_launches.plan = %(plan_1)s::VARCHAR
