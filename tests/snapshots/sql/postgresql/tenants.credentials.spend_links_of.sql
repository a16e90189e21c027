UPDATE one_time_links
SET spent_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE one_time_links.user_id = %(user_id_1)s::UUID
AND one_time_links.spent_at IS NULL
