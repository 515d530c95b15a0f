import { yaml } from './yaml.ts';

/** The maximum depth of an object. With this depth, recursive functions need only a small part of the stack. */
export const MAX_DEPTH = 1000;
/**
 * The maximum number of aliases. Aliases are expensive: each alias causes a search of all anchors, and a merge copies
 * all keys.
 */
export const MAX_ALIASES = 200;

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP] = [...'"\\[]{}'].map((c) => c.charCodeAt(0));

export function deepestBracket(text: string): string | undefined {
  if (text.length <= MAX_DEPTH) return undefined;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at += 1;
      while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
    } else if (code === OPEN_LIST || code === OPEN_MAP) {
      depth += 1;
      if (depth > MAX_DEPTH) return text[at];
    } else if (code === CLOSE_LIST || code === CLOSE_MAP) depth -= 1;
  }
  return undefined;
}

/** YAML tokens that start a nested block on the current line. */
const NESTING: ReadonlySet<string> = new Set(['-', '?']);
const TAB = 9;
const BLANK = 32;
const BYTE_ORDER_MARK = 0xfeff;

/** Returns whether a token of the YAML lexer leaves the nesting unchanged, such as a document mark. */
function isMark(token: string): boolean {
  const code = token.charCodeAt(0);
  return (code < BLANK && code !== TAB) || code === BYTE_ORDER_MARK;
}

/** Computes the depth of a YAML text from the tokens that have been read so far. */
class Levels {
  readonly #columns: number[] = [];
  #flow = 0;
  #column = 0;
  /** Whether a nested block may start at the next token: after indentation, or after a token in `NESTING`. */
  #fresh = true;

  get depth(): number {
    return this.#columns.length + this.#flow;
  }

  read(token: string): void {
    if (token === '\n' || token === '\r\n') {
      this.#column = 0;
      this.#fresh = true;
      return;
    }
    if (isMark(token)) return;
    const isBlank = /^[ \t]/.test(token) || token.startsWith('#');
    if (this.#fresh && this.#flow === 0 && !isBlank) {
      while ((this.#columns.at(-1) ?? -1) >= this.#column) this.#columns.pop();
      this.#columns.push(this.#column);
      this.#fresh = NESTING.has(token);
    }
    if (token === '[' || token === '{') this.#flow += 1;
    if (token === ']' || token === '}') this.#flow = Math.max(0, this.#flow - 1);
    this.#column += token.length;
  }
}

/**
 * Returns the error of Go for a YAML text that is too expensive to parse, or undefined. Only the lexer reads the text,
 * so the check needs linear time.
 */
export function yamlExcess(text: string): string | undefined {
  if (text.length <= MAX_DEPTH) return undefined;
  const { Lexer } = yaml();
  const levels = new Levels();
  let aliases = 0;
  let line = 1;
  for (const token of new Lexer().lex(text)) {
    levels.read(token);
    if (levels.depth > MAX_DEPTH) return `${line > 1 ? `line ${line}: ` : ''}exceeded max depth of 10000`;
    if (token.startsWith('*')) aliases += 1;
    if (aliases > MAX_ALIASES) return 'document contains excessive aliasing';
    for (let at = token.indexOf('\n'); at >= 0; at = token.indexOf('\n', at + 1)) line += 1;
  }
  return undefined;
}
