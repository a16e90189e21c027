SELECT alerts.condition, alerts.subject, alerts.id, alerts.state, alerts.text, alerts.began_at, alerts.changed_at, alerts.seen_at, alerts.clear_since, alerts.reminded_at, alerts.generation
FROM alerts
WHERE alerts.state IN (__[POSTCOMPILE_state_1])
ORDER BY alerts.changed_at DESC, alerts.id
LIMIT %(param_1)s::INTEGER
