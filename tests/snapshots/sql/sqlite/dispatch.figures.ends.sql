SELECT CAST(((julianday(dispatch_attempts.ended_at) - julianday(?)) * 86400.0) / (? + 0.0) AS INTEGER) AS stretch, dispatch_attempts.reason, count(*) AS attempts
FROM dispatch_attempts
WHERE dispatch_attempts.ended_at >= ? GROUP BY CAST(((julianday(dispatch_attempts.ended_at) - julianday(?)) * 86400.0) / (? + 0.0) AS INTEGER), dispatch_attempts.reason
