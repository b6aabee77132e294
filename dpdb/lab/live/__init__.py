"""The class, live: seats, the room, the contest and sheets in the browsers of a class.

Everything that happens is an event in the class's file, so a restart loses nothing. The data of
the room and of the contest are invented or typed in for the purpose; nothing else is served.
"""
