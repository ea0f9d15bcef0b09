import { isPlain } from "./scalars";

/** A document as YAML that every reader takes for the same: what could be anything but a text is in quotes. */
export function yamlText(value: unknown): string {
  return isFields(value) && Object.keys(value).length ? fields(value, "") : `${inline(value)}\n`;
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isBlock = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length > 0 && !isShort(value);

/** A list of single words stands on one line. */
const isShort = (value: object): boolean =>
  Array.isArray(value) && value.every((one) => typeof one !== "object") && JSON.stringify(value).length < 80;

function fields(value: Readonly<Record<string, unknown>>, indent: string): string {
  return Object.entries(value)
    .map(([name, one]) => `${indent}${text(name)}:${isBlock(one) ? `\n${block(one, `${indent}  `)}` : ` ${inline(one)}\n`}`)
    .join("");
}

function block(value: unknown, indent: string): string {
  if (!Array.isArray(value)) return fields(value as Readonly<Record<string, unknown>>, indent);
  return value
    .map((one: unknown) => (isBlock(one) ? block(one, `${indent}  `).slice(indent.length + 2) : `${inline(one)}\n`))
    .map((one) => `${indent}- ${one}`)
    .join("");
}

function inline(value: unknown): string {
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  return JSON.stringify(value);
}

const text = (value: string): string => (isPlain(value) ? value : JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, escape));

const escape = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
