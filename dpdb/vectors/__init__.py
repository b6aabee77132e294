"""The values of expressions over columns, and what SQL does with rows of such values.

Expressions are total, have SQL's NULL, and read each row by itself. The modules `keys`
and `windows` compare rows. Engines use this room before the noise, and answers after it. So the
room knows neither engines nor answers, nor where the columns come from.
"""
