-- Evans, Girkins and Sartor, query set 1: the age of Abel Woods by differencing.
-- dpdb sample_data/people.csv --teach --epsilon 5 --queries 2 -f sample_data/evans_set1.sql

-- Without privacy the two answers differ by his age.
SET dp = off;
SELECT SUM(age) FROM people WHERE zip == 31643;
SELECT SUM(age) FROM people WHERE zip == 31643 AND name != "Abel Woods";

-- With the paper's noise, k·Δf/ε = 2·65/5 = 26.
SET dp = on;
SET sensitivity = 'local';
SET reveal = on;
SELECT SUM(age) FROM people WHERE zip == 31643;
SELECT SUM(age) FROM people WHERE zip == 31643 AND name != "Abel Woods";
