SELECT one_time_links.user_id
FROM one_time_links
WHERE one_time_links.id = %(id_1)s::UUID
AND one_time_links.spent_at IS NULL
AND one_time_links.expires_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
