import { USER_DATA_KEY } from '@mcm/api';
import { hideNeedles, needlesOf } from './normal-form.ts';
import { allNeedlesOf, partsOfLine } from './redact.ts';
import { bytesOf, isText, type SecretValue, type SecretValues, textsOf } from './secret-value.ts';

/** The secret values that mcm removes from a text before it stores the text. */
export interface Known {
  readonly secrets: SecretValues | readonly SecretValues[];
  readonly tokens: readonly string[];
}

const HIDDEN = '***';
/** The redaction ignores shorter secret values, because many of them are ordinary words. */
const SHORTEST_SECRET = 6;
/** The redaction ignores shorter lines of the user data, because many of them are ordinary words. */
const SHORTEST_LINE = 12;
/** The redaction ignores shorter encoded texts, because they occur in base64 by chance. */
const SHORTEST_ENCODED = 9;

/**
 * Patterns that match secrets from any source. The time of each match must be linear, because a console output may
 * contain long runs of blanks or token prefixes. A lookahead must precede each lookbehind with white space, so that
 * matches take linear time.
 */
const LOOKS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, // bootstrap token
  /\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}/g, // the start of a JSON Web Token, or the complete token
  /\b(AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /(?=[^\s"'])(?<=\bauthorization["']?\s*[:=]\s*["']?(bearer|basic)\s+)[^\s"']+/gi,
  /(?=[\w.~+/-]{12})(?<=\b(bearer)\s+)[\w.~+/-]{12,}=*/gi,
  /(?=[^\s"',;]{6})(?<=(password|passwd|secret|token|api_?key|access_?key)["']?\s*[:=]\s*["']?)[^\s"',;]{6,}/gi,
  /(?<=:\/\/[^\s/:@]*:)[^\s/@]+(?=@)/g, // password of a URL
];

/**
 * Returns the text without secrets. The redaction finds complete values and single lines, even if they are encoded
 * (base64, URL, JSON), wrapped or colored.
 */
export const scrub = (text: string, known: Known): string => scrubber(known)(text);

/** Prepares the search for secrets once, for many texts. */
export function scrubber(known: Known): (text: string) => string {
  const pieces = piecesOf(known);
  const needles = [
    ...[known.secrets].flat().flatMap((each: SecretValues) => allNeedlesOf(each)),
    ...known.tokens.flatMap((token) => needlesOf(token, SHORTEST_SECRET)),
  ];
  return (text) =>
    LOOKS.reduce((result, look) => result.replace(look, HIDDEN), hideNeedles(hide(text, pieces), needles));
}

function piecesOf({ secrets, tokens }: Known): ReadonlySet<string> {
  const pieces = new Set<string>();
  const add = (piece: string, shortest: number): void => {
    for (const form of formsOf(piece)) {
      const bare = form.replace(/\s/g, '');
      if (bare.length >= shortest) pieces.add(bare);
    }
  };
  for (const token of tokens) for (const part of [token, ...token.split('.')]) add(part, SHORTEST_SECRET);
  for (const [key, value] of [secrets].flat().flatMap((each: SecretValues) => Object.entries(each))) {
    if (key === USER_DATA_KEY) {
      for (const piece of textsOf(value).flatMap(userDataPieces)) add(piece, SHORTEST_LINE);
      for (const piece of binaryPieces(value)) pieces.add(piece);
      continue;
    }
    for (const text of textsOf(value))
      for (const piece of [text.trim(), ...text.split('\n').map((line) => line.trim())]) add(piece, SHORTEST_SECRET);
  }
  return pieces;
}

const userDataPieces = (userData: string): readonly string[] => userData.split('\n').flatMap(partsOfLine);

function formsOf(piece: string): readonly string[] {
  const forms = [piece, encodeURIComponent(piece), JSON.stringify(piece).slice(1, -1)];
  return piece.length < SHORTEST_ENCODED ? forms : [...forms, ...inBase64(piece)];
}

/** Binary data has no lines, so the redaction searches it in parts with this number of bytes. */
const STRETCH = 48;

function binaryPieces(value: SecretValue): readonly string[] {
  const bytes = bytesOf(value);
  if (isText(bytes)) return [];
  const starts = Array.from({ length: Math.ceil(bytes.length / STRETCH) }, (_, i) => i * STRETCH);
  const found = starts.flatMap((from) => inBase64(bytes.subarray(from, from + STRETCH)));
  return found.filter(({ length }) => length >= SHORTEST_LINE);
}

/**
 * Returns base64 texts of a value for all three alignments. The first and last characters of base64 depend on the
 * neighboring bytes, so the search texts omit these characters.
 */
function inBase64(piece: SecretValue): readonly string[] {
  const bytes = bytesOf(piece);
  return [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const from = Math.ceil((offset * 8) / 6);
    const inner = encoded.slice(from, Math.floor(((offset + bytes.length) * 8) / 6));
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** A terminal wraps lines and colors words, so line breaks and escape sequences may occur inside of a secret. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what terminals send
const BETWEEN = /\u001b\[[0-9;?]*[A-Za-z]|\s+/g;

function hide(text: string, pieces: ReadonlySet<string>): string {
  const { bare, at } = withoutBlanks(text);
  const ranges: [number, number][] = [];
  for (const piece of pieces) {
    for (let i = bare.indexOf(piece); i >= 0; i = bare.indexOf(piece, i + 1)) {
      ranges.push([at(i), at(i + piece.length - 1) + 1]);
    }
  }
  ranges.sort(([a], [b]) => a - b);
  let result = '';
  let done = 0;
  for (const [from, to] of ranges) {
    if (from >= done) result += text.slice(done, from) + HIDDEN;
    done = Math.max(done, to);
  }
  return result + text.slice(done);
}

/** Removes white space and escape sequences from a text. */
function withoutBlanks(text: string): { readonly bare: string; readonly at: (index: number) => number } {
  const starts: { readonly bare: number; readonly text: number }[] = [];
  let bare = '';
  let done = 0;
  const keep = (until: number): void => {
    if (until <= done) return;
    starts.push({ bare: bare.length, text: done });
    bare += text.slice(done, until);
  };
  for (const match of text.matchAll(BETWEEN)) {
    keep(match.index);
    done = match.index + match[0].length;
  }
  keep(text.length);
  return {
    bare,
    at: (index) => {
      let low = 0;
      let high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((starts[middle]?.bare ?? 0) <= index) low = middle;
        else high = middle - 1;
      }
      const start = starts[low];
      return start ? start.text + index - start.bare : index;
    },
  };
}
