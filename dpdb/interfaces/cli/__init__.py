"""The command line: its arguments, the batch of statements, the way to a prompt or a command."""
