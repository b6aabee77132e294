"""The command line: `dpdb` and its subcommands, arguments and exit codes.

It may not know how statements are answered.
"""
