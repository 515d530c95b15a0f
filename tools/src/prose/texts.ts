import { type Expression, Visitor } from 'oxc-parser';
import { isTest, type Source } from '../structure/sources.ts';

export type Kind = 'doc' | 'cell' | 'comment' | 'message' | 'title';

/** A text in prose: a paragraph or table cell of a page, a comment, a message, or a test title. */
export interface Text {
  kind: Kind;
  /** The first line of the text. */
  line: number;
  text: string;
  /** The length of a table cell with its code, in characters. */
  shown?: number;
  /** The code that `CODE` replaces, in the order of the text. */
  code?: readonly string[] | undefined;
  /** The headings of the column and of the row of a table cell. */
  headings?: readonly string[];
}

/**
 * The placeholder for code. The parser would treat a single letter as an abbreviation, and a small letter as the middle
 * of a sentence.
 */
export const CODE = 'CODE';

const TITLED = new Set(['describe', 'it', 'test', 'beforeAll', 'suite']);
/** Comments for tools, which are not prose. */
const DIRECTIVE = /^\s*(biome-ignore|@ts-|#|v8 ignore|eslint|[*!]?\s*@vitest)/;

/**
 * The prose of a TypeScript file.
 * - Line comments on adjacent lines are one text.
 * - A message is a string with at least three words.
 * - Strings in tests are data, except for titles.
 */
export function textsOf(source: Source): Text[] {
  const lineOf = lineIndex(source.text);
  return [...commentsOf(source, lineOf), ...stringsOf(source, lineOf)].sort((a, b) => a.line - b.line);
}

/** The comments of a manifest, and the summaries of its alerts. */
export function textsOfYaml(yaml: string): Text[] {
  const found: Text[] = [];
  let inComment = false;
  for (const [index, line] of yaml.split('\n').entries()) {
    const comment = /^\s*#\s?(.*)$/.exec(line)?.[1];
    const last = found.at(-1);
    if (comment !== undefined && inComment && last !== undefined) last.text += `\n${comment}`;
    else if (comment !== undefined) found.push({ kind: 'comment', line: index + 1, text: comment });
    inComment = comment !== undefined;
    const summary = /^\s*(?:summary|description): ["']?(.*?)["']?$/.exec(line)?.[1];
    if (summary !== undefined) found.push({ kind: 'message', line: index + 1, text: summary });
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

function stringsOf({ path, text: file, parsed }: Source, lineOf: (offset: number) => number): Text[] {
  const found: Text[] = [];
  const titles = new Set<number>();
  const lists = new Set<number>();
  const add = (start: number, value: string) => {
    const title = titles.has(start);
    if (lists.has(start) || (!title && isTest(path))) return;
    const plain = withoutCode(value.includes('\n') ? withoutCodeLines(value) : value);
    if (isProse(plain.text)) found.push({ kind: title ? 'title' : 'message', line: lineOf(start), ...plain });
  };
  new Visitor({
    CallExpression(node) {
      const [first] = node.arguments;
      // A text that the code splits into words is a list of names.
      const { callee } = node;
      if (callee.type === 'MemberExpression' && file.slice(callee.property.start, callee.property.end) === 'split')
        lists.add(callee.object.start);
      if (first !== undefined && TITLED.has(calleeName(node.callee) ?? '')) titles.add(first.start);
    },
    Literal(node) {
      if (typeof node.value === 'string') add(node.start, node.value);
    },
    TemplateLiteral(node) {
      const values = node.expressions.map(({ start, end }) => `\uE000${valueName(file.slice(start, end))}\uE001`);
      add(node.start, node.quasis.map(({ value }, index) => `${value.cooked ?? ''}${values[index] ?? ''}`).join(''));
    },
  }).visit(parsed.program);
  return found;
}

/** The first name of a call: `test` for `test.each(rows)('…')`. */
function calleeName(callee: Expression): string | undefined {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'MemberExpression') return calleeName(callee.object);
  if (callee.type === 'CallExpression') return calleeName(callee.callee);
  return undefined;
}

/** Replaces code with placeholders, so that each name counts as one word and is not searched. */
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

/** A word for an expression in a message: the name of the variable or property, or `value`. */
function valueName(expression: string): string {
  return /^(?:[\w?!]+\.)*(\w+)$/.exec(expression)?.[1] ?? 'value';
}

const TAG = /<\/?[a-z][^<>]*>/g;
/** Matches lines of scripts, style sheets, JSON, YAML and Markdown tables. */
const CODE_LINE =
  /^.*(?:[{}();,[\]\\>]|; do|; then|\bdone|\besac)$|^.*(?:=["$]|;;).*$|^[ \t]*(?:[|}:]|case ).*$|^[ \t]*(?:- )?["\w.-]+:(?: \S+){0,3}$/gm;

/** The prose of a generated file: lines that are not code, and the text between HTML tags. */
function withoutCodeLines(text: string): string {
  return text.replace(TAG, '. ').replace(CODE_LINE, '');
}

/** Matches strings that are code: of TypeScript, Go templates, Markdown tables, shells, SQL or PromQL. */
const CODE_STRING =
  /&&|\|\||=>|===|\bnindent\b|^\s*(?:return|const|if|await|throw) [\w.(!]+.*[(;{?]|^\| |^(?:PRAGMA|INSERT|DELETE FROM|SELECT|UPDATE|CREATE TABLE) |\b(?:sum|max|min|count) by \(|\b(?:sum|max|rate|absent|increase|histogram_quantile)\(/;

/** Whether most words are names of code, such as `maxPods`: the text is a list of names. */
function isNames(text: string): boolean {
  const words = text.match(/[A-Za-z]+/g) ?? [];
  return words.filter((word) => /[a-z][A-Z]/.test(word)).length > words.length / 2;
}

function isProse(text: string): boolean {
  const words = /[A-Za-z]{2,}[^A-Za-z]* [^A-Za-z]*[A-Za-z]+[^A-Za-z]* [^A-Za-z]*[A-Za-z]{2,}/.test(text);
  return words && !isNames(text) && !(CODE_STRING.test(text) && !text.includes('\n'));
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
