SELECT capability_lists.digest, capability_lists.lists
FROM capability_lists
JOIN (SELECT *
FROM jsonb_to_recordset(CAST(%(rows_digest)s::VARCHAR AS jsonb)) AS r(digest TEXT)) AS b ON capability_lists.digest = b.digest
