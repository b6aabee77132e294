"""The work of one unit: how much time and memory its rows can take, by the plan alone."""
