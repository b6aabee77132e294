"""sqlglot's trees: reading literals, arguments and options, and writing short forms out."""
