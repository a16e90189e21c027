"""Truths about the queue's rows at any instant: each query must find nothing (design/reliability.md §3)."""

INVARIANTS = {
    "V1 an open attempt belongs to a lease of its epoch": """
        SELECT a.dispatch_id FROM dispatch_attempts a JOIN ai_job_dispatches d ON d.id = a.dispatch_id
        WHERE a.ended_at IS NULL AND (d.status <> 'leased' OR a.epoch <> d.epoch)""",
    "V1b a lease has its open attempt": """
        SELECT d.id FROM ai_job_dispatches d WHERE d.status = 'leased' AND NOT EXISTS (
          SELECT 1 FROM dispatch_attempts a
          WHERE a.dispatch_id = d.id AND a.epoch = d.epoch AND a.ended_at IS NULL)""",
    "V3 epochs have no gap and no reuse": """
        SELECT dispatch_id FROM dispatch_attempts GROUP BY dispatch_id HAVING MAX(epoch) <> COUNT(*)""",
    "V4 the outcome is that of the last epoch": """
        SELECT id FROM ai_job_dispatches
        WHERE status IN ('completed', 'failed') AND attempts > 0 AND done_epoch <> epoch""",
    "V5 every finished dispatch has exactly one settlement": """
        SELECT d.id FROM ai_job_dispatches d WHERE d.finished_at IS NOT NULL
        AND (SELECT COUNT(*) FROM settlements s WHERE s.dispatch_id = d.id) <> 1""",
    "V5b a settlement says what the dispatch says": """
        SELECT d.id FROM settlements s JOIN ai_job_dispatches d ON d.id = s.dispatch_id
        WHERE d.finished_at IS NULL OR s.outcome <> d.status""",
    "V6 nothing runs after success": """
        SELECT s.dispatch_id FROM dispatch_attempts s JOIN dispatch_attempts l ON l.dispatch_id = s.dispatch_id
        WHERE s.reason = 'completed' AND l.epoch > s.epoch""",
    "V7 attempts and releases stay within their bounds": """
        SELECT id FROM ai_job_dispatches WHERE attempts > max_attempts + releases OR releases > max_releases""",
    "V10 no probe is held by a dispatch that does not run": """
        SELECT b.worker_id FROM failover_blocks b JOIN ai_job_dispatches d ON d.id = b.probe_dispatch_id
        WHERE d.status <> 'leased'""",
}
