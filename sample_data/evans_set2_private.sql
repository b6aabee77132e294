-- Query set 2 under real privacy, as the paper writes it: with a subquery for the maximum.
-- dpdb sample_data/people.csv --epsilon 3 --queries 3 -f sample_data/evans_set2_private.sql
SELECT MAX(net_worth) FROM people;
SELECT MEAN(income) FROM people WHERE net_worth + 1 > (SELECT MAX(net_worth) FROM people);
SELECT MEAN(age) FROM people WHERE net_worth + 1 > (SELECT MAX(net_worth) FROM people);
