SELECT found.dispatch_id, found.completed_epoch, found.later_epoch, count(*) OVER () AS total
FROM (SELECT dispatch_attempts.dispatch_id AS dispatch_id, dispatch_attempts.epoch AS completed_epoch, later.epoch AS later_epoch
FROM dispatch_attempts
JOIN dispatch_attempts AS later ON later.dispatch_id = dispatch_attempts.dispatch_id
WHERE dispatch_attempts.reason = %(reason_1)s::VARCHAR
AND later.epoch > dispatch_attempts.epoch) AS found
LIMIT %(param_1)s::INTEGER
