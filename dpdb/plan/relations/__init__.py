"""Relations: scans and joins, the privacy ids of their rows, and the reach of one unit."""
