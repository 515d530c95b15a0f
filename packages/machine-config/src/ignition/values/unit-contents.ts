type PrintText = (text: string) => string;

const MAX_LINE = 2048;

/**
 * Returns the problem of a unit, or undefined if systemd can read it. Like the parser of the original, the check
 * ignores text before the first section. Source: coreos/go-systemd, unit/deserialize.go.
 */
export function unitProblem(contents: string | undefined, print: PrintText = JSON.stringify): string | undefined {
  if (contents === undefined) return undefined;
  if (contents.split(/[\r\n]/).some((line) => Buffer.byteLength(line) >= MAX_LINE)) {
    return 'invalid unit content: line too long (max 2048 bytes)';
  }
  const problem = new Reader(contents, print).problem();
  return problem && `invalid unit content: ${problem}`;
}

const isComment = (character: string): boolean => character === '#' || character === ';';

/**
 * Matches the characters that Go treats as white space: U+0085 is white space in Go, but the byte order mark is not.
 */
const SPACE = /^\p{White_Space}$/u;
const SPACE_AT_THE_ENDS = /^\p{White_Space}+|\p{White_Space}+$/gu;
const trimSpace = (text: string): string => text.replace(SPACE_AT_THE_ENDS, '');

export const printBytes: PrintText = (text) => `[${[...Buffer.from(text)].join(' ')}]`;

class Reader {
  #at = 0;
  readonly #text: string;
  readonly #print: PrintText;

  constructor(text: string, print: PrintText) {
    this.#text = text;
    this.#print = print;
  }

  problem(): string | undefined {
    let inSection = false;
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at] ?? '';
      if (character === '[') {
        const problem = this.#section();
        if (problem !== undefined) return problem;
        inSection = true;
      } else if (isComment(character)) {
        this.#comment();
      } else if (!inSection || SPACE.test(character)) {
        this.#at += 1;
      } else {
        const problem = this.#option();
        if (problem !== undefined) return problem;
      }
    }
    return undefined;
  }

  #line(): string {
    const end = this.#text.indexOf('\n', this.#at);
    const line = end < 0 ? this.#text.slice(this.#at) : this.#text.slice(this.#at, end);
    this.#at = end < 0 ? this.#text.length : end + 1;
    return line;
  }

  #section(): string | undefined {
    const end = this.#text.indexOf(']', this.#at);
    if (end < 0) return 'unable to find end of section';
    this.#at = end + 1;
    const garbage = trimSpace(this.#line());
    return garbage === '' ? undefined : `found garbage after section name : ${this.#print(garbage)}`;
  }

  #comment(): void {
    while (this.#at < this.#text.length && this.#line().replace(/ $/, '').endsWith('\\'));
  }

  #option(): string | undefined {
    const equals = this.#text.indexOf('=', this.#at);
    const name = equals < 0 ? this.#text.slice(this.#at) : this.#text.slice(this.#at, equals);
    if (/[\r\n]/.test(name)) return 'unexpected newline encountered while parsing option name';
    if (equals < 0) return 'EOF';
    this.#at = equals + 1;
    for (;;) {
      const line = this.#line();
      if (!line.endsWith('\\') || this.#at >= this.#text.length) return undefined;
    }
  }
}
