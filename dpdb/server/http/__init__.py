"""The doors of HTTP: pages for browsers, JSON for programs, tools for assistants."""
