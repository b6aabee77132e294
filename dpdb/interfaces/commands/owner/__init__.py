"""The subcommands of the data owner: files and policies, budgets and accounts."""
