-- How many people are in the file?
SELECT COUNT(*) FROM people;

-- What do people over forty earn, on average?
SELECT AVG(income) FROM people WHERE age >= 40;

-- The five zip codes with the most people.
SELECT zip, COUNT(*) AS residents
FROM people
GROUP BY zip
ORDER BY residents DESC
LIMIT 5;

-- A question that would point at one person is answered, too, and gives away nothing.
SELECT SUM(age) FROM people WHERE zip = 31643 AND name = "Abel Woods";

SHOW BUDGET;
