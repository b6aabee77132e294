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
-- Unsupported 1:53 not with a column of the rows around
SELECT COUNT(*) FROM lines WHERE product IN (SELECT product FROM products WHERE price > 20);
-- Unsupported not with a column of the rows around
SELECT COUNT(*) FROM customers AS c WHERE c.id NOT IN (SELECT o.customer_id + c.id FROM orders AS o WHERE o.customer_id = c.id);
-- Unsupported a scalar subquery is not compared with the rows of each customer
SELECT COUNT(*) FROM lines AS l WHERE l.quantity < (SELECT COUNT(*) FROM lines AS m WHERE m.order_id = l.order_id AND m.price > (SELECT AVG(price) FROM lines));
-- Unsupported a scalar subquery is not compared with the rows of each customer
SELECT COUNT(*) FROM customers AS c WHERE (SELECT SUM(CASE WHEN o.amount > (SELECT AVG(amount) FROM orders) THEN 1 ELSE 0 END) FROM orders AS o WHERE o.customer_id = c.id) > 2;
-- Unsupported a scalar subquery is not compared with the rows of each customer
SELECT COUNT(*) FROM customers AS c WHERE (SELECT COUNT(*) * (SELECT AVG(amount) FROM orders) FROM orders AS o WHERE o.customer_id = c.id) > 2;
-- Unsupported aggregates the rows of every customer
SELECT COUNT(*) FROM customers AS c WHERE (SELECT COUNT(*) FROM orders AS o WHERE o.channel = c.segment) > 3;
-- Unsupported whether another customer has such a row is private
SELECT COUNT(*) FROM customers AS c
WHERE EXISTS (SELECT 1 FROM orders AS o JOIN lines AS l ON l.order_id = o.id WHERE l.product = c.region);
-- Unsupported is about the rows of the SELECT that it is in
SELECT COUNT(*) FROM customers AS c
WHERE EXISTS (SELECT 1 FROM orders AS o WHERE o.customer_id = c.id AND EXISTS (SELECT 1 FROM returns r WHERE r.order_id = o.id AND r.day > c.born));

--- Groups of one customer
-- Unsupported 1:41 each group would be one customer
SELECT COUNT(*) FROM customers GROUP BY id;
-- Unsupported FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id)
SELECT customer_id, COUNT(*) FROM orders AS o GROUP BY customer_id;
-- Unsupported 1:8 single rows are never shown
SELECT id FROM customers;
-- Unsupported 1:8 single rows are never shown
SELECT * FROM customers;
-- Unsupported GROUP BY shows the different values of a public table
SELECT id, RANK() OVER (ORDER BY price) FROM products;

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
-- Unsupported GROUP BY x has a row for each value of a list
SELECT o.channel, COUNT(*) FROM orders AS o RIGHT JOIN UNNEST(['web', 'phone']) AS c ON o.channel = c GROUP BY o.channel;
-- Unsupported only tables and SELECTs can be in FROM
SELECT COUNT(*) FROM customers AS c, LATERAL (SELECT * FROM orders AS o WHERE o.customer_id = c.id) AS t;
-- TypeMismatch 1:8 a number is needed here
SELECT SUM(name) FROM products;
-- TypeMismatch
SELECT COUNT(*) FROM customers AS c JOIN orders AS o ON o.customer_id = c.id AND c.born > o.amount;
--- Rows of several customers
-- Unsupported does not say that both rows are of one customer
SELECT COUNT(*) FROM orders a JOIN orders b ON a.channel = b.channel;
-- Unsupported of one customer
SELECT COUNT(*) FROM customers a JOIN customers b ON a.region = b.region;
-- Unsupported of one customer
SELECT COUNT(*) FROM customers c, orders o;
-- Unsupported of one customer
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id < o.customer_id;
-- Unsupported of one customer
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = o.id;
-- Unsupported of one customer
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer_id OR c.region = 1;
-- Unsupported of one customer
SELECT COUNT(*) FROM orders o JOIN lines l ON o.id + 1 = l.order_id;
-- Unsupported of one customer
SELECT COUNT(*) FROM returns r JOIN orders o ON r.day = o.day;
-- Unsupported of one customer
SELECT COUNT(*) FROM orders CROSS JOIN returns;
-- Unsupported NATURAL
SELECT COUNT(*) FROM orders NATURAL JOIN returns;
-- Unsupported of one customer
SELECT COUNT(*) FROM customers c JOIN regions r ON c.region = r.id JOIN customers d ON d.region = r.id;
--- Public rows without a match
-- Unsupported without a match
SELECT r.name, COUNT(*) FROM regions r LEFT JOIN customers c ON c.region = r.id GROUP BY r.name;
-- Unsupported without a match
SELECT COUNT(*) FROM customers c FULL JOIN regions r ON c.region = r.id;
-- Unsupported without a match
SELECT COUNT(*) FROM customers c RIGHT JOIN regions r ON c.region = r.id;
-- Unsupported without a match
SELECT COUNT(r.id) FROM regions r LEFT JOIN customers c ON c.region = r.id;
--- Lookups into the rows of others
-- Unsupported whether another customer has such a row is private
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.amount > 400);
-- Unsupported whether another customer has such a row is private
SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM orders p WHERE p.day = o.day AND p.id <> o.id);
-- Unsupported whether another customer has such a row is private
SELECT COUNT(*) FROM customers WHERE region IN (SELECT product FROM lines);
-- Unsupported whether another customer has such a row is private
SELECT COUNT(*) FROM orders WHERE channel NOT IN (SELECT reason FROM returns);
-- Unsupported and this is an answer
SELECT COUNT(*) FROM customers WHERE segment IN (SELECT channel FROM orders GROUP BY channel HAVING COUNT(*) > 3);
-- Unsupported always gives a row
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id);
-- Unsupported no FULL JOIN
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o FULL JOIN returns r ON r.customer_id = o.customer_id WHERE o.customer_id = c.id);
-- Unsupported aggregates the rows of every customer
SELECT COUNT(*) FROM orders o WHERE amount > (SELECT AVG(amount) FROM orders p WHERE p.channel = o.channel);
-- Unsupported reads one private table
SELECT COUNT(*) FROM customers c WHERE (SELECT COUNT(*) FROM orders o JOIN lines l ON l.order_id = o.id WHERE o.customer_id = c.id) > 3;
-- Unsupported reads one private table
SELECT COUNT(*) FROM lines l WHERE l.price > (SELECT AVG(price) FROM products p WHERE p.id = l.product);
--- Groups of one customer
-- Unsupported names a customer: each group would be one customer
SELECT c.id, SUM(amount) FROM customers c JOIN orders o ON c.id = o.customer_id GROUP BY c.id;
-- Unsupported names a row of a customer
SELECT orders.id, SUM(quantity) FROM orders JOIN lines ON lines.order_id = orders.id GROUP BY orders.id;
-- Unsupported names a row of a customer
SELECT order_id, SUM(quantity) FROM lines GROUP BY order_id;
-- Unsupported
SELECT DISTINCT customer_id FROM orders;
-- Unsupported
SELECT c.name, o.amount FROM customers c JOIN orders o ON c.id = o.customer_id;
-- Unsupported
SELECT * FROM orders LIMIT 10;
--- Within FROM and WITH
-- Unsupported LIMIT would choose among the rows of all
SELECT AVG(amount) FROM (SELECT amount FROM orders ORDER BY amount DESC LIMIT 10) AS t;
-- Unsupported DISTINCT would make one row of several
SELECT COUNT(*) FROM (SELECT DISTINCT channel, day FROM orders) AS t;
-- Unsupported a window would look at other rows
SELECT AVG(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY channel ORDER BY day) AS n FROM orders) AS t;
-- Unsupported RECURSIVE
WITH RECURSIVE t AS (SELECT id FROM orders) SELECT COUNT(*) FROM t;
-- Unsupported answers are joined with answers
SELECT COUNT(*) FROM orders o JOIN (SELECT channel, AVG(amount) AS a FROM orders GROUP BY channel) AS t ON t.channel = o.channel;
-- UnknownName no table
WITH t AS (SELECT COUNT(*) AS n FROM orders) SELECT n FROM t JOIN u ON TRUE;
-- Unsupported
SELECT channel FROM orders UNION ALL SELECT reason FROM returns;
-- TypeMismatch
SELECT COUNT(*) FROM orders UNION ALL SELECT channel, COUNT(*) FROM orders GROUP BY channel;
-- Unsupported
SELECT channel, COUNT(*) FROM orders GROUP BY channel INTERSECT SELECT reason, COUNT(*) FROM returns GROUP BY reason;
--- Names
-- UnknownName one of several columns of that name
SELECT COUNT(day) FROM orders o JOIN returns r ON r.order_id = o.id;
-- UnknownName no column
SELECT SUM(o.quantity) FROM orders o JOIN lines l ON l.order_id = o.id;
-- UnknownName no table order
SELECT COUNT(*) FROM order_s;
-- UnknownName
SELECT COUNT(*) FROM orders o JOIN lines l USING (id);
-- Unsupported
SELECT COUNT(*) FROM orders JOIN orders ON orders.id = orders.id;
--- Keys and bounds
-- Unsupported it has decimals
SELECT amount, COUNT(*) FROM orders GROUP BY amount;
-- MissingBounds
SELECT SUM(LENGTH(name)) FROM customers;
-- TypeMismatch
SELECT SUM(channel) FROM orders;
-- TypeMismatch
SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer_id AND c.segment = o.day;
-- Unsupported
SELECT channel, COUNT(*) FROM orders GROUP BY ROLLUP(channel) ORDER BY amount;
-- Unsupported
SELECT channel, segment, COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer_id GROUP BY channel;
--- What units come to in a group
-- Unsupported contribution_bounds_per_row => (low, high) clamps each row
SELECT MAX(amount, contribution_bounds_per_group => (0, 50)) FROM orders;
-- Unsupported CLAMP(SUM(x), low, high)
SELECT AVG(total) FROM (SELECT customer_id, SUM(amount, contribution_bounds_per_group => (0, 5)) AS total FROM orders GROUP BY customer_id);
-- Unsupported neither DISTINCT nor
SELECT AVG(total) FROM (SELECT customer_id, SUM(DISTINCT amount) AS total FROM orders GROUP BY customer_id);
-- Unsupported rows of an answer have no units
SELECT SUM(n, contribution_bounds_per_group => (0, 5)) FROM (SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel);
-- TypeMismatch a number is needed here
SELECT AVG(day, contribution_bounds_per_group => (0, 5)) FROM orders;
--- Windows over rows
-- Unsupported would look at other rows
SELECT AVG(b) FROM (SELECT LAG(amount) OVER (ORDER BY day) AS b FROM orders) AS t;
-- Unsupported is not worked out over the rows of a unit
SELECT AVG(b) FROM (SELECT NTILE(4) OVER (PARTITION BY customer_id ORDER BY day) AS b FROM orders) AS t;
-- Unsupported QUALIFY is for conditions on windows
SELECT AVG(amount) FROM (SELECT amount FROM orders QUALIFY amount > 3) AS t;
-- MissingBounds over the rows of a unit needs bounds
SELECT AVG(b) FROM (SELECT SUM(LENGTH(name)) OVER (PARTITION BY id) AS b FROM customers) AS t;
--- Answers beside rows
-- Unsupported and this is an answer
WITH big AS (SELECT region FROM customers GROUP BY region HAVING COUNT(*) > 100) SELECT COUNT(*) FROM customers WHERE region IN (SELECT region FROM big);
-- Unsupported and not with private ones
WITH big AS (SELECT region, COUNT(*) AS n FROM customers GROUP BY region) SELECT COUNT(*) FROM customers c JOIN big ON big.region = c.region;
-- Unsupported a subquery gives one value, and this one has
SELECT COUNT(*) FROM customers WHERE region = (SELECT id FROM regions);
-- Unsupported without a match
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy = PUBLIC_GROUPS) c.region, COUNT(*) FROM customers c RIGHT JOIN regions r ON r.id = c.region GROUP BY c.region;
-- Unsupported DISTINCT would make one row of several
SELECT r.landscape, COUNT(*) FROM customers c JOIN (SELECT DISTINCT landscape FROM regions) r ON r.landscape = c.segment GROUP BY r.landscape;
-- Unsupported has no noise, and so no interval
SELECT COUNT(l) FROM (SELECT customer_id, DP_INTERVAL_LOW(SUM(amount)) AS l FROM orders GROUP BY customer_id);
-- Unsupported has no noise, and so no interval
SELECT COUNT(*) FROM customers c WHERE (SELECT DP_INTERVAL_LOW(SUM(o.amount)) FROM orders o WHERE o.customer_id = c.id) > 3;
-- Unsupported report_format goes into the SELECT whose answer is read
SELECT SUM(n, report_format => 'JSON') FROM (SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel);
-- TypeMismatch a report is of a number
SELECT MIN(day, report_format => 'JSON') FROM orders;
-- Unsupported whether NOT IN is NULL for a NULL would depend on the rows of every customer
SELECT COUNT(*) FROM (SELECT o.customer_id AS k, COUNT(*) AS n FROM returns r LEFT JOIN orders o ON o.customer_id = r.customer_id AND o.id = r.order_id GROUP BY o.customer_id) p WHERE p.k NOT IN (SELECT customer_id FROM orders WHERE amount > 50);
-- InvalidOption max_rows_contributed is 20 at most for these tables
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 21) COUNT(*) FROM (SELECT amount FROM orders UNION ALL SELECT amount FROM orders) AS t;
-- InvalidOption OPTIONS are for a SELECT whose answer gets noise
SELECT COUNT(*) FROM customers AS c WHERE EXISTS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) 1 FROM orders AS o WHERE o.customer_id = c.id);
-- InvalidOption OPTIONS are for a SELECT whose answer gets noise
SELECT AVG(n) FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS t;
-- MissingBounds --bounds id=LOW:HIGH, or write CLAMP(x, low, high)
SELECT SUM(o.id) FROM orders AS o JOIN lines AS l ON l.order_id = o.id;
-- Unsupported FLOOR(x / 10) * 10
SELECT o.amount, COUNT(*) FROM orders AS o JOIN lines AS l ON l.order_id = o.id GROUP BY o.amount;
-- MissingBounds write CLAMP(n, low, high)
SELECT SUM(n) FROM (SELECT customer_id, SUM(id) AS n FROM orders GROUP BY customer_id) AS t;
