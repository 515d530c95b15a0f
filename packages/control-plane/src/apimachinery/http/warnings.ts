/** Runes of all warnings beyond which each is cut short. */
const LIMIT = 4096;
/** Runes that are left of one then. */
const CUT = 256;

const runes = (text: string): number => [...text].length;
const cut = (text: string): string => (text.length > CUT ? [...text].slice(0, CUT).join('') : text);

/** The warnings of one answer: each once, none that is empty or holds control characters, and all of them within bounds. */
export class Warnings {
  readonly #seen = new Set<string>();
  readonly #out: string[];
  #written = 0;
  #cutting = false;

  /** `out` always contains the warnings of the answer. */
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

/** A warning as its header carries it (RFC 7234, code 299, no agent): UTF-8, each byte of it a character. */
export const warningHeader = (text: string): string =>
  Buffer.from(`299 - "${text.replace(/[\\"]/g, '\\$&')}"`).toString('latin1');
