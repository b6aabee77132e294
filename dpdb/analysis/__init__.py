"""For the custodian: how useful an answer is, and which epsilon is safe enough."""
