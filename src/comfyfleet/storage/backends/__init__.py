"""Where objects can live. `s3` needs the extra of that name."""
