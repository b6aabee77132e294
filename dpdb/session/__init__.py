"""The conductor: from a statement's text to its answer, within one budget.

This is the only room that brings exact results and noise together, and it debits before it looks
at a row. It may not know who asks: prompt, batch, program or attack.
"""
