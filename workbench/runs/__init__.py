"""Many calls: bulk runs and sequences."""
