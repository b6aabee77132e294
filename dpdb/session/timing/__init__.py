"""The moments at which answers and interrupts leave a session, which tell nothing of rows."""
