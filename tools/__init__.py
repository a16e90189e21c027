"""What keeps the project in order: snapshots, pictures, conformance, conversion. Run as `python -m tools.NAME`."""
