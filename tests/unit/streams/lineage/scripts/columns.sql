-- Columns, expressions and nested fields.

-- script: a column under its own name
-- edge: visits.user -> out.user identity
INSERT INTO out SELECT user FROM visits;

-- script: a column under another name
-- edge: visits.user -> out.visitor identity
INSERT INTO out SELECT user AS visitor FROM visits;

-- script: all columns of a table
-- edge: clicks.user -> out.user identity
-- edge: clicks.ts -> out.ts identity
-- edge: clicks.ad -> out.ad identity
-- edge: clicks.cost -> out.cost identity
INSERT INTO out SELECT * FROM clicks;

-- script: a function and an operator
-- edge: visits.page -> out.page transformation
-- edge: visits.n -> out.total transformation
-- edge: visits.price -> out.total transformation
INSERT INTO out SELECT upper(page) AS page, n * price AS total FROM visits;

-- script: a cast changes a value
-- edge: visits.n -> out.n transformation
INSERT INTO out SELECT cast(n AS string) AS n FROM visits;

-- script: a cast to the type that a column has changes nothing
-- edge: visits.n -> out.n identity
INSERT INTO out SELECT cast(n AS int) AS n FROM visits;

-- script: a literal has no source
-- edge: visits.user -> out.user identity
INSERT INTO out SELECT user, 'web' AS channel, 1 AS one FROM visits;

-- script: only literals, once for each row
-- table: visits -> out
INSERT INTO out SELECT 'seen' AS word FROM visits;

-- script: a time of its own has no source
-- edge: visits.user -> out.user identity
INSERT INTO out SELECT user, current_timestamp() AS now, uuid() AS id, rand() AS chance FROM visits;

-- script: CASE chooses by one column and takes others
-- edge: visits.n -> out.size conditional
-- edge: visits.page -> out.size transformation
-- edge: visits.user -> out.size transformation
INSERT INTO out SELECT CASE WHEN n > 10 THEN page WHEN n > 5 THEN user ELSE 'small' END AS size FROM visits;

-- script: CASE with a value
-- edge: visits.page -> out.kind conditional
INSERT INTO out SELECT CASE page WHEN 'home' THEN 1 ELSE 2 END AS kind FROM visits;

-- script: IF, NULLIF and COALESCE
-- edge: visits.n -> out.a conditional
-- edge: visits.user -> out.a transformation
-- edge: visits.page -> out.a transformation
-- edge: visits.user -> out.b conditional
-- edge: visits.page -> out.b conditional
-- edge: visits.user -> out.b transformation
-- edge: visits.user -> out.c transformation
-- edge: visits.page -> out.c transformation
INSERT INTO out SELECT if(n > 1, user, page) AS a, nullif(user, page) AS b, coalesce(user, page) AS c FROM visits;

-- script: a comparison as a value
-- edge: visits.n -> out.many transformation
INSERT INTO out SELECT n > 3 AS many FROM visits;

-- script: a field of a struct
-- edge: visits.value.user.id -> out.id identity
INSERT INTO out SELECT value.user.id FROM visits;

-- script: a struct inside a struct as it is, and a function of a field
-- edge: visits.value.user -> out.person identity
-- edge: visits.value.user.name -> out.name transformation
INSERT INTO out SELECT value.user AS person, upper(value.user.name) AS name FROM visits;

-- script: all fields of a struct
-- edge: visits.value.user.id -> out.id identity
-- edge: visits.value.user.name -> out.name identity
INSERT INTO out SELECT value.user.* FROM visits;

-- script: a struct that the query makes
-- edge: visits.user -> out.both transformation
-- edge: visits.page -> out.both transformation
INSERT INTO out SELECT struct(user, page) AS both FROM visits;

-- script: a field of a struct that the query makes
-- edge: visits.user -> out.a identity
-- edge: visits.page -> out.b transformation
-- reads: visits.n
INSERT INTO out SELECT s.a AS a, s.b AS b FROM (SELECT struct(user AS a, upper(page) AS b, n AS c) AS s FROM visits);

-- script: elements of arrays and maps
-- edge: visits.tags -> out.first transformation
-- edge: visits.props -> out.browser transformation
-- edge: visits.value.items -> out.skus transformation
INSERT INTO out SELECT tags[0] AS first, props['browser'] AS browser, value.items.sku AS skus FROM visits;

-- script: a function of each element that also takes a column
-- edge: visits.tags -> out.t transformation
-- edge: visits.user -> out.t transformation
INSERT INTO out SELECT transform(tags, x -> concat(x, user)) AS t FROM visits;

-- script: JSON read by the query itself
-- edge: raw.value -> out.id transformation
-- edge: raw.key -> out.key identity
INSERT INTO out SELECT key, from_json(value, 'id BIGINT, name STRING').id AS id FROM raw;

-- script: JSON written
-- edge: visits.user -> out.value transformation
-- edge: visits.n -> out.value transformation
-- edge: visits.user -> out.key identity
INSERT INTO out SELECT user AS key, to_json(struct(user, n)) AS value FROM visits;

-- script: JSON by a path
-- edge: raw.value -> out.city transformation
INSERT INTO out SELECT get_json_object(value, '$.address.city') AS city FROM raw;

-- script: a function of Python
-- edge: visits.user -> out.short transformation
-- edge: visits.page -> out.short transformation
INSERT INTO out SELECT shorten(user, page) AS short FROM visits;

-- script: a function of Java
-- edge: visits.user -> out.masked transformation
INSERT INTO out SELECT java_length(user) AS masked FROM visits;

-- script: a function of SQL
-- (Spark hands on every column beside the function's arguments, as SELECT * would.)
-- edge: visits.n -> out.twice transformation
-- reads: visits.user visits.page visits.ts visits.price visits.tags visits.props visits.value
INSERT INTO out SELECT twice(n) AS twice FROM visits;

-- script: an array of columns
-- edge: visits.page -> out.pages transformation
-- edge: visits.user -> out.pages transformation
INSERT INTO out SELECT array(page, user) AS pages FROM visits;
