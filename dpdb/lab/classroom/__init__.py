"""The class: attacks and mechanisms from students' files, their scores, and the game of the room.

A student's code runs in a process of its own, and sees answers and nothing else. Data, truth and
session stay in the process that scores it.
"""
