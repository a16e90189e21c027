"""The process beside each ComfyUI: leases jobs, runs them, delivers what they made."""
