"""Relations over the tables of `units`: what is answered, and what is refused."""

from __future__ import annotations

from typing import NamedTuple


class Answered(NamedTuple):
    """What is read, and an aggregate over it."""

    read: str
    aggregate: str
    change: int
    """The most that the rows of one customer change it."""
    reached: bool = True
    """Whether a database of `test_joins` shows that they do."""

    @property
    def sql(self) -> str:
        """The statement."""
        return f"SELECT {self.aggregate} FROM {self.read}"


ANSWERED = [
    Answered("c JOIN r ON c.reg = r.id", "COUNT(*)", 1),
    Answered("r, c WHERE c.reg = r.id AND r.name = 'n'", "COUNT(*)", 1),
    Answered("c JOIN rd ON c.reg = rd.id", "COUNT(*)", 2),
    Answered("c CROSS JOIN rd WHERE rd.day = c.reg", "COUNT(*)", 1),
    Answered("c LEFT JOIN r ON c.reg = r.id", "SUM(CASE WHEN r.name IS NULL THEN 1 ELSE 0 END)", 1),
    Answered("c LEFT JOIN rd ON c.reg + 1 = rd.id + 1", "COUNT(*)", 3, reached=False),
    Answered("r JOIN c ON c.reg = r.id LEFT JOIN rd ON rd.id = r.id", "COUNT(c.id)", 2),
    Answered(
        "(SELECT cust, amt FROM o WHERE (SELECT COUNT(*) FROM o d WHERE d.cust = o.cust) > 0) t"
        " JOIN rd ON t.amt = rd.id",
        "COUNT(*)",
        4,
        reached=False,
    ),
    Answered("c JOIN o ON c.id = o.cust", "SUM(amt)", 6),
    Answered(
        "c, o WHERE (c.id = o.cust AND amt > 1) OR (c.id = o.cust AND st = 'x')", "SUM(amt)", 6
    ),
    Answered("o LEFT JOIN c ON o.cust = c.id", "COUNT(*)", 2),
    Answered("c RIGHT JOIN o ON o.cust = c.id AND o.amt = c.reg", "COUNT(*)", 2),
    Answered("l JOIN o ON oid = o.id", "SUM(qty * amt)", 27),
    Answered("o a JOIN o d ON a.cust = d.cust", "COUNT(*)", 4),
    Answered("o a JOIN o d ON a.st = d.st AND a.cust = d.cust", "COUNT(*)", 4),
    Answered(
        "o a LEFT JOIN o d ON a.cust = d.cust AND a.amt < d.amt", "COUNT(*)", 4, reached=False
    ),
    Answered("l a JOIN l d ON a.oid = d.oid", "COUNT(*)", 9),
    Answered("c FULL JOIN o ON c.id = o.cust AND c.reg = o.amt", "COUNT(*)", 3),
    Answered("b JOIN o ON b.cust = o.cust AND b.ref = o.id", "COUNT(*)", 2),
    Answered(
        "c JOIN o ON c.id = o.cust JOIN l ON l.oid = o.id JOIN r ON r.id = c.reg", "SUM(qty)", 9
    ),
    Answered(
        "(SELECT id AS k, reg FROM c WHERE seg = 'A') t LEFT JOIN (SELECT cust, COALESCE(amt, 7) AS a FROM o) u ON t.k = u.cust WHERE a = 3",
        "COUNT(*)",
        2,
    ),
    Answered("c WHERE id NOT IN (SELECT cust FROM o)", "COUNT(*)", 1),
    Answered("c WHERE id IN (SELECT cust FROM o WHERE amt > 1) OR seg = 'A'", "COUNT(*)", 1),
    Answered("c WHERE reg NOT IN (SELECT id FROM r)", "COUNT(*)", 1),
    Answered("c WHERE reg NOT IN (SELECT id FROM rd)", "COUNT(*)", 1),
    Answered(
        "o WHERE amt NOT IN (SELECT amt FROM o p WHERE p.cust = o.cust AND p.id <> o.id)",
        "COUNT(*)",
        2,
    ),
    Answered("o WHERE amt NOT IN (SELECT reg FROM c WHERE c.id = o.cust)", "COUNT(*)", 2),
    Answered("o WHERE id IN (SELECT ref FROM b WHERE b.cust = o.cust)", "COUNT(*)", 2),
    Answered("o WHERE id NOT IN (SELECT oid FROM l WHERE qty > 1)", "COUNT(*)", 2),
    Answered("c WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.cust = c.id AND amt > 1)", "COUNT(*)", 1),
    Answered(
        "c WHERE EXISTS (SELECT 1 FROM rd WHERE rd.id = c.reg AND rd.day < c.reg)", "COUNT(*)", 1
    ),
    Answered(
        "l a WHERE EXISTS (SELECT * FROM l d WHERE d.oid = a.oid AND d.qty <> a.qty) AND NOT EXISTS (SELECT * FROM l e WHERE e.oid = a.oid AND e.qty > a.qty)",
        "COUNT(*)",
        3,
        reached=False,
    ),
    Answered(
        "c", "SUM(CASE WHEN EXISTS (SELECT 1 FROM o WHERE o.cust = c.id) THEN 1 ELSE 0 END)", 1
    ),
    Answered("(SELECT cust, SUM(amt) AS t FROM o GROUP BY cust)", "SUM(t)", 6),
    Answered("(SELECT cust, COUNT(*) AS n FROM o GROUP BY cust HAVING COUNT(*) > 1)", "SUM(n)", 2),
    Answered(
        "(SELECT cust, st, MAX(amt) AS m FROM o GROUP BY 1, st) t", "SUM(m)", 6, reached=False
    ),
    Answered("(SELECT MIN(amt) AS m FROM o WHERE st = 'x' GROUP BY cust)", "SUM(m)", 3),
    Answered(
        "c LEFT JOIN (SELECT cust, COUNT(*) AS n FROM o WHERE amt > 1 GROUP BY cust) x"
        " ON x.cust = c.id",
        "SUM(COALESCE(n, 0))",
        2,
    ),
    Answered(
        "(SELECT c.id, COUNT(o.id) AS n FROM c LEFT JOIN o ON c.id = o.cust GROUP BY c.id) z",
        "SUM(n)",
        2,
    ),
    Answered(
        "(SELECT oid, SUM(qty) AS q, COUNT(DISTINCT qty) AS k FROM l GROUP BY oid)",
        "SUM(q * k)",
        81,
        reached=False,
    ),
    Answered(
        "(SELECT cust, SUM(t) AS w FROM (SELECT cust, st, SUM(amt) AS t FROM o GROUP BY cust, st)"
        " GROUP BY cust)",
        "SUM(w)",
        12,
        reached=False,
    ),
    Answered(
        "(SELECT cust, AVG(amt) * 4 AS a FROM o GROUP BY cust)", "SUM(CAST(a AS INTEGER))", 12
    ),
    Answered(
        "(SELECT c.id AS k, reg FROM c JOIN o ON c.id = o.cust WHERE amt > 1) x"
        " JOIN r ON x.reg = r.id",
        "COUNT(*)",
        2,
    ),
    Answered(
        "(SELECT c.id AS k, o.id AS j FROM c LEFT JOIN o ON c.id = o.cust) x"
        " LEFT JOIN b ON b.cust = x.k",
        "COUNT(*)",
        4,
    ),
    Answered("c WHERE (SELECT COUNT(*) FROM o WHERE o.cust = c.id AND amt > 1) = 0", "COUNT(*)", 1),
    Answered("c", "SUM((SELECT SUM(amt) FROM o WHERE cust = c.id AND st = 'x'))", 6),
    Answered("o p WHERE amt >= (SELECT AVG(amt) FROM o WHERE o.cust = p.cust)", "COUNT(*)", 2),
    Answered(
        "o JOIN c ON c.id = o.cust",
        "SUM((SELECT COALESCE(MAX(qty), 1) + COUNT(*) FROM l WHERE l.oid = o.id))",
        12,
        reached=False,
    ),
    Answered(
        "(SELECT amt FROM o WHERE amt > 1 UNION ALL SELECT amt FROM o WHERE st = 'x')",
        "SUM(amt)",
        12,
    ),
    Answered(
        "(SELECT oid, qty FROM l UNION ALL SELECT id, amt FROM o UNION ALL SELECT NULL, 4 FROM c)",
        "SUM(qty)",
        24,
        reached=False,
    ),
    Answered(
        "(SELECT cust AS k, amt FROM o UNION ALL SELECT id, 7 FROM c) u JOIN c ON c.id = u.k"
        " WHERE amt > 2",
        "COUNT(*)",
        3,
    ),
    Answered(
        "(SELECT k, SUM(v) AS t FROM (SELECT cust AS k, amt AS v FROM o UNION ALL SELECT cust, 3"
        " FROM b) GROUP BY k)",
        "SUM(t)",
        12,
    ),
    Answered(
        "(SELECT c.id AS k, r.name AS s, reg FROM c JOIN r ON c.reg = r.id UNION ALL"
        " SELECT cust, st, amt / 2 FROM o) WHERE s IN ('n', 'x', NULL) AND NOT reg = 2",
        "COUNT(*)",
        3,
    ),
    Answered(
        "(SELECT id, amt FROM o UNION ALL SELECT oid, qty FROM l) u JOIN l ON l.oid = u.id",
        "SUM(u.amt * l.qty)",
        135,
        reached=False,
    ),
    Answered(
        "(SELECT cust, amt, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY id DESC) AS k FROM o)"
        " WHERE k = 1 AND amt > 1",
        "SUM(amt)",
        6,
        reached=False,
    ),
    Answered(
        "(SELECT RANK() OVER (PARTITION BY st, cust ORDER BY amt DESC NULLS LAST) * 10"
        " + DENSE_RANK() OVER (PARTITION BY cust ORDER BY st NULLS FIRST, amt NULLS FIRST) AS k"
        " FROM o WHERE id > 1)",
        "SUM(k)",
        44,
        reached=False,
    ),
    Answered(
        "(SELECT o.cust AS n, o.id AS j, RANK() OVER (PARTITION BY o.cust ORDER BY amt) AS k"
        " FROM o JOIN c ON c.id = o.cust) t WHERE EXISTS (SELECT 1 FROM o WHERE o.cust = n"
        " AND o.id >= j)",
        "COUNT(*)",
        2,
    ),
    Answered(
        "(SELECT c.seg, ROW_NUMBER() OVER (PARTITION BY o.cust) AS k"
        " FROM c JOIN o ON c.id = o.cust) WHERE k < 3",
        "COUNT(*)",
        2,
    ),
    Answered(
        "(SELECT amt, LAG(amt) OVER (PARTITION BY cust ORDER BY id) AS p,"
        " LEAD(amt, 1, 9) OVER (PARTITION BY cust ORDER BY id) AS n FROM o)",
        "SUM(amt + COALESCE(p, 0) + n)",
        30,
        reached=False,
    ),
    Answered(
        "(SELECT FIRST_VALUE(st) OVER (PARTITION BY cust ORDER BY id) AS s, id,"
        " LAST_VALUE(st) OVER (PARTITION BY cust ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND"
        " UNBOUNDED FOLLOWING) AS z FROM o) WHERE s = 'x' AND COALESCE(z, 'y') >= s",
        "COUNT(*)",
        2,
    ),
    Answered(
        "(SELECT SUM(amt) OVER (PARTITION BY cust ORDER BY id) AS t FROM o)",
        "SUM(t)",
        12,
        reached=False,
    ),
    Answered(
        "(SELECT COUNT(amt) OVER (PARTITION BY cust ORDER BY st) * 5"
        " + MAX(amt) OVER (PARTITION BY cust, st ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT"
        " ROW) AS t, AVG(amt) FILTER (WHERE id > 1) OVER (PARTITION BY cust) * 4 AS a FROM o)",
        "SUM(COALESCE(t, 0) + CAST(COALESCE(a, 0) AS INTEGER))",
        50,
    ),
    Answered(
        "(SELECT o.id, qty, MIN(qty) OVER (PARTITION BY l.oid) AS m, NTH_VALUE(qty, 2) OVER"
        " (PARTITION BY l.oid ORDER BY qty DESC NULLS LAST) AS s FROM l JOIN o ON o.id = l.oid"
        " WHERE o.amt > 0)",
        "SUM(m + COALESCE(s, 0))",
        18,
    ),
    Answered(
        "c WHERE EXISTS (SELECT 1 FROM o JOIN l ON l.oid = o.id WHERE o.cust = c.id AND qty > 1)",
        "COUNT(*)",
        1,
    ),
    Answered(
        "c WHERE id NOT IN (SELECT o.cust FROM o, l, r WHERE l.oid = o.id AND r.id = qty)",
        "COUNT(*)",
        1,
    ),
    Answered(
        "o WHERE id IN (SELECT ref FROM b WHERE b.cust = o.cust AND ref IN (SELECT oid FROM l))",
        "COUNT(*)",
        2,
        reached=False,
    ),
    Answered(
        "c WHERE id IN (SELECT cust FROM o WHERE id IN (SELECT oid FROM l WHERE qty - 2 IN"
        " (SELECT id FROM r WHERE name = 'n')) AND NOT amt = 2)",
        "COUNT(*)",
        1,
    ),
    Answered(
        "c WHERE reg IN (SELECT rd.day FROM r JOIN rd ON rd.id = r.id WHERE name = 'n')",
        "COUNT(*)",
        1,
    ),
    Answered(
        "o x WHERE amt NOT IN (SELECT l.qty FROM o JOIN l ON l.oid = o.id WHERE o.cust = x.cust"
        " AND o.id <> x.id AND o.amt > 0)",
        "COUNT(*)",
        2,
    ),
    Answered(
        "o WHERE EXISTS (SELECT 1 FROM c LEFT JOIN o d ON d.cust = c.id AND d.amt > 2"
        " WHERE c.id = o.cust AND (d.id IS NULL OR d.id >= o.id))",
        "COUNT(*)",
        2,
    ),
    Answered(
        "b WHERE ref IN (SELECT o.id FROM o JOIN l ON l.oid = o.id WHERE o.id IS NOT NULL)",
        "COUNT(*)",
        2,
        reached=False,
    ),
    Answered("c WHERE id IN (SELECT cust FROM o GROUP BY cust HAVING COUNT(*) > 1)", "COUNT(*)", 1),
    Answered(
        "o WHERE id NOT IN (SELECT o.id FROM o JOIN l ON l.oid = o.id GROUP BY o.id"
        " HAVING SUM(qty) > 3)",
        "SUM(amt)",
        6,
        reached=False,
    ),
]

REFUSED = {
    "r LEFT JOIN c ON c.reg = r.id": "a row of r without a match",
    "c RIGHT JOIN r ON c.reg = r.id": "a row of r without a match",
    "c FULL JOIN r ON c.reg = r.id": "a row of r without a match",
    "o a JOIN o d ON a.st = d.st": "a and d are joined on st, which does not say",
    "c, o": "c and o are joined and nothing says",
    "c JOIN o USING (id)": "c and o are joined on id, which does not say",
    "c JOIN o ON c.id <> o.cust": "c and o are joined and nothing says",
    "c JOIN o ON c.id = o.cust OR c.reg = o.amt": "c and o are joined and nothing says",
    "c WHERE EXISTS (SELECT 1 FROM o WHERE o.amt = c.reg)": "whether another customer has such",
    "c WHERE EXISTS (SELECT 1 FROM o)": "whether another customer has such",
    "c WHERE reg IN (SELECT amt FROM o)": "whether another customer has such",
    "c WHERE reg NOT IN (SELECT amt FROM o)": "whether another customer has such",
    "c WHERE EXISTS (SELECT 1 FROM o JOIN l ON l.oid = o.id WHERE qty = reg)": "whether another cu",
    "c WHERE reg IN (SELECT qty FROM o JOIN l ON l.oid = o.id)": "whether another customer has such",
    "c WHERE id IN (SELECT cust FROM o WHERE amt IN (SELECT reg FROM c))": "whether another cust",
    "c WHERE EXISTS (SELECT 1 FROM o JOIN l ON o.st = 'x' WHERE o.cust = id)": "l and o are joined",
    "c WHERE EXISTS (SELECT 1 FROM r LEFT JOIN o ON o.amt = r.id WHERE r.id = reg AND o.id IS NULL)": "a row of r w",
    "c WHERE reg IN (SELECT amt FROM o GROUP BY amt HAVING COUNT(*) > 1)": "and this is an answer",
    "c WHERE reg IN (SELECT MAX(amt) FROM o GROUP BY cust)": "whether another customer has such",
    "o p WHERE amt > (SELECT AVG(amt) FROM o WHERE o.st = p.st)": "aggregates the rows of every",
    "(SELECT cust, SUM(amt) AS t FROM o GROUP BY cust LIMIT 1)": "LIMIT inside a subquery chooses",
    "(SELECT ROW_NUMBER() OVER (PARTITION BY st ORDER BY id) AS k FROM o)": "would look at other",
    "(SELECT RANK() OVER (ORDER BY cust, amt) AS k FROM o)": "would look at other rows",
    "(SELECT amt FROM o UNION SELECT reg FROM c)": "UNION makes one row of equal rows",
    "(SELECT amt FROM o UNION ALL SELECT reg FROM c LIMIT 1)": "LIMIT inside a subquery chooses",
    "(SELECT reg FROM c UNION ALL SELECT id FROM r)": "UNION ALL of public rows",
    "c RIGHT JOIN o ON c.id = o.cust WHERE c.id NOT IN (SELECT cust FROM b)": "NULL for a NULL would",
    "o WHERE id NOT IN (SELECT ref FROM b)": "a NULL of another customer would make NOT IN NULL",
}
"""What is read, and of the refusal a part of the message."""
