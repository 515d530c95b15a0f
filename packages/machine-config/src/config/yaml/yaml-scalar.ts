import { isWord, resolves } from './yaml-resolve.ts';

const WIDTH = 80;
const SIMPLE_KEY_BYTES = 128;

// The rules in this file come from go-yaml v2, encode.go and emitterc.go. The YAML output must equal the output of the
// original, because the name of a rendered config is a hash of the output. With another name of the rendered config, a
// take-over would update every node.

const SIMPLE = /^[A-Za-z/$();\\^_][!-~]*$/;

const isSimple = (text: string): boolean => SIMPLE.test(text) && !text.endsWith(':') && !isWord(text);

export function printKey(key: string): string | undefined {
  if (isSimple(key) && key.length <= SIMPLE_KEY_BYTES) return key;
  if (BREAK.test(key) || Buffer.byteLength(key) > SIMPLE_KEY_BYTES) return undefined;
  return print(key, 0, 0, true);
}

export const printText = (text: string, indent: number, column: number): string => print(text, indent, column, false);

function print(text: string, indent: number, column: number, key: boolean): string {
  if (isSimple(text)) return text;
  const traits = analyze(text);
  if (text.includes('\n')) {
    return !key && traits.literal ? literal(text, indent) : doubleQuoted(text, indent, column, key);
  }
  if (resolves(text)) return doubleQuoted(text, indent, column, key);
  if (traits.plain) return folded(text, indent, column, key, false);
  return traits.single ? `'${folded(text, indent, column + 1, key, true)}'` : doubleQuoted(text, indent, column, key);
}

interface Traits {
  readonly plain: boolean;
  readonly single: boolean;
  readonly literal: boolean;
}

const SPECIAL = /[^\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/;
const BREAK = /[\r\n\u0085\u2028\u2029]/;
/** The line separators that the original does not escape. */
const LINE_END = /[\n\u2028\u2029]/;

function analyze(text: string): Traits {
  const special = SPECIAL.test(text);
  const indicators =
    /^(---|\.\.\.)/.test(text) ||
    /^[#,[\]{}&*!|>'"%@`]/.test(text) ||
    /^[-?:]([ \t]|$)/.test(text) ||
    /.:([ \t]|$)/s.test(text) ||
    /[ \t]#/.test(text);
  const spaceBeforeBreak = / [\r\n\u0085\u2028\u2029]/.test(text);
  const breakBeforeSpace = /[\r\n\u0085\u2028\u2029] /.test(text);
  const bad = special || spaceBeforeBreak;
  return {
    plain: !bad && !BREAK.test(text) && !/^ | $/.test(text) && !indicators,
    single: !bad && !breakBeforeSpace,
    literal: !bad && !text.endsWith(' '),
  };
}

const newLine = (indent: number): string => `\n${' '.repeat(indent)}`;

/** The line after U+2028 or U+2029 is indented, unless it contains only the closing quote, as in the original. */
function folded(text: string, indent: number, start: number, key: boolean, quoted: boolean): string {
  let column = start;
  let result = '';
  let spaces = false;
  let broken = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (LINE_END.test(character)) {
      result += character;
      column = 0;
      broken = true;
      continue;
    }
    if (character !== ' ') {
      if (broken) {
        result += ' '.repeat(indent);
        column = indent;
        broken = false;
      }
      result += quoted && character === "'" ? "''" : character;
      column += quoted && character === "'" ? 2 : 1;
      spaces = false;
      continue;
    }
    const inner = !quoted || (index > 0 && index < text.length - 1);
    if (!key && !spaces && column > WIDTH && inner && text[index + 1] !== ' ') {
      result += newLine(indent);
      column = indent;
    } else {
      result += ' ';
      column += 1;
    }
    spaces = true;
  }
  return result;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\0': '0',
  '\u0007': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\u001b': 'e',
  '"': '"',
  '\\': '\\',
  '\u0085': 'N',
  '\u00a0': '_',
  '\u2028': 'L',
  '\u2029': 'P',
};

const mustBeEscaped = (character: string): boolean =>
  character === '"' || character === '\\' || LINE_END.test(character) || SPECIAL.test(character);

function escaped(character: string): string {
  const short = ESCAPES[character];
  if (short !== undefined) return `\\${short}`;
  const code = character.codePointAt(0) ?? 0;
  const [letter, width] =
    code <= 0xff ? (['x', 2] as const) : code <= 0xffff ? (['u', 4] as const) : (['U', 8] as const);
  return `\\${letter}${code.toString(16).toUpperCase().padStart(width, '0')}`;
}

function doubleQuoted(text: string, indent: number, start: number, key: boolean): string {
  const characters = [...text];
  // A text that starts with a byte-order mark is escaped completely, as in the original.
  const marked = text.startsWith('\ufeff');
  let column = start + 1;
  let result = '';
  let spaces = false;
  for (const [index, character] of characters.entries()) {
    if (marked || mustBeEscaped(character)) {
      const sequence = escaped(character);
      result += sequence;
      column += sequence.length;
      spaces = false;
    } else if (character !== ' ') {
      result += character;
      column += 1;
      spaces = false;
    } else {
      if (!key && !spaces && column > WIDTH && index > 0 && index < characters.length - 1) {
        const more = characters[index + 1] === ' ' ? '\\' : '';
        result += newLine(indent) + more;
        column = indent + more.length;
      } else {
        result += ' ';
        column += 1;
      }
      spaces = true;
    }
  }
  return `"${result}"`;
}

function literal(text: string, indent: number): string {
  const hint = /^[ \n\u2028\u2029]/.test(text) ? '2' : '';
  const [last = '', before = ''] = [text.at(-1), text.at(-2)];
  const chomp = !LINE_END.test(last) ? '-' : text.length === 1 || LINE_END.test(before) ? '+' : '';
  const pad = ' '.repeat(indent);
  const lines = text.replace(/[^\n\u2028\u2029]+/g, (line) => pad + line);
  return `|${hint}${chomp}\n${lines}`;
}
