import type { ReactNode } from "react";
import { bytes, decimal, rate, whole } from "../format/numbers";
import { moment } from "../format/times";
import { Facts } from "./Facts";
import { Reasons } from "./Reasons";
import { Table } from "./Table";

/** Any JSON value in rows and tables, for what has no view of its own. */
export function Document({ value, name = "" }: { value: unknown; name?: string }) {
  return <>{shown(value, name)}</>;
}

type Row = Readonly<Record<string, unknown>>;

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null && !Array.isArray(value);

export const label = (name: string): string => name.replace(/_(at_)?ms$/, "").replaceAll("_", " ");

function shown(value: unknown, name: string): ReactNode {
  if (value === null || value === undefined) return <span className="dim">none</span>;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return numbered(value, name);
  if (typeof value === "string") return value === "" ? <span className="dim">none</span> : value;
  if (Array.isArray(value)) return listed(value, name);
  if (!isRow(value)) return String(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return <span className="dim">none</span>;
  return <Facts facts={entries.map(([key, one]) => [label(key), <Document key={key} value={one} name={key} />])} />;
}

function numbered(value: number, name: string): string {
  if (/(_ms|_at|_since)$/.test(name) && value > 1e12) return moment(value);
  if (/rate_limit$/.test(name)) return rate(value);
  if (/bytes$/.test(name) && value > 9_999) return bytes(value);
  return Number.isInteger(value) ? whole(value) : decimal(value);
}

function listed(values: readonly unknown[], name: string): ReactNode {
  if (values.length === 0) return <span className="dim">none</span>;
  if (values.every((one) => isRow(one) && "what" in one && "fix" in one)) return <Reasons reasons={values as never} />;
  const rows = values.filter(isRow);
  if (rows.length === values.length) {
    const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    return (
      <Table
        caption={label(name)}
        rows={rows}
        rowKey={(_, index) => String(index)}
        columns={keys.map((key) => ({
          key,
          label: label(key),
          head: label(key),
          cell: (row: Row) => <Document value={row[key]} name={key} />,
        }))}
      />
    );
  }
  if (values.every((one) => typeof one !== "object")) return values.map((one) => shown(one, name)).reduce(joined, "");
  return (
    <ul>
      {values.map((one, index) => (
        <li key={index}>
          <Document value={one} name={name} />
        </li>
      ))}
    </ul>
  );
}

const joined = (before: ReactNode, next: ReactNode): ReactNode =>
  before === "" ? (
    next
  ) : (
    <>
      {before}, {next}
    </>
  );
