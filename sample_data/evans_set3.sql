-- Evans, Girkins and Sartor, query set 3: is Peter Gist in the file, is Foo Bar?
-- dpdb sample_data/people.csv --teach --epsilon 4 --queries 4 -f sample_data/evans_set3.sql

-- Without privacy a count says so.
SET dp = off;
SELECT COUNT(name) FROM people WHERE name == "Peter Gist";
SELECT COUNT(name) FROM people WHERE name == "Foo Bar";

-- With the paper's noise of scale 1, each asked twice.
SET dp = on;
SET sensitivity = 'local';
SET reveal = on;
SELECT COUNT(name) FROM people WHERE name == "Peter Gist";
SELECT COUNT(name) FROM people WHERE name == "Peter Gist";
SELECT COUNT(name) FROM people WHERE name == "Foo Bar";
SELECT COUNT(name) FROM people WHERE name == "Foo Bar";
