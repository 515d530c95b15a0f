import { type Expression, Visitor } from 'oxc-parser';
import { isTest, type Source } from '../structure/sources.ts';

export type Kind = 'doc' | 'cell' | 'comment' | 'message' | 'title';

export interface Text {
  kind: Kind;
  line: number;
  text: string;
  shown?: number;
  code?: readonly string[] | undefined;
  headings?: readonly string[];
}

/** The parser would treat a single letter as an abbreviation, and a small letter as the middle of a sentence. */
export const CODE = 'CODE';

const TITLED = new Set(['describe', 'it', 'test', 'beforeAll', 'suite']);
/** Matches comments for tools. */
const DIRECTIVE = /^\s*(biome-ignore|@ts-|#|v8 ignore|eslint|[*!]?\s*@vitest)/;

/**
 * Returns the prose of a TypeScript file.
 * - Line comments on adjacent lines are one text.
 * - A message is a string with at least three words.
 * - Strings in tests are data, except for titles.
 */
export function textsOf(source: Source): Text[] {
  const lineOf = lineIndex(source.text);
  return [...commentsOf(source, lineOf), ...stringsOf(source, lineOf)].sort((a, b) => a.line - b.line);
}

/** Returns the comments of a manifest, and the summaries of its alerts. */
export function textsOfYaml(yaml: string): Text[] {
  const found: Text[] = [];
  let inComment = false;
  let inSummary = false;
  // A Helm chart escapes the braces in the text of an alert, so the escapes are removed here.
  const lines = yaml.replace(/\{\{ *`(\{\{|\}\})` *\}\}/g, '$1').split('\n');
  for (const [index, line] of lines.entries()) {
    const comment = /^\s*#\s?(.*)$/.exec(line)?.[1];
    const last = found.at(-1);
    if (comment !== undefined && inComment && last !== undefined) last.text += `\n${comment}`;
    else if (comment !== undefined) found.push({ kind: 'comment', line: index + 1, text: comment });
    inComment = comment !== undefined;
    const summary = /^\s*(?:summary|description): ["']?(.*?)["']?$/.exec(line)?.[1];
    if (summary !== undefined) found.push({ kind: 'message', line: index + 1, text: summary });
    const end = /^\s+(?!-)([^:#]*)$/.exec(line)?.[1];
    if (inSummary && end !== undefined && last !== undefined) last.text += ` ${end.replace(/["']$/, '')}`;
    inSummary = summary !== undefined || (inSummary && end !== undefined);
  }
  return found.map((text) => ({ ...text, ...withoutCode(text.text) })).filter(({ text }) => isProse(text));
}

function commentsOf({ text, parsed }: Source, lineOf: (offset: number) => number): Text[] {
  const found: Text[] = [];
  let end = 0;
  for (const comment of parsed.comments) {
    if (DIRECTIVE.test(comment.value)) continue;
    const value = comment.value.replace(/^[ \t]*\*+ ?/gm, '').trim();
    const last = found.at(-1);
    const adjacent = comment.type === 'Line' && /^[ \t]*\n[ \t]*$/.test(text.slice(end, comment.start));
    if (adjacent && last !== undefined) last.text += `\n${value}`;
    else found.push({ kind: 'comment', line: lineOf(comment.start), text: value });
    end = comment.end;
  }
  return found.map((comment) => ({ ...comment, ...withoutCode(comment.text) })).filter(({ text }) => isProse(text));
}

function stringsOf(source: Source, lineOf: (offset: number) => number): Text[] {
  const { path, text: file, parsed } = source;
  const found: { text: Text; literal: number | undefined }[] = [];
  const titles = new Set<number>();
  const skipped = new Set<number>();
  const parts: Parts = { file, ends: endsOf(source), inner: skipped };
  const add = (start: number, value: string, isLiteral = true) => {
    const title = titles.has(start);
    if ((isLiteral && skipped.has(start)) || (!title && isTest(path))) return;
    const plain = withoutCode(value.includes('\n') ? withoutCodeLines(value) : value);
    if (isProse(plain.text))
      found.push({
        text: { kind: title ? 'title' : 'message', line: lineOf(start), ...plain },
        literal: isLiteral ? start : undefined,
      });
  };
  new Visitor({
    CallExpression(node) {
      const [first] = node.arguments;
      // A string on which the code calls `split` is a list of names, not a message.
      const { callee } = node;
      if (callee.type === 'MemberExpression' && file.slice(callee.property.start, callee.property.end) === 'split')
        skipped.add(callee.object.start);
      if (first !== undefined && TITLED.has(calleeName(node.callee) ?? '')) titles.add(first.start);
    },
    BinaryExpression(node) {
      const operands = skipped.has(node.start) ? [] : joined(node);
      if (!operands.some((operand) => literalOf(operand, parts) !== undefined)) return;
      add(node.start, operands.map((operand) => shownOf(operand, parts)).join(''), false);
      for (const { start } of operands) skipped.add(start);
    },
    Literal(node) {
      if (typeof node.value === 'string') add(node.start, node.value);
    },
    TemplateLiteral(node) {
      add(node.start, literalOf(node, parts) ?? '');
    },
  }).visit(parsed.program);
  return found.flatMap(({ text, literal }) => (literal !== undefined && skipped.has(literal) ? [] : [text]));
}

/** Returns the operands of `a + b + c`. */
function joined(node: Expression): Expression[] {
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return [node];
  return [...joined(node.left), node.right];
}

/** Resolves the parts of a message, and records the literals that are only parts of longer texts. */
interface Parts {
  file: string;
  ends: ReadonlyMap<string, Expression>;
  inner: Set<number>;
}

/** Returns the text of a string or template, or undefined for other expressions. */
function literalOf(node: Expression, parts: Parts): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  if (node.type !== 'TemplateLiteral') return undefined;
  const values = node.expressions.map((expression) => shownOf(expression, parts));
  return node.quasis.map(({ value }, index) => `${value.cooked ?? ''}${values[index] ?? ''}`).join('');
}

/** Returns the text of an expression inside of a message. */
function shownOf(node: Expression, parts: Parts): string {
  for (const branch of branchesOf(node, parts)) {
    const text = literalOf(branch, parts);
    if (text === undefined || text === '') continue;
    parts.inner.add(branch.start);
    return text;
  }
  return `\uE000${valueName(parts.file.slice(node.start, node.end))}\uE001`;
}

const END = /^[\s,;:.(]/;

/** Returns the possible values of an expression. */
function branchesOf(node: Expression, parts: Parts): Expression[] {
  if (node.type === 'ParenthesizedExpression') return branchesOf(node.expression, parts);
  // The right operand of `a ?? b` is ignored, unless it is the end of a message.
  if (node.type === 'LogicalExpression')
    return END.test(literalOf(node.right, parts) ?? '') ? branchesOf(node.right, parts) : [node];
  if (node.type === 'ConditionalExpression')
    return [node.consequent, node.alternate].flatMap((branch) => branchesOf(branch, parts));
  const end = node.type === 'Identifier' ? parts.ends.get(node.name) : undefined;
  return end === undefined ? [node] : branchesOf(end, parts);
}

/** Returns the constants with the end of a message, such as `const more = many ? ', and more' : ''`. */
function endsOf({ text: file, parsed }: Source): ReadonlyMap<string, Expression> {
  const found = new Map<string, Expression>();
  const names = new Set<string>();
  const parts: Parts = { file, ends: found, inner: new Set() };
  new Visitor({
    VariableDeclarator({ id, init }) {
      if (id.type !== 'Identifier' || !init) return;
      const isEnd = branchesOf(init, parts).some((branch) => END.test(literalOf(branch, parts) ?? ''));
      if (names.has(id.name)) found.delete(id.name);
      else if (isEnd) found.set(id.name, init);
      names.add(id.name);
    },
  }).visit(parsed.program);
  return found;
}

/** Returns the first name of a call: `test` for `test.each(rows)('…')`. */
function calleeName(callee: Expression): string | undefined {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'MemberExpression') return calleeName(callee.object);
  if (callee.type === 'CallExpression') return calleeName(callee.callee);
  return undefined;
}

/**
 * Replaces each piece of code with the word CODE. The rules count one word for each piece of code, and do not search
 * the code.
 */
function withoutCode(value: string): Pick<Text, 'text' | 'code'> {
  const code: string[] = [];
  const text = value
    .replace(/```[\s\S]*?```/g, '')
    .replace(/\[([^\]]*)\]\([^)\s]*\)/g, '$1')
    .replace(
      /\uE000(.*?)\uE001|\{\{(.*?)\}\}|\{@link ([^}]*)\}|`[^`]*`|https?:\/\/[^\s)>]+/g,
      (all, value, label, link) => {
        code.push(value !== undefined ? `<${value}>` : (label?.trim() ?? link ?? all));
        return CODE;
      },
    )
    .trim();
  return code.length === 0 ? { text } : { text, code };
}

/** Matches `counted(n, 'machine')`, which writes a number with its noun. */
const COUNTED = /^counted\(.+, '([\w ]+)'\)$/s;
/** Matches a call that formats its first argument: `errorText(error)`. */
const CALL = /^(?:await )?(?:new )?[\w.]*\w\(\s*([\w?!.[\]]+)\s*[,)]/;
/** Matches a call that formats its object: `names.join(', ')`, `[...known].join(', ')`. */
const METHOD =
  /^(?:\[\.\.\.)?([\w?!.#[\]]+?)\]?\??\s*\.(?:join|map|slice|toISOString|toString|toFixed|trim|toLowerCase|filter|sort|toSorted|flatMap|replace|replaceAll|split)\(/;
/** Matches an entry of a list or map: `names[0]`, `labels?.[KEY]`. */
const ENTRY = /^([\w?!.#]+?)(?:\?\.)?\[[^\]]*\]/;
/** Matches an operand on the left: `ms / 1000`, `name ?? ''`. */
const OPERAND = /^([\w?!.#]+) (?:\?\?|[-+*/])/;
const VAGUE = /^(name|namespace|message|code|reason|kind|id|key|version|text)$/;
/** Parts of every Kubernetes object. */
const COMMON = /^(metadata|spec|status|this|options|data|)$/;

/** Returns some words for an expression in a message: `pod name` for `pod.name`, or `value`. */
function valueName(expression: string): string {
  const noun = COUNTED.exec(expression)?.[1];
  if (noun !== undefined) return `number of ${noun}s`;
  const inner = [METHOD, CALL, OPERAND, ENTRY].map((form) => form.exec(expression)?.[1]).find((name) => name);
  const path = /^(?:[\w?!#]+\.)*[\w#]+[!?]?$/.exec(inner ?? expression)?.[0];
  // The argument in `unhealthyText(o)` means nothing to a reader, so the result contains the name of the function.
  const isShort = path !== undefined && /^(?:\w|\d+|value)$/.test(path);
  const callee = path === undefined || isShort ? /^(?:this\.#?)?(\w{3,})\(/.exec(expression)?.[1] : undefined;
  if (callee !== undefined && !FORMATTER.test(callee)) return plainWords(callee.replace(/(?:Text|Of)$/, ''));
  if (path === undefined) return 'value';
  const [last = '', object = ''] = path.replace(/[?!#]/g, '').split('.').reverse();
  if (last === 'length' || last === 'size') return object === '' ? 'number' : `number of ${plainWords(object)}`;
  return VAGUE.test(last) && !COMMON.test(object) ? `${plainWords(object)} ${last}` : plainWords(last);
}

/** Functions that only change the form of their argument. */
const FORMATTER = /^(?:String|Number|stringify|quoted|counted|escaped|shown|format\w*|encode\w*|errorText)$/;

/** Returns the words of a name, without its unit: `health timeout` for `healthTimeoutMs`. */
function plainWords(name: string): string {
  if (!/^[a-z]/.test(name)) return name;
  const words = name.replace(/(?<=[a-z])(?:Ms|S)$/, '').replace(/(?<=[a-z])(?=[A-Z])/g, ' ');
  return words.replace(/ [A-Z][a-z]*\b/g, (word) => word.toLowerCase()).replace(/ u?id\b/g, (id) => id.toUpperCase());
}

const TAGS = /(?:<\/?[a-z][^<>]*>\s*)+/g;
/** Matches lines of scripts, style sheets, JSON, YAML and Markdown tables, and lines with a shell command. */
const CODE_LINE =
  /^[ \t]*(?:curl|helm|kubectl|npx|openssl) .*$|^.*(?:[{}();,[\]\\>]|; do|; then|\bdone|\besac)$|^.*(?:=["$]|;;).*$|^[ \t]*(?:[|}:]|case ).*$|^[ \t]*(?:- )?["\w.-]+:(?: \S+){0,3}$/gm;

/** Returns the prose of a generated file: lines that are not code, and the text between HTML tags. */
function withoutCodeLines(text: string): string {
  return text.replace(TAGS, (tags) => `. ${tags.replace(/[^\n]/g, '')}`).replace(CODE_LINE, '');
}

/**
 * Matches strings that contain code: TypeScript, CEL, Go templates, Markdown tables, XML, regular expressions, shell
 * commands, SQL or PromQL.
 */
const CODE_STRING =
  /^\^|^<[A-Z]\w*>|^aria-label=|^text\/plain;|^(?:kubectl|set) -|^kubectl (?:annotate|create|delete|describe|get|label|patch) |^exports?[. ]\S+ (?:=|as|from)|@__PURE__|\btype\(self\)|\.matches\('|\bgroup_left\b|^\[ "|^mcm (?:cloud|completion|config|dashboard|debug|down|drain|events|explain|fleet|install|journal|logs|plan|provider|replay|rollout|status|tree|up|zone)\b|^#+ |^#cloud-config|^#!|^<html|\$@|": \{"|&&|\|\||=>|===|\.Values\.|; Path=|"\$\w|^\{"|\\[.SdwW()[]|\(\?[:!=<]|\(not \.|\bnindent\b|^\s*(?:return|const|if|await|throw) [\w.(!]+.*[(;{?]|^export (?:const|\{)|^self \?|^\| |^(?:PRAGMA|INSERT|DELETE FROM|SELECT|UPDATE|CREATE TABLE) |\b(?:sum|max|min|count) by \(|\b(?:sum|max|rate|absent|increase|histogram_quantile)\(/;

/** Returns true if most words are names of code, such as `maxPods`. */
function isNames(text: string): boolean {
  const words = text.match(/[A-Za-z]+/g) ?? [];
  return words.filter((word) => /[a-z][A-Z]/.test(word)).length > words.length / 2;
}

/** Whether many words are numbers: the text is a result of a measurement, such as `23 s; 10 writes; 35 ms CPU`. */
function isMeasurement(text: string): boolean {
  const words = text.split(/\s+/);
  return words.filter((word) => /^\d/.test(word)).length > words.length / 4;
}

function isProse(text: string): boolean {
  const words = /[A-Za-z]{2,}[^A-Za-z]* [^A-Za-z]*[A-Za-z]+[^A-Za-z]* [^A-Za-z]*[A-Za-z]{2,}/.test(text);
  return words && !isNames(text) && !isMeasurement(text) && !(CODE_STRING.test(text) && !text.includes('\n'));
}

function lineIndex(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
