"""The moments at which answers leave a session, and interrupts before and after them."""
