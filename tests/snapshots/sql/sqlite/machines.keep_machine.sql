INSERT INTO fleet_machines (fleet_id, machine_id, machine_class, market, zone, launched_at, start_s, end_asked_at, end_reason, ended_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (fleet_id, machine_id) DO UPDATE
SET ended_at = ?
