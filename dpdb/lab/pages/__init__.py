"""The story of an attack as a page, and drawn figures: for the terminal, as HTML, as pictures.

Pages show the results of trials. They may not know how an attack works, nor a drawing what its
figure is about.
"""
