/** What a text without quotes is, as the service reads its own files (YAML 1.1). */
export type Scalar = string | number | boolean | null;

const EMPTY = /^(?:|~|null|Null|NULL)$/;
const TRUE = /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const FALSE = /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const WHOLE = /^[-+]?(?:0|[1-9]\d*)$/;
/** What the service would read as another number, as a time or as a mark: who means a text puts it in quotes. */
const OTHERWISE = [
  /^[-+]?\d[\d_]*\.[\d_]*(?:[eE][-+]\d+)?$/,
  /^\.\d[\d_]*(?:[eE][-+]\d+)?$/,
  /^[-+]?\d[\d_]*(?::[0-5]?\d)+\.[\d_]*$/,
  /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  /^[-+]?(?:0b[01_]+|0[0-7_]+|0x[\da-fA-F_]+|0|[1-9][\d_]*|[1-9][\d_]*(?::[0-5]?\d)+)$/,
  /^\d{4}-(?:\d\d-\d\d|\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)$/,
  /^(?:<<|=)$/,
];

/** The value of a text without quotes; throws where it is not clear whether it is one. */
export function scalarOf(text: string): Scalar {
  if (EMPTY.test(text)) return null;
  if (TRUE.test(text)) return true;
  if (FALSE.test(text)) return false;
  if (WHOLE.test(text)) {
    const found = Number(text);
    if (Number.isSafeInteger(found)) return found;
  }
  if (OTHERWISE.some((one) => one.test(text))) throw new SyntaxError(`${text} is no text as it stands here: put it in quotes`);
  return text;
}

/** Whether a text means itself without quotes, wherever it stands. */
export const isPlain = (text: string): boolean => {
  if (!/^[A-Za-z_/][\w./-]*$/.test(text)) return false;
  try {
    return scalarOf(text) === text;
  } catch {
    return false;
  }
};
