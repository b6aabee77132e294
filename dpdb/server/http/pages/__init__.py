"""The pages of the server: HTML by templates that escape every text, charts, a style and a script.

Pages are made of answers as they left the session, and of what the policy declares.
"""
