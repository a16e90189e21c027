SELECT found.dispatch_id, found.newest_epoch, found.attempts, count(*) OVER () AS total
FROM (SELECT dispatch_attempts.dispatch_id AS dispatch_id, max(dispatch_attempts.epoch) AS newest_epoch, count(*) AS attempts
FROM dispatch_attempts GROUP BY dispatch_attempts.dispatch_id HAVING max(dispatch_attempts.epoch) != count(*)) AS found
LIMIT %(param_1)s::INTEGER
