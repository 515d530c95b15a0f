import { isRecord, put } from '../apimachinery/objects/json-value.ts';
import { yaml } from '../apimachinery/objects/yaml.ts';

/** Sorts the keys of all objects, as Go's YAML encoder does. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isRecord(value)) return value;
  const sorted: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) put(sorted, key, sortKeys(value[key]));
  return sorted;
}

const WORDS =
  /^(?:|~|null|Null|NULL|<<|[yYnN]|yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/;
const NUMBER =
  /^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][-+]?\d+)?|\d[\d_]*\.(?:[eE][-+]?\d+)?|\.inf|\.Inf|\.INF)$|^\.(?:nan|NaN|NAN)$/;
const BASE_60 = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/;
const TIME = /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt ]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d*)?(?: ?(?:[Zz]|[-+]\d{1,2}:?\d{0,2}))?)?$/;

/** Returns whether a YAML 1.1 parser would read an unquoted text as another type. */
const isAmbiguous = (text: string): boolean =>
  WORDS.test(text) || NUMBER.test(text) || BASE_60.test(text) || TIME.test(text);

/**
 * Formats YAML like Go's encoder. Ambiguous texts get double quotes. Other texts get single quotes if they need quotes.
 */
export function yamlText(value: unknown): string {
  const { Document, visit } = yaml();
  const document = new Document(sortKeys(value), { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && isAmbiguous(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0, indentSeq: false, singleQuote: true });
}
