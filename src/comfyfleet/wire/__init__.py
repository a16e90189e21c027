"""What crosses a process boundary, versioned. Both ends read these lines."""
