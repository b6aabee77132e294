-- How many people are in the file?
SELECT COUNT(*) FROM people;

-- What do people of forty and over earn, on average?
SELECT AVG(income) FROM people WHERE age >= 40;

-- How many live in each of three zip codes, and how old are they?
SELECT zip, COUNT(*) AS residents, AVG(age)
FROM people
WHERE zip IN (10025, 31643, 80127)
GROUP BY zip;

-- The age of one person: the answer is noise, whoever is in the file.
SELECT SUM(age) FROM people WHERE zip = 31643 AND name = "Abel Woods";

SHOW BUDGET;
