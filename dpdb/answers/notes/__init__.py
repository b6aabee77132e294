"""Notes beside an answer: its releases, its accuracy, and what bounding leaves out."""
