-- Query set 1 under real privacy: the noise comes from the declared bounds, not from the rows.
-- dpdb sample_data/people.csv --epsilon 5 --queries 2 -f sample_data/evans_set1_private.sql
SELECT SUM(age) FROM people WHERE zip == 31643;
SELECT SUM(age) FROM people WHERE zip == 31643 AND name != "Abel Woods";
