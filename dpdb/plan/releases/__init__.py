"""The releases of a whole query: drawn together, shared, recalled or derived; their prices."""
