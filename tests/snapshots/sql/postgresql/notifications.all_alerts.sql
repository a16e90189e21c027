SELECT alerts.condition, alerts.subject, alerts.id, alerts.state, alerts.text, alerts.began_at, alerts.changed_at, alerts.seen_at, alerts.clear_since, alerts.reminded_at, alerts.generation
FROM alerts
