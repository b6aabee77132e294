"""The FROM clause: tables, joins, windows of rows, public keys, and answers read again."""
