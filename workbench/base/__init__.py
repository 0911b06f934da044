"""Read, check, mask and store values; used by every package."""
