"""What a process counts, and the port that Prometheus reads it from. Used by the control plane and by workers."""
