INSERT INTO replica_reports (replica, reported_at, loops, disks)
VALUES (?, (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), ?, ?)
ON CONFLICT (replica) DO UPDATE
SET reported_at = (strftime('%Y-%m-%dT%H:%M:%f', 'now', (? + ?) || ' seconds') || '000Z'), loops = ?, disks = ?
