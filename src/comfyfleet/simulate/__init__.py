"""A fleet without GPUs: workers that speak the real protocol to a real control plane, and only sleep over jobs."""
