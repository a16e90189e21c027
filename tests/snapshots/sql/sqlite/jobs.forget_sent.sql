DELETE
FROM submissions
WHERE submissions.job_id IN (SELECT oldest.job_id
FROM (SELECT submissions.job_id AS job_id, submissions.sent_at AS sent_at
FROM submissions
ORDER BY submissions.job_id
LIMIT ? OFFSET ?) AS oldest
WHERE oldest.sent_at < (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'))
