UPDATE comfyui_workers
SET current_load=%(current_load)s::INTEGER, last_seen_at=(clock_timestamp() + make_interval(secs => %(clock_offset_s)s + %(plus_s_1)s))
WHERE comfyui_workers.id = %(id_1)s::UUID
