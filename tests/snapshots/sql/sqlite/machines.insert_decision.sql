INSERT INTO fleet_decisions (id, fleet_id, decided_at, inputs, decision, reason, desired, ready, starting, draining, waiting, arrived_gpu_s, is_change)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
