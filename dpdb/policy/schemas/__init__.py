"""The columns of tables, as files, servers and clusters declare them."""
