"""A day of a fleet in virtual time: the product's own choices, made-up machines and users, seconds instead of hours."""
