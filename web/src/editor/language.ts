import { python } from "@codemirror/lang-python";
import { spark } from "./dialect";

/** What a text is written in: a script of a stream, or a file of PySpark. */
export type TextKind = "sql" | "pyspark";

export const languageOf = (kind: TextKind) => (kind === "pyspark" ? python().language : spark.language);
