"""The logical query: what a SELECT asks for, before noise and price."""
