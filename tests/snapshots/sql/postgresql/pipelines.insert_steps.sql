INSERT INTO pipeline_run_steps (tenant_id, run_id, position, variants, made, alive, in_flight, started, failures, votes)
VALUES (%(bound_tenant_id)s::UUID, %(run_id)s::UUID, %(position)s::INTEGER, %(variants)s::INTEGER, %(made)s::INTEGER, %(alive)s::INTEGER, %(in_flight)s::INTEGER, %(started)s::INTEGER, %(failures)s::INTEGER, %(votes)s::INTEGER)
