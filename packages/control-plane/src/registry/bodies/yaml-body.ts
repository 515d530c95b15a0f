import type { Composer, Document, Pair } from 'yaml';
import { badRequest } from '../../apimachinery/errors/errors.ts';
import { exactInteger, mayHoldLarge } from '../../apimachinery/objects/json.ts';
import { isRecord, put } from '../../apimachinery/objects/json-value.ts';
import { yamlExcess } from '../../apimachinery/objects/nesting.ts';
import { goTags, yaml } from '../../apimachinery/objects/yaml.ts';

/** Converts bigints to numbers. As in `parseJson`, an integer stays a bigint only if a double cannot represent it. */
function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return exactInteger(value.toString(), Number(value));
  // The conversion from YAML to JSON writes a float without a fraction as an integer.
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e21) {
    return exactInteger(BigInt(value).toString(), value);
  }
  if (Array.isArray(value)) return value.map(withNumbers);
  if (isRecord(value)) for (const key of Object.keys(value)) put(value, key, withNumbers(value[key]));
  return value;
}

/**
 * Returns what Go expects in invalid YAML: a closing bracket of a flow list or flow map, or a value after a separator.
 */
const expectedOf = (text: string, message: string): string =>
  /[[{,:]$/.test(text.trimEnd()) || !/end with/.test(message)
    ? 'node content'
    : `',' or '${message.includes('sequence') ? ']' : '}'}'`;

function yamlProblem(error: unknown, text: string): string {
  const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  const number = Number(/at line (\d+)/.exec(message)?.[1] ?? '1');
  if (/Flow map|Flow sequence|end of|end with/.test(message)) {
    return `line ${number}: did not find expected ${expectedOf(text, message)}`;
  }
  const alias = /^Unresolved alias .*: (\S+)$/.exec(message)?.[1];
  if (alias !== undefined) return `unknown anchor '${alias}' referenced`;
  const said = YAML_WORDS.find(([pattern]) => pattern.test(message))?.[1];
  if (said === undefined) return message;
  // For a missing key, Go reports the number of the previous line, except on the first line.
  const line = said === NO_KEY ? number - 1 : number;
  return line > 1 ? `line ${line}: ${said}` : said;
}

const NO_KEY = 'did not find expected key';
const YAML_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^Excessive alias count/, 'document contains excessive aliasing'],
  [/^Maximum call stack/, 'exceeded max depth of 10000'],
  [/^Nested mappings are not allowed|^Implicit keys need/, 'mapping values are not allowed in this context'],
  [/^Missing closing/, 'found unexpected end of stream'],
  [/^Tabs are not allowed|^Plain value cannot start/, 'found character that cannot start any token'],
  [/^All mapping items must start/, NO_KEY],
  [/^Invalid escape sequence/, 'found unknown escape character'],
];

/** Stops the YAML composer at its first error. */
function failFast(composer: Composer, text: string): Composer {
  let fault: YamlFault | undefined;
  const onError = (source: unknown, _code: string, message: string, warning?: boolean): void => {
    if (warning === true) return;
    const from = Array.isArray(source) ? source[0] : source;
    const offset = typeof from === 'object' && from !== null && 'offset' in from ? from.offset : from;
    const line = text.slice(0, Number(offset)).split('\n').length;
    fault ??= new YamlFault(`${message} at line ${line}`);
    throw fault;
  };
  return Object.assign(composer, { onError });
}

class YamlFault extends Error {}

function composeYaml(text: string, intAsBigInt: boolean): Document.Parsed | undefined {
  const options = {
    version: '1.1',
    merge: true,
    logLevel: 'error',
    uniqueKeys: false,
    intAsBigInt,
    customTags: goTags,
    prettyErrors: false,
  } as const;
  const { Composer: Composing, Parser } = yaml();
  const composer = failFast(new Composing(options), text);
  return composer.compose(new Parser().parse(text)).next().value ?? undefined;
}

/** Reads the first document of a YAML text. The last value of a repeated key counts. */
function readYaml(text: string, intAsBigInt: boolean): unknown {
  const first = composeYaml(text, intAsBigInt);
  if (first === undefined) return null;
  const value: unknown = first.toJS({ maxAliasCount: 100 });
  if (/\.(inf|nan)|[eE]\+?\d{3}/i.test(text)) checkFinite(value);
  return value;
}

/** @throws NoJson if the value contains a number that is not finite */
function checkFinite(value: unknown): void {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new NoJson(`unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`);
  }
  if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) checkFinite(each);
}

class Excess extends Error {}

class NoJson extends Error {}

/**
 * Parses YAML. The errors have the texts of Go's library.
 * @throws StatusError 400 for invalid YAML
 */
export function parseYamlText(text: string, prefix = ''): unknown {
  try {
    const excess = yamlExcess(text);
    if (excess !== undefined) throw new Excess(excess);
    const large = mayHoldLarge(text);
    const value = readYaml(text, large);
    return large || /\d[eE]/.test(text) ? withNumbers(value) : value;
  } catch (error) {
    if (error instanceof Excess) throw badRequest(`${prefix}error converting YAML to JSON: yaml: ${error.message}`);
    if (error instanceof NoJson) throw badRequest(`${prefix}error converting YAML to JSON: json: ${error.message}`);
    throw badRequest(`${prefix}error converting YAML to JSON: yaml: ${yamlProblem(error, text)}`);
  }
}

/** Returns the repeated keys of a YAML text. The function also accepts JSON, because JSON is valid YAML. */
export function repeatedKeys(text: string): string[] {
  const found: string[] = [];
  const { isMap, isNode, isScalar, isSeq } = yaml();
  const lineOf = (offset: number): number => text.slice(0, offset).split('\n').length;
  const visit = (node: unknown): void => {
    if (isSeq(node)) for (const item of node.items) visit(item);
    if (!isMap(node)) return;
    const seen = new Set<unknown>();
    for (const { key, value } of node.items as Pair[]) {
      visit(value);
      const name = isScalar(key) ? key.value : key;
      if (seen.has(name)) {
        const start = isNode(value) ? value.range?.[0] : undefined;
        found.push(`line ${lineOf(start ?? 0)}: key ${JSON.stringify(name)} already set in map`);
      }
      seen.add(name);
    }
  };
  visit(composeYaml(text, false)?.contents);
  return found;
}

/** Joins several errors to one text, in the format of Go's strict YAML decoder. */
export const yamlProblems = (lines: readonly string[]): string => ['yaml: unmarshal errors:', ...lines].join('\n  ');
