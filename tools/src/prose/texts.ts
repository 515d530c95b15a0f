import { type Expression, Visitor } from 'oxc-parser';
import { isTest, type Source } from '../structure/sources.ts';

export type Kind = 'doc' | 'cell' | 'comment' | 'message' | 'title';

/** A piece of prose: a paragraph or table cell of a page, a comment, a message, or the title of a test. */
export interface Text {
  kind: Kind;
  /** The line on which it starts. */
  line: number;
  text: string;
  /** Length of a table cell with its code, in characters. */
  shown?: number;
}

/** Replaces a piece of code. The parser takes a single letter for an abbreviation, and a small letter for the middle of a sentence. */
export const CODE = 'CODE';

const TITLED = new Set(['describe', 'it', 'test', 'beforeAll', 'suite']);
/** A tool reads these comments, not a person. */
const DIRECTIVE = /^\s*(biome-ignore|@ts-|#|v8 ignore|eslint|[*!]?\s*@vitest)/;

/**
 * The prose of a TypeScript file.
 * - Line comments on adjacent lines are one text.
 * - A message is a string of at least three words.
 * - Strings of tests are data, except the titles.
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
  return found
    .map((text) => ({ ...text, text: withoutCode(text.text.replace(/\{\{.*?\}\}/g, CODE)) }))
    .filter(({ text }) => isProse(text));
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
  return found.map((comment) => ({ ...comment, text: withoutCode(comment.text) })).filter(({ text }) => isProse(text));
}

function stringsOf({ path, parsed }: Source, lineOf: (offset: number) => number): Text[] {
  const found: Text[] = [];
  const titles = new Set<number>();
  const add = (start: number, value: string) => {
    const title = titles.has(start);
    if (!title && isTest(path)) return;
    const text = withoutCode(value.includes('\n') ? withoutCodeLines(value) : value);
    if (isProse(text)) found.push({ kind: title ? 'title' : 'message', line: lineOf(start), text });
  };
  new Visitor({
    CallExpression(node) {
      const [first] = node.arguments;
      if (first !== undefined && TITLED.has(calleeName(node.callee) ?? '')) titles.add(first.start);
    },
    Literal(node) {
      if (typeof node.value === 'string') add(node.start, node.value);
    },
    TemplateLiteral(node) {
      add(node.start, node.quasis.map(({ value }) => value.cooked ?? '').join(CODE));
    },
  }).visit(parsed.program);
  return found;
}

/** The function that a call starts with: `test` of `test.each(rows)('…')`. */
function calleeName(callee: Expression): string | undefined {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'MemberExpression') return calleeName(callee.object);
  if (callee.type === 'CallExpression') return calleeName(callee.callee);
  return undefined;
}

/** The text with one word for each piece of code, so that names count as words and are not searched. */
function withoutCode(text: string): string {
  return text
    .replace(/```[\s\S]*?```/g, '')
    .replace(/\{@link [^}]*\}|`[^`]*`|https?:\/\/[^\s)>]+/g, CODE)
    .trim();
}

const TAG = /<\/?[a-z][^<>]*>/g;
/** Lines of scripts, style sheets, JSON, YAML and Markdown tables. */
const CODE_LINE =
  /^.*(?:[{}();,[\]\\>]|; do|; then|\bdone|\besac)$|^.*(?:=["$]|;;).*$|^[ \t]*(?:[|}:]|case ).*$|^[ \t]*(?:- )?["\w.-]+:(?: \S+){0,3}$/gm;

/** The prose of a generated file: the lines that are not code, and the text between the tags of HTML. */
function withoutCodeLines(text: string): string {
  return text.replace(TAG, '. ').replace(CODE_LINE, '');
}

function isProse(text: string): boolean {
  return /[A-Za-z]{2,}[^A-Za-z]* [^A-Za-z]*[A-Za-z]+[^A-Za-z]* [^A-Za-z]*[A-Za-z]{2,}/.test(text);
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
