"""Reading a policy file: each line becomes a record, or an error that names the line."""
