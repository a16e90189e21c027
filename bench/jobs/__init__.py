"""Jobs, measured."""
