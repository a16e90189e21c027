"""The agent beside ComfyUI: polls, leases, fetches, runs, uploads, completes, and leaves in good order."""
