--- Rows of several customers
-- Unsupported does not say that both rows are of one customer
SELECT COUNT(*) FROM customers AS c JOIN orders AS o ON c.id = o.id;
-- Unsupported nothing says that both rows are of one customer
SELECT COUNT(*) FROM customers AS c CROSS JOIN orders AS o;
-- Unsupported nothing says that both rows are of one customer
SELECT COUNT(*) FROM customers AS c JOIN orders AS o ON o.amount > (SELECT AVG(amount) FROM orders);
-- Unsupported whether another customer has such a row is private
SELECT COUNT(*) FROM customers AS c WHERE EXISTS (SELECT 1 FROM orders AS o WHERE o.channel = c.segment);
-- Unsupported whether another customer has such a row is private
SELECT COUNT(*) FROM customers WHERE region IN (SELECT order_id FROM returns);
-- Unsupported aggregates the rows of every customer
SELECT COUNT(*) FROM customers AS c WHERE (SELECT COUNT(*) FROM orders AS o WHERE o.channel = c.segment) > 3;
-- Unsupported EXISTS and IN look into one table
SELECT COUNT(*) FROM customers AS c
WHERE EXISTS (SELECT 1 FROM orders AS o JOIN lines AS l ON l.order_id = o.id WHERE o.customer_id = c.id);

--- Groups of one customer
-- Unsupported 1:41 each group would be one customer
SELECT COUNT(*) FROM customers GROUP BY id;
-- Unsupported each group would be one customer
SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id;
-- Unsupported need delta
SELECT c.name, COUNT(*) FROM customers AS c GROUP BY c.name;
-- Unsupported 1:8 single rows are never shown
SELECT id FROM customers;
-- Unsupported GROUP BY shows the different values of a public table
SELECT * FROM products;

--- Names
-- UnknownName 1:84 may be one of several columns
SELECT COUNT(*) FROM customers AS c JOIN orders AS o ON o.customer_id = c.id WHERE id > 3;
-- UnknownName no column nothing on one side of the join
SELECT COUNT(*) FROM customers AS c JOIN orders AS o USING (nothing);
-- UnknownName no table nowhere
SELECT COUNT(*) FROM customers AS c JOIN nowhere AS n ON n.id = c.id;
-- Unsupported two tables are called c here
SELECT COUNT(*) FROM customers AS c JOIN orders AS c ON TRUE;

--- What joins cannot do
-- Unsupported USING (column)
SELECT COUNT(*) FROM customers NATURAL JOIN orders;
-- Unsupported only tables and SELECTs can be in FROM
SELECT COUNT(*) FROM customers AS c, LATERAL (SELECT * FROM orders AS o WHERE o.customer_id = c.id) AS t;
-- TypeMismatch 1:8 a number is needed here
SELECT SUM(name) FROM products;
-- TypeMismatch
SELECT COUNT(*) FROM customers AS c JOIN orders AS o ON o.customer_id = c.id AND c.born > o.amount;
