SELECT notifications.id, notifications.channel_id, notifications.channel, notifications.channel_kind, notifications.kind, notifications.condition, notifications.subject, notifications.payload, notifications.status, notifications.attempts, notifications.next_try_at, notifications.response_status, notifications.last_error, notifications.created_at, notifications.ended_at
FROM notifications
ORDER BY notifications.id DESC
LIMIT ? OFFSET ?
