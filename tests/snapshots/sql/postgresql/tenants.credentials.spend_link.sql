UPDATE one_time_links
SET spent_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE one_time_links.id = %(id_1)s::UUID
AND one_time_links.spent_at IS NULL
AND one_time_links.expires_at > (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s))
RETURNING one_time_links.id, one_time_links.user_id, one_time_links.purpose, one_time_links.expires_at, one_time_links.spent_at, one_time_links.created_at
