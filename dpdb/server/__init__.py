"""The server: people in front of it ask, and workers behind it answer, from one lasting budget.

The front process speaks HTTP, knows accounts and queues, and holds no table. It sends each
statement as a message to a worker, a process of its own that has the sessions. Messages are JSON:
what the front knows of an answer is what leaves the server.
"""
