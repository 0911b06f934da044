"""Make many calls: bulk runs and sequences."""
