-- What decides which rows there are: conditions, grouping, order, limits.

-- script: a condition
-- edge: visits.user -> out.user identity
-- edge: visits.n -> out.* filter
INSERT INTO out SELECT user FROM visits WHERE n > 1;

-- script: a condition on two columns, one of them selected
-- edge: visits.user -> out.user identity
-- edge: visits.user -> out.* filter
-- edge: visits.page -> out.* filter
INSERT INTO out SELECT user FROM visits WHERE user IS NOT NULL AND page LIKE '%shop%';

-- script: a condition on a field
-- edge: visits.user -> out.user identity
-- edge: visits.value.user.id -> out.* filter
INSERT INTO out SELECT user FROM visits WHERE value.user.id = 7;

-- script: a count of all rows
-- table: visits -> out
INSERT INTO out SELECT count(*) AS c FROM visits;

-- script: counts and sums by a key
-- edge: visits.user -> out.user identity
-- edge: visits.n -> out.s aggregation
-- edge: visits.page -> out.p aggregation
-- edge: visits.user -> out.* group_by
INSERT INTO out SELECT user, count(*) AS c, sum(n) AS s, count(DISTINCT page) AS p FROM visits GROUP BY user;

-- script: grouped by an expression
-- edge: visits.page -> out.site transformation
-- edge: visits.page -> out.* group_by
INSERT INTO out SELECT substring_index(page, '/', 1) AS site, count(*) AS c FROM visits GROUP BY substring_index(page, '/', 1);

-- script: grouped by a column that is not selected
-- edge: visits.price -> out.m aggregation
-- edge: visits.user -> out.* group_by
INSERT INTO out SELECT max(price) AS m FROM visits GROUP BY user;

-- script: an expression over aggregates
-- edge: visits.price -> out.mean aggregation
-- edge: visits.n -> out.mean aggregation
INSERT INTO out SELECT sum(price * n) / sum(n) AS mean FROM visits;

-- script: an aggregate with a condition of its own
-- edge: visits.user -> out.user identity
-- edge: visits.n -> out.c filter
-- edge: visits.price -> out.s aggregation
-- edge: visits.page -> out.s filter
-- edge: visits.user -> out.* group_by
INSERT INTO out SELECT user, count(*) FILTER (WHERE n > 1) AS c, sum(price) FILTER (WHERE page = 'shop') AS s FROM visits GROUP BY user;

-- script: a sum over CASE
-- edge: visits.price -> out.s aggregation
-- edge: visits.page -> out.s conditional
INSERT INTO out SELECT sum(CASE WHEN page = 'shop' THEN price ELSE 0 END) AS s FROM visits;

-- script: HAVING
-- edge: visits.user -> out.user identity
-- edge: visits.user -> out.* group_by
-- edge: visits.price -> out.* filter
INSERT INTO out SELECT user FROM visits GROUP BY user HAVING sum(price) > 100;

-- script: an aggregate of Python
-- edge: visits.user -> out.user identity
-- edge: visits.price -> out.m aggregation
-- edge: visits.user -> out.* group_by
INSERT INTO out SELECT user, middle(price) AS m FROM visits GROUP BY user;

-- script: DISTINCT
-- edge: visits.user -> out.user identity
-- edge: visits.page -> out.page identity
-- edge: visits.user -> out.* group_by
-- edge: visits.page -> out.* group_by
INSERT INTO out SELECT DISTINCT user, page FROM visits;

-- script: order and limit
-- edge: cities.country -> out.country identity
-- edge: cities.city -> out.* sort
INSERT INTO out SELECT country FROM cities ORDER BY city LIMIT 3;

-- script: ROLLUP
-- edge: cities.country -> out.country identity
-- edge: cities.city -> out.city identity
-- edge: cities.pop -> out.p aggregation
-- edge: cities.country -> out.* group_by
-- edge: cities.city -> out.* group_by
INSERT INTO out SELECT country, city, grouping_id() AS level, sum(pop) AS p FROM cities GROUP BY ROLLUP (country, city);

-- script: PIVOT
-- edge: cities.pop -> out.de aggregation
-- edge: cities.pop -> out.fr aggregation
-- edge: cities.country -> out.de conditional
-- edge: cities.country -> out.fr conditional
-- edge: cities.country -> out.* group_by
INSERT INTO out SELECT * FROM (SELECT country, pop FROM cities) PIVOT (sum(pop) FOR country IN ('de' AS de, 'fr' AS fr));

-- script: UNPIVOT
-- edge: clicks.user -> out.user identity
-- edge: clicks.ad -> out.v identity
-- edge: clicks.ad -> out.v transformation
-- edge: clicks.ad -> out.* filter
INSERT INTO out SELECT user, v FROM (SELECT user, ad, concat(ad, 'x') AS other FROM clicks) UNPIVOT (v FOR k IN (ad, other));

-- script: the pipe syntax
-- edge: cities.country -> out.country identity
-- edge: cities.city -> out.* filter
-- edge: cities.country -> out.* group_by
INSERT INTO out FROM cities |> WHERE city <> 'x' |> AGGREGATE count(*) AS c GROUP BY country |> SELECT country;

-- script: rows spread by a column
-- edge: visits.user -> out.user identity
-- reads: visits.page
INSERT INTO out SELECT user FROM visits DISTRIBUTE BY page;

-- script: a condition on an aggregate over a union of one stream with itself
-- edge: visits.user -> out.who identity
-- edge: visits.page -> out.who identity
-- edge: visits.n -> out.s aggregation
-- edge: visits.price -> out.s aggregation
-- edge: visits.user -> out.* group_by
-- edge: visits.page -> out.* group_by
-- edge: visits.n -> out.* filter
-- edge: visits.price -> out.* filter
INSERT INTO out SELECT who, sum(x) AS s FROM (SELECT user AS who, n AS x FROM visits UNION ALL SELECT page, price FROM visits) GROUP BY who HAVING sum(x) > 3;
