"""CSV files: how they are written, their bytes as UTF-8, and their headers."""
