-- Evans, Girkins and Sartor, query set 2: income and age of the richest person.
-- dpdb sample_data/people.csv --teach --epsilon 3 --queries 3 -f sample_data/evans_set2.sql

-- Without privacy the maximum singles the person out.
SET dp = off;
SELECT MAX(net_worth) FROM people;
SELECT MEAN(income) FROM people WHERE net_worth > 5246936;
SELECT MEAN(age) FROM people WHERE net_worth > 5246936;

-- With the paper's noise, at ε/k = 1, and the noisy maximum the paper got, 3900194.
SET dp = on;
SET sensitivity = 'local';
SET reveal = on;
SELECT MAX(net_worth) FROM people;
SELECT MEAN(income) FROM people WHERE net_worth > 3900194;
SELECT MEAN(age) FROM people WHERE net_worth > 3900194;
