"""The queue, measured beside raw SQL and beside other queues, on one server, in one run."""
