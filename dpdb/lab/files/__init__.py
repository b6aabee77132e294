"""What the data owner of a file sees of its rows: their texts, the types they suggest, a check.

Nothing here is private: only `dpdb init`, `dpdb check` and the lab may show it, and `dpdb prepare`
write it.
"""
