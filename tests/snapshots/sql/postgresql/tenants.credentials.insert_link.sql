INSERT INTO one_time_links (id, user_id, purpose, expires_at, created_at)
VALUES (%(id)s::UUID, %(user_id)s::UUID, %(purpose)s::VARCHAR, (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s)), (clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_2)s)))
RETURNING one_time_links.id, one_time_links.user_id, one_time_links.purpose, one_time_links.expires_at, one_time_links.spent_at, one_time_links.created_at
