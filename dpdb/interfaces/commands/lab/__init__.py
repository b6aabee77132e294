"""`dpdb lab`, and the studies that choose a budget: `dpdb risk` and `dpdb utility`."""
