-- Joins, unions, sets.

-- script: a stream with a table
-- edge: visits.user -> out.user identity
-- edge: users.name -> out.name identity
-- edge: visits.n -> out.* join
-- edge: users.id -> out.* join
INSERT INTO out SELECT v.user, u.name FROM visits v JOIN users u ON v.n = u.id;

-- script: an outer join
-- edge: visits.user -> out.user identity
-- edge: users.name -> out.name transformation
-- edge: visits.n -> out.* join
-- edge: users.id -> out.* join
INSERT INTO out SELECT v.user, coalesce(u.name, 'unknown') AS name FROM visits v LEFT JOIN users u ON v.n = u.id;

-- script: two streams within a time
-- edge: visits.user -> out.user identity
-- edge: clicks.ad -> out.ad identity
-- edge: visits.user -> out.* join
-- edge: clicks.user -> out.* join
-- edge: visits.ts -> out.* join
-- edge: clicks.ts -> out.* join
-- edge: visits.ts -> out.* watermark
-- edge: clicks.ts -> out.* watermark
INSERT INTO out SELECT v.user, c.ad
FROM visits WATERMARK ts DELAY OF INTERVAL 10 MINUTES AS v
JOIN clicks WATERMARK ts DELAY OF INTERVAL 20 MINUTES AS c
ON v.user = c.user AND c.ts BETWEEN v.ts AND v.ts + INTERVAL 5 MINUTES;

-- script: USING
-- edge: clicks.user -> out.user identity
-- edge: clicks.ad -> out.ad identity
-- edge: visits.page -> out.page identity
-- edge: clicks.user -> out.* join
-- edge: visits.user -> out.* join
-- reads: clicks.ts clicks.cost
-- reads: visits.ts visits.n visits.price visits.tags visits.props visits.value
INSERT INTO out SELECT user, ad, page FROM clicks JOIN visits USING (user);

-- script: a full outer join by USING takes the key of either side
-- edge: users.id -> out.id transformation
-- edge: orders.id -> out.id transformation
-- edge: users.id -> out.* join
-- edge: orders.id -> out.* join
-- reads: users.name users.country orders.amount
INSERT INTO out SELECT id FROM users FULL JOIN orders USING (id);

-- script: a table with itself
-- edge: users.name -> out.a identity
-- edge: users.name -> out.b identity
-- edge: users.country -> out.* join
INSERT INTO out SELECT a.name AS a, b.name AS b FROM users a JOIN users b ON a.country = b.country;

-- script: every row with every row
-- edge: visits.user -> out.user identity
-- table: users -> out
INSERT INTO out SELECT v.user FROM visits v CROSS JOIN users u;

-- script: a semi join and an anti join
-- edge: visits.user -> out.user identity
-- edge: visits.n -> out.* join
-- edge: users.id -> out.* join
-- edge: visits.user -> out.* join
-- edge: clicks.user -> out.* join
INSERT INTO out SELECT user FROM visits v LEFT SEMI JOIN users u ON v.n = u.id LEFT ANTI JOIN clicks c ON v.user = c.user;

-- script: a union
-- edge: visits.user -> out.who identity
-- edge: clicks.ad -> out.who identity
INSERT INTO out SELECT user AS who FROM visits UNION ALL SELECT ad FROM clicks;

-- script: a union whose parts make a column in different ways
-- edge: visits.user -> out.who identity
-- edge: clicks.user -> out.who transformation
-- edge: visits.page -> out.what identity
-- edge: clicks.cost -> out.* filter
INSERT INTO out SELECT user AS who, page AS what FROM visits UNION ALL SELECT upper(user), 'ad' FROM clicks WHERE cost > 0;

-- script: a union without duplicates
-- edge: users.country -> out.country identity
-- edge: cities.country -> out.country identity
-- edge: users.country -> out.* group_by
-- edge: cities.country -> out.* group_by
INSERT INTO out SELECT country FROM users UNION SELECT country FROM cities;

-- script: rows of both
-- edge: users.country -> out.country identity
-- edge: users.country -> out.* join
-- edge: cities.country -> out.* join
INSERT INTO out SELECT country FROM users INTERSECT SELECT country FROM cities;

-- script: rows of one and not the other
-- edge: users.country -> out.country identity
-- edge: users.country -> out.* join
-- edge: cities.country -> out.* join
INSERT INTO out SELECT country FROM users EXCEPT SELECT country FROM cities;

-- script: elements of an array as rows
-- edge: visits.user -> out.user identity
-- edge: visits.tags -> out.tag transformation
-- edge: visits.tags -> out.* filter
INSERT INTO out SELECT user, tag FROM visits LATERAL VIEW explode(tags) t AS tag;

-- script: elements counted and not shown
-- edge: visits.user -> out.user identity
-- edge: visits.tags -> out.* filter
INSERT INTO out SELECT user FROM visits LATERAL VIEW explode(tags) t AS tag;

-- script: entries of a map, in the select list
-- edge: visits.props -> out.k transformation
-- edge: visits.props -> out.v transformation
-- edge: visits.props -> out.* filter
INSERT INTO out SELECT explode(props) AS (k, v) FROM visits;

-- script: structs in an array as columns
-- edge: visits.value.items -> out.sku transformation
-- edge: visits.value.items -> out.* filter
INSERT INTO out SELECT sku FROM visits LATERAL VIEW OUTER inline(value.items) AS sku, qty;

-- script: JSON as columns
-- edge: raw.value -> out.a transformation
-- edge: raw.value -> out.* filter
INSERT INTO out SELECT t.a FROM raw LATERAL VIEW json_tuple(value, 'a', 'b') t AS a, b;

-- script: a subquery for each row
-- edge: visits.user -> out.user identity
-- edge: cities.city -> out.top aggregation
-- edge: cities.country -> out.* filter
-- edge: visits.page -> out.* filter
INSERT INTO out SELECT v.user, t.top FROM visits v, LATERAL (SELECT max(c.city) AS top FROM cities c WHERE c.country = v.page) t;

-- script: a table function of Python for each row
-- edge: visits.user -> out.user identity
-- edge: visits.page -> out.word transformation
-- edge: visits.page -> out.* filter
INSERT INTO out SELECT v.user, w.word FROM visits v, LATERAL words(v.page) w;

-- script: a table function of SQL for each row
-- edge: visits.user -> out.user identity
-- edge: cities.city -> out.town identity
-- edge: cities.country -> out.* filter
-- edge: visits.page -> out.* filter
INSERT INTO out SELECT v.user, t.town FROM visits v, LATERAL towns(v.page) t;
