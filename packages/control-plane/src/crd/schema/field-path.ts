import { isRecord, own } from '../../apimachinery/objects/json-value.ts';
import { type Fields, record } from './fields.ts';

export interface FieldPath {
  readonly path: string;
  readonly root: string;
  readonly schema: Fields | undefined;
}

/** A quoted text may contain delimiters. */
function tokenLength(path: string): number {
  if (path.startsWith("'")) {
    let end = path.indexOf("'", 1);
    while (end > 0 && path[end - 1] === '\\') end = path.indexOf("'", end + 1);
    return end > 0 ? end + 1 : path.length;
  }
  const at = path.search(/[.[\]]/);
  return at === 0 ? 1 : at > 0 ? at : path.length;
}

function tokensOf(path: string): string[] {
  const tokens: string[] = [];
  for (let rest = path; rest !== ''; ) {
    const length = tokenLength(rest);
    tokens.push(rest.slice(0, length));
    rest = rest.slice(length);
  }
  return tokens;
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
};

function unescapeText(quoted: string): string | Error {
  let problem: Error | undefined;
  const plain = quoted.replace(/\\./gs, (match) => {
    const char = own(ESCAPES, match.slice(1));
    if (char === undefined) problem = new Error(`invalid string literal: invalid escape char ${match}`);
    return String(char ?? '');
  });
  return problem ?? plain;
}

const NO_FIELD = 'does not refer to a valid field';
const END = 'unexpected end of JSON path';

class Reader {
  readonly #tokens: readonly string[];
  readonly #allowsBrackets: boolean;
  #at = 0;
  #schema: Fields | undefined;
  #path = '';
  #root = '';

  constructor(path: string, schema: Fields, allowsBrackets: boolean) {
    this.#tokens = tokensOf(path);
    this.#schema = schema;
    this.#allowsBrackets = allowsBrackets;
  }

  read(): FieldPath | string {
    while (this.#at < this.#tokens.length) {
      const problem = this.#step(this.#next() ?? '');
      if (problem !== undefined) return problem;
    }
    return { path: this.#path, root: this.#root, schema: this.#schema };
  }

  #next(): string | undefined {
    return this.#tokens[this.#at++];
  }

  #step(token: string): string | undefined {
    if (token === '.') {
      const name = this.#next();
      return name === undefined ? END : this.#enter(name);
    }
    if (token !== '[') return `expected [ or . but got: ${token}`;
    if (!this.#allowsBrackets) return 'array notation is not allowed';
    const quoted = this.#next();
    if (quoted === undefined) return END;
    if (!/^'.*'$/s.test(quoted)) return `expected single quoted string but got ${quoted}`;
    const name = unescapeText(quoted.slice(1, -1));
    if (name instanceof Error) return name.message;
    const problem = this.#enter(name);
    if (problem !== undefined) return problem;
    const end = this.#next();
    if (end === undefined) return END;
    return end === ']' ? undefined : `expected ] but got ${end}`;
  }

  #enter(name: string): string | undefined {
    const properties = record(this.#schema?.properties);
    if (Object.keys(properties).length > 0) {
      const property = own(properties, name);
      if (!isRecord(property)) return NO_FIELD;
      this.#schema = property;
      this.#root = this.#path === '' ? name : this.#root;
      this.#path += this.#path === '' ? name : `.${name}`;
      return undefined;
    }
    const values = this.#schema?.additionalProperties ?? undefined;
    if (values === undefined) return NO_FIELD;
    this.#schema = isRecord(values) ? values : undefined;
    this.#path += `[${name}]`;
    return undefined;
  }
}

/**
 * Finds the schema of the field at a path such as `.a.b['c d']`, or the reason why the path is invalid.
 * @see k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel/validation.go
 */
export const readFieldPath = (path: string, schema: Fields, allowsBrackets = true): FieldPath | string =>
  new Reader(path, schema, allowsBrackets).read();
