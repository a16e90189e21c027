INSERT INTO fleet_launches (decision_id, ordinal, fleet_id, token, machine_class, market, zone, machines, asked_at, answered_at, launched, problem, "plan")
VALUES (?, ?, ?, ?, ?, ?, ?, ?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ?, ?, ?, ?)
