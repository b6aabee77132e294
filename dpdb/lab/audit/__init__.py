"""The audit: how much a mechanism tells for certain, by what comes out with a person and without.

It measures mechanisms written in Python, those with shipped mistakes and a student's. It may not
know sessions.
"""
