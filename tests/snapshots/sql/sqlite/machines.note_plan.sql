UPDATE fleet_launches
SET "plan"=?
WHERE fleet_launches.decision_id = ?
AND fleet_launches.ordinal = ?
AND fleet_launches.answered_at IS NULL
AND fleet_launches."plan" = ?
