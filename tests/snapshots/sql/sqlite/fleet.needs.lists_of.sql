SELECT capability_lists.digest, capability_lists.lists
FROM capability_lists
JOIN (SELECT json_extract(value, '$.digest') AS digest
FROM json_each(?)) AS b ON capability_lists.digest = b.digest
