/** Lines are broken at blanks beyond this column. */
const WIDTH = 80;

// Source of all rules here: go-yaml v2, resolve.go, encode.go and emitterc.go. They are kept to the byte, since the name
// of a rendered config is a hash of the text: with another text every node of a taken-over cluster would be updated.

const WORDS: ReadonlySet<string> = new Set(
  ['', '~', '<<', 'y', 'Y', 'n', 'N', '.nan', '.NaN', '.NAN'].concat(
    ['yes', 'no', 'true', 'false', 'on', 'off', 'null'].flatMap((word) => [
      word,
      word.toUpperCase(),
      `${word[0]?.toUpperCase()}${word.slice(1)}`,
    ]),
    ['', '+', '-'].flatMap((sign) => ['.inf', '.Inf', '.INF'].map((word) => sign + word)),
  ),
);

const INTEGER = /^[-+]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[1-9][0-9]*|0)$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const BASE_60 = /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/;
const DATE = /^\d{4}-\d{1,2}-\d{1,2}([Tt ]\d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?(Z|[-+]\d\d:\d\d)?)?$/;

/** Whether a text would be read back as something else than a text. */
function resolves(text: string): boolean {
  if (text === '<<') return false; // a merge key is not quoted by the original
  if (WORDS.has(text)) return true;
  if (!/^[-+.0-9]/.test(text)) return false;
  const plain = text.replaceAll('_', '');
  return (text[0] !== '.' && INTEGER.test(plain)) || FLOAT.test(plain) || BASE_60.test(text) || DATE.test(text);
}

/** The usual case: no blank, no sign that could mean something. */
const SIMPLE = /^[A-Za-z/$();\\^_][!-~]*$/;

/** Prints a key: on one line. */
export const printKey = (key: string): string => print(key, 0, 0, true);

/**
 * Prints a text as the value of a key or an entry of a list.
 * @param indent columns before further lines
 * @param column column at which the text begins
 */
export const printText = (text: string, indent: number, column: number): string => print(text, indent, column, false);

function print(text: string, indent: number, column: number, key: boolean): string {
  if (SIMPLE.test(text) && !text.endsWith(':') && !WORDS.has(text)) return text;
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

/** Which styles a text allows. */
function analyze(text: string): Traits {
  const special = SPECIAL.test(text);
  const breaks = /[\r\n\u0085\u2028\u2029]/.test(text);
  const blankEdges = /^[ \n]|[ \n]$/.test(text);
  const indicators =
    /^(---|\.\.\.)/.test(text) ||
    /^[#,[\]{}&*!|>'"%@`]/.test(text) ||
    /^[-?:]([ \t]|$)/.test(text) ||
    /.:([ \t]|$)/s.test(text) ||
    /[ \t\n]#/.test(text);
  const spaceBeforeBreak = /[ ][\r\n\u0085\u2028\u2029]/.test(text);
  const breakBeforeSpace = /[\r\n\u0085\u2028\u2029][ ]/.test(text);
  const bad = special || spaceBeforeBreak;
  return {
    plain: !bad && !breaks && !blankEdges && !indicators,
    single: !bad && !breakBeforeSpace,
    literal: !bad && !text.endsWith(' '),
  };
}

const newLine = (indent: number): string => `\n${' '.repeat(indent)}`;

/** Plain and single-quoted texts: broken at single blanks. */
function folded(text: string, indent: number, start: number, key: boolean, quoted: boolean): string {
  let column = start;
  let result = '';
  let spaces = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (character !== ' ') {
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
  ...{ '\0': '0', '\u0007': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r' },
  ...{ '\u001b': 'e', '"': '"', '\\': '\\', '\u0085': 'N', '\u00a0': '_', '\u2028': 'L', '\u2029': 'P' },
};

function escapeOf(character: string): string | undefined {
  if (
    character !== '"' &&
    character !== '\\' &&
    character !== '\n' &&
    !/[\u2028\u2029]/.test(character) &&
    !SPECIAL.test(character)
  ) {
    return undefined;
  }
  const short = ESCAPES[character];
  if (short !== undefined) return `\\${short}`;
  const code = character.codePointAt(0) ?? 0;
  const [letter, width] = code <= 0xff ? ['x', 2] : code <= 0xffff ? ['u', 4] : ['U', 8];
  return `\\${letter}${code
    .toString(16)
    .toUpperCase()
    .padStart(width as number, '0')}`;
}

function doubleQuoted(text: string, indent: number, start: number, key: boolean): string {
  const characters = [...text];
  // The original looks at the text's first bytes wherever it stands: a leading byte order mark has all escaped.
  const marked = text.startsWith('\ufeff');
  let column = start + 1;
  let result = '';
  let spaces = false;
  for (const [index, character] of characters.entries()) {
    const escaped = escapeOf(character) ?? (marked ? codeEscape(character) : undefined);
    if (escaped !== undefined) {
      result += escaped;
      column += escaped.length;
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

const codeEscape = (character: string): string => {
  const code = character.codePointAt(0) ?? 0;
  return `\\x${code.toString(16).toUpperCase().padStart(2, '0')}`;
};

function literal(text: string, indent: number): string {
  const hint = /^[ \n]/.test(text) ? '2' : '';
  const chomp = !text.endsWith('\n') ? '-' : text.endsWith('\n\n') || text === '\n' ? '+' : '';
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const pad = ' '.repeat(indent);
  return `|${hint}${chomp}\n${lines.map((line) => (line === '' ? '' : pad + line)).join('\n')}`;
}
