INSERT INTO dispatch_payloads (dispatch_id, payload)
VALUES (?, ?)
ON CONFLICT DO NOTHING
