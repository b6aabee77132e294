-- Query set 3 under real privacy. Asked again, a question gets the same answer for free:
-- nothing can be averaged away, and two of the four queries are left.
-- dpdb sample_data/people.csv --epsilon 4 --queries 4 -f sample_data/evans_set3_private.sql
SELECT COUNT(name) FROM people WHERE name == "Peter Gist";
SELECT COUNT(name) FROM people WHERE name == "Peter Gist";
SELECT COUNT(name) FROM people WHERE name == "Foo Bar";
SELECT COUNT(name) FROM people WHERE name == "Foo Bar";
SHOW BUDGET;
