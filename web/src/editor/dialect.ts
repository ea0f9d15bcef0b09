import { SQLDialect } from "@codemirror/lang-sql";
import { tagHighlighter, tags } from "@lezer/highlight";

/** Words that are mostly names of columns, such as `at` and `minute`, are none here. */
const WORDS =
  "add all alter analyze and anti any array as asc between both by case cast catalog collate column comment constraint create cross " +
  "cube current current_date current_time current_timestamp current_user database default delay delete desc describe distinct " +
  "distribute drop else end escape except exists explain extended extract external false fetch filter first following for foreign from " +
  "full function grant group grouping having if ignore in inner insert intersect interval into is jar join language last lateral left " +
  "like limit local merge minus namespace natural not null nulls of offset on only options or order outer over overlaps overwrite " +
  "partition partitioned preceding primary properties python qualify range recursive refresh rename replace reset respect return " +
  "returns revoke right rlike rollup row rows schema select semi set sets show some sort stored stream struct table tablesample " +
  "tblproperties temp temporary then to true truncate type unbounded union unique unknown unpivot pivot update use using values view " +
  "watermark when where window with within";

const TYPES =
  "bigint binary boolean byte char date dec decimal double float int integer long numeric real short smallint string timestamp timestamp_ltz " +
  "timestamp_ntz tinyint varchar variant void";

const FUNCTIONS =
  "abs approx_count_distinct approx_percentile array_agg array_contains avg ceil coalesce collect_list collect_set concat concat_ws count " +
  "count_if current_date current_timestamp date_add date_format date_trunc element_at explode first_value floor from_json from_unixtime " +
  "get_json_object greatest hash hex if ifnull json_tuple last_value least length lower lpad ltrim max max_by md5 min min_by nullif nvl " +
  "parse_json percentile posexplode regexp_extract regexp_like regexp_replace round rpad rtrim schema_of_json session_window sha2 size split " +
  "split_part stddev struct substring sum to_csv to_date to_json to_timestamp trim try_cast try_divide try_to_timestamp unix_timestamp upper " +
  "uuid variant_get window window_time xxhash64 year";

/** Spark's SQL, with what scripts of streams add. */
export const spark = SQLDialect.define({
  keywords: WORDS,
  types: TYPES,
  builtin: FUNCTIONS,
  identifierQuotes: "`",
  doubleQuotedStrings: true,
  backslashEscapes: true,
  slashComments: false,
  hashComments: false,
  caseInsensitiveIdentifiers: true,
});

export const names = { keywords: WORDS.split(" "), types: TYPES.split(" "), functions: FUNCTIONS.split(" ") };

/** Which class of the page's styles each kind of word has. */
export const colours = tagHighlighter([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword, tags.self], class: "sql-keyword" },
  { tag: [tags.typeName, tags.className], class: "sql-type" },
  { tag: [tags.standard(tags.name), tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))], class: "sql-function" },
  { tag: [tags.string, tags.special(tags.string)], class: "sql-string" },
  { tag: [tags.number, tags.bool, tags.null], class: "sql-number" },
  { tag: [tags.lineComment, tags.blockComment, tags.comment], class: "sql-comment" },
]);
