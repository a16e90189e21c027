INSERT INTO pipeline_run_steps (tenant_id, run_id, position, variants, made, alive, in_flight, started, failures, votes)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
