"""Text into queries: splitting, the allow-list, types, interval arithmetic."""
