"""The subcommands, such as `dpdb init`: a module for each, which is imported when it is used."""
