/** The escape sequences of Go's `strconv.Quote`. */
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** Matches characters that Go's `strconv.Quote` does not escape. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

function escapedInGo(char: string): string {
  const known = ESCAPES[char];
  if (known !== undefined || PRINTABLE.test(char)) return known ?? char;
  const code = char.codePointAt(0) ?? 0;
  const [prefix, digits] = code < 0x20 || code === 0x7f ? ['\\x', 2] : code <= 0xffff ? ['\\u', 4] : ['\\U', 8];
  return `${prefix}${code.toString(16).padStart(digits, '0')}`;
}

const quotedInGo = (text: string): string => `"${[...text].map(escapedInGo).join('')}"`;

/** Formats JSON like Go, which also escapes characters with a meaning in HTML and JavaScript. */
const jsonOfGo = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/**
 * Collects problems of fields. The messages equal the messages of the Kubernetes validation library (apimachinery
 * `field.Error`).
 */
export class FieldErrors {
  readonly #errors: string[] = [];

  required(path: string, detail: string): void {
    this.#errors.push(`${path}: Required value: ${detail}`);
  }

  invalid(path: string, value: unknown, detail: string): void {
    const shown = typeof value === 'string' ? quotedInGo(value) : jsonOfGo(value);
    this.#errors.push(`${path}: Invalid value: ${shown}: ${detail}`);
  }

  /** Go formats a value of a named string type as JSON in an error. */
  invalidConstant(path: string, value: string, detail: string): void {
    this.#errors.push(`${path}: Invalid value: ${jsonOfGo(value)}: ${detail}`);
  }

  unsupported(path: string, value: string, supported: readonly string[]): void {
    const known = supported.map(quotedInGo).join(', ');
    this.#errors.push(`${path}: Unsupported value: ${quotedInGo(value)}: supported values: ${known}`);
  }

  /** Go formats the value of a pointer field as JSON in an error. */
  unsupportedPointer(path: string, value: string, supported: readonly string[]): void {
    const known = supported.map(quotedInGo).join(', ');
    this.#errors.push(`${path}: Unsupported value: ${jsonOfGo(value)}: supported values: ${known}`);
  }

  forbidden(path: string, detail: string): void {
    this.#errors.push(`${path}: Forbidden: ${detail}`);
  }

  get all(): readonly string[] {
    return this.#errors;
  }

  text(): string | undefined {
    const distinct = [...new Set(this.#errors)];
    return distinct.length > 1 ? `[${distinct.join(', ')}]` : distinct[0];
  }
}
