DELETE
FROM submissions
WHERE submissions.job_id IN (SELECT oldest.job_id
FROM (SELECT submissions.job_id AS job_id, submissions.sent_at AS sent_at
FROM submissions
ORDER BY submissions.job_id
LIMIT %(param_1)s::INTEGER) AS oldest
WHERE oldest.sent_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)))
