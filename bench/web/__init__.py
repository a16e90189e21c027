"""What the web app costs a visitor: its size, its start, and how smoothly large pages move."""
