SELECT webhook_endpoints.id
FROM webhook_endpoints
WHERE NOT webhook_endpoints.is_listed
AND webhook_endpoints.created_at < (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
ORDER BY webhook_endpoints.created_at
LIMIT %(param_1)s::INTEGER
