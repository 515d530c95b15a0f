import { CelCompileError } from './ast.ts';

export interface Token {
  readonly kind: 'ident' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'symbol' | 'end';
  readonly text: string;
  readonly at: number;
  readonly value?: string | Uint8Array;
}

const SYMBOLS = [
  '==',
  '!=',
  '<=',
  '>=',
  '&&',
  '||',
  '[',
  ']',
  '{',
  '}',
  '(',
  ')',
  '.',
  ',',
  '-',
  '!',
  '?',
  ':',
  '+',
  '*',
  '/',
  '%',
  '<',
  '>',
];
const SPACE = /(?:[\s]|\/\/[^\n]*)*/y;
const NUMBER = /(?:0x[0-9a-fA-F]+[uU]?|(?:\d+\.\d+(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|\d+[uU]?)/y;
const IDENT = /[A-Za-z_][A-Za-z0-9_]*|`[A-Za-z0-9_.\-/ ]+`/y;
const STRING_START = /([bBrR]{0,2})("""|'''|"|')/y;

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '`': '`',
  '?': '?',
};

/** @throws CelCompileError if a token is invalid */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(source);
  };
  for (;;) {
    at += match(SPACE)?.[0].length ?? 0;
    if (at >= source.length) break;
    const start = match(STRING_START);
    const number = match(NUMBER);
    const ident = match(IDENT);
    if (start !== null) {
      const token = readString(source, at, start[1] ?? '', start[2] ?? '');
      tokens.push(token);
      at += token.text.length;
    } else if (number !== null) {
      tokens.push({ kind: numberKind(number[0]), text: number[0], at });
      at += number[0].length;
    } else if (ident !== null) {
      const text = ident[0].startsWith('`') ? ident[0].slice(1, -1) : ident[0];
      tokens.push({ kind: 'ident', text, at });
      at += ident[0].length;
    } else {
      const symbol = SYMBOLS.find((each) => source.startsWith(each, at));
      if (symbol === undefined) {
        const char = source[at] ?? '';
        throw new CelCompileError(source, [{ at, message: `Syntax error: token recognition error at: '${char}'` }]);
      }
      tokens.push({ kind: 'symbol', text: symbol, at });
      at += symbol.length;
    }
  }
  tokens.push({ kind: 'end', text: '<EOF>', at: source.length });
  return tokens;
}

function numberKind(text: string): Token['kind'] {
  if (/[uU]$/.test(text)) return 'uint';
  return !text.startsWith('0x') && /[.eE]/.test(text) ? 'double' : 'int';
}

function readString(source: string, at: number, prefix: string, quote: string): Token {
  const raw = /r/i.test(prefix);
  const isBytes = /b/i.test(prefix);
  const bytes: number[] = [];
  let text = '';
  let i = at + prefix.length + quote.length;
  const fail = (): never => {
    throw new CelCompileError(source, [
      { at, message: `Syntax error: token recognition error at: '${source.slice(at)}'` },
    ]);
  };
  const push = (piece: string): void => {
    text += piece;
    if (isBytes) bytes.push(...new TextEncoder().encode(piece));
  };
  for (;;) {
    if (i >= source.length || (quote.length === 1 && source[i] === '\n')) fail();
    if (source.startsWith(quote, i)) break;
    const char = String.fromCodePoint(source.codePointAt(i) ?? 0);
    if (char !== '\\' || raw) {
      push(char);
      i += char.length;
      continue;
    }
    const escaped = /\\(?:([abfnrtv\\'"`?])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))/y;
    escaped.lastIndex = i;
    const found = escaped.exec(source);
    if (found === null) return fail();
    const code = found[2] ?? found[3] ?? found[4];
    if (found[1] !== undefined) push(ESCAPES[found[1]] ?? '');
    else {
      const value = code === undefined ? Number.parseInt(found[5] ?? '0', 8) : Number.parseInt(code, 16);
      if (isBytes && (found[2] !== undefined || found[5] !== undefined)) bytes.push(value);
      else push(String.fromCodePoint(value));
    }
    i += found[0].length;
  }
  const whole = source.slice(at, i + quote.length);
  return isBytes
    ? { kind: 'bytes', text: whole, at, value: Uint8Array.from(bytes) }
    : { kind: 'string', text: whole, at, value: text };
}
