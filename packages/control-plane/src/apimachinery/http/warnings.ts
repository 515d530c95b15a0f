/** If the warnings of a response are too long together, the server shortens each warning. */
const LIMIT = 4096;
const CUT = 256;

const runes = (text: string): number => [...text].length;
const cut = (text: string): string => (text.length > CUT ? [...text].slice(0, CUT).join('') : text);

/** The warnings of a response. The list omits duplicates, empty warnings, and warnings with control characters. */
export class Warnings {
  readonly #seen = new Set<string>();
  readonly #out: string[];
  #written = 0;
  #cutting = false;

  constructor(out: string[]) {
    this.#out = out;
  }

  readonly warn = (text: string): void => {
    if (text === '' || this.#seen.has(text) || (this.#cutting && this.#written >= LIMIT)) return;
    this.#seen.add(text);
    if (/\p{Cc}/u.test(text)) return;
    const length = runes(text);
    if (!this.#cutting && this.#written + length > LIMIT) {
      this.#cutting = true;
      const short = this.#out.map(cut);
      this.#out.splice(0, this.#out.length, ...short);
      this.#written = short.reduce((sum, one) => sum + runes(one), 0);
    }
    const shown = this.#cutting ? cut(text) : text;
    this.#written += runes(shown);
    this.#out.push(shown);
  };
}

/**
 * Returns a Warning header (RFC 7234) with the code 299 and no agent. Each byte of the UTF-8 text becomes one
 * character.
 */
export const warningHeader = (text: string): string =>
  Buffer.from(`299 - "${text.replace(/[\\"]/g, '\\$&')}"`).toString('latin1');
