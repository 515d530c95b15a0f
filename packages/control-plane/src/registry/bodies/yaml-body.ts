import type { Composer } from 'yaml';
import { badRequest } from '../../apimachinery/errors/errors.ts';
import { exactInteger, mayHoldLarge } from '../../apimachinery/objects/json.ts';
import { isRecord, put } from '../../apimachinery/objects/json-value.ts';
import { yamlExcess } from '../../apimachinery/objects/nesting.ts';
import { goTags, yaml } from '../../apimachinery/objects/yaml.ts';

/** Integers as `parseJson` has them: only those that a double cannot hold are bigints. */
function withNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return exactInteger(value.toString(), Number(value));
  // On its way through JSON a whole float loses its exponent, and is an integer then.
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e21) {
    return exactInteger(BigInt(value).toString(), value);
  }
  if (Array.isArray(value)) return value.map(withNumbers);
  if (isRecord(value)) for (const key of Object.keys(value)) put(value, key, withNumbers(value[key]));
  return value;
}

/** What Go misses at the end of a list or map in braces: its end, or what a sign before it promises. */
const expectedOf = (text: string, message: string): string =>
  /[[{,:]$/.test(text.trimEnd()) || !/end with/.test(message)
    ? 'node content'
    : `',' or '${message.includes('sequence') ? ']' : '}'}'`;

/** Go's words for what is wrong with a YAML text, by what the library calls it. */
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
  // Where a key is missed, Go names the line before; and the first line goes without saying.
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

/** Throws the first fault that a composer finds: each costs as much as many nodes, and a text may be full of them. */
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

/** A text that is no YAML. */
class YamlFault extends Error {}

/** The first document of a text in YAML, as Go's library reads it: later values of a key win, and what follows is not looked at. */
function readYaml(text: string, intAsBigInt: boolean): unknown {
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
  const first = composer.compose(new Parser().parse(text)).next().value;
  if (first === undefined) return null;
  const value: unknown = first.toJS({ maxAliasCount: 100 });
  if (/\.(inf|nan)|[eE]\+?\d{3}/i.test(text)) checkFinite(value);
  return value;
}

/** JSON has no such numbers. @throws NoJson */
function checkFinite(value: unknown): void {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new NoJson(`unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`);
  }
  if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) checkFinite(each);
}

/** YAML that costs too much to read. */
class Excess extends Error {}

/** YAML that is well written, and says what JSON cannot. */
class NoJson extends Error {}

/** YAML in the words of Go's library for what is wrong. @throws StatusError 400 */
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
