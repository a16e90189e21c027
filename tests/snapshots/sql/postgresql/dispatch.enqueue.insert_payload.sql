INSERT INTO dispatch_payloads (dispatch_id, payload)
VALUES (%(dispatch_id)s::UUID, %(payload)s)
ON CONFLICT DO NOTHING
