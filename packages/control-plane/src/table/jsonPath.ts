import { isRecord, own } from '../apimachinery/objects/json-value.ts';

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | {
      readonly kind: 'slice';
      readonly from: number | undefined;
      readonly to: number | undefined;
      readonly step: number;
    }
  | { readonly kind: 'all' }
  | { readonly kind: 'descend' }
  | { readonly kind: 'filter'; readonly test: (item: unknown) => boolean }
  | { readonly kind: 'union'; readonly steps: readonly Step[] };

/** The error if a text is not a JSON path of the Kubernetes dialect. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

const FIELD_END = /[.[\]\s{}]/;

class Parser {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  parse(): Step[] {
    const steps: Step[] = [];
    while (this.at < this.text.length) {
      const char = this.text[this.at];
      if (char === '.') {
        this.at++;
        if (this.text[this.at] === '.') {
          this.at++;
          steps.push({ kind: 'descend' });
        }
        if (this.text[this.at] === '[') continue;
        this.pushField(steps);
      } else if (char === '[') {
        steps.push(this.bracket());
      } else if (char === '$' || char === '@') {
        this.at++;
      } else {
        throw new JsonPathError(`unrecognized character in action: ${JSON.stringify(char)}`);
      }
    }
    return steps;
  }

  private pushField(steps: Step[]): void {
    const name = this.field();
    if (name === '*') steps.push({ kind: 'all' });
    else if (name !== '') steps.push({ kind: 'field', name });
  }

  private field(): string {
    let name = '';
    while (this.at < this.text.length) {
      const char = this.text[this.at] ?? '';
      if (char === '\\') {
        name += this.text[this.at + 1] ?? '';
        this.at += 2;
        continue;
      }
      if (FIELD_END.test(char)) break;
      name += char;
      this.at++;
    }
    return name;
  }

  /** Reads the text until the closing bracket that belongs to the bracket at the cursor. */
  private inside(): string {
    const start = ++this.at;
    let depth = 1;
    let quote = '';
    for (; this.at < this.text.length; this.at++) {
      const char = this.text[this.at] ?? '';
      if (quote !== '') {
        if (char === '\\') this.at++;
        else if (char === quote) quote = '';
      } else if (char === '"' || char === "'") quote = char;
      else if (char === '[') depth++;
      else if (char === ']' && --depth === 0) return this.text.slice(start, this.at++).trim();
    }
    throw new JsonPathError('unterminated array');
  }

  private bracket(): Step {
    const inner = this.inside();
    if (inner.startsWith('?(') && inner.endsWith(')')) return { kind: 'filter', test: parseFilter(inner.slice(2, -1)) };
    const parts = splitOutsideQuotes(inner);
    const steps = parts.map(parseSubscript);
    const only = steps[0];
    if (only === undefined) throw new JsonPathError('invalid array index');
    return steps.length === 1 ? only : { kind: 'union', steps };
  }
}

function splitOutsideQuotes(text: string): string[] {
  const parts: string[] = [];
  let quote = '';
  let part = '';
  for (const char of text) {
    if (quote !== '') {
      if (char === quote) quote = '';
    } else if (char === '"' || char === "'") quote = char;
    else if (char === ',') {
      parts.push(part.trim());
      part = '';
      continue;
    }
    part += char;
  }
  parts.push(part.trim());
  return parts;
}

function parseSubscript(text: string): Step {
  const quoted = /^(['"])(.*)\1$/s.exec(text);
  if (quoted !== null) return { kind: 'field', name: (quoted[2] ?? '').replace(/\\(.)/g, '$1') };
  if (text === '*') return { kind: 'all' };
  if (/^-?\d+$/.test(text)) return { kind: 'index', index: Number(text) };
  const slice = /^(-?\d*):(-?\d*)(?::(\d+))?$/.exec(text);
  if (slice === null) throw new JsonPathError(`invalid array index ${text}`);
  const bound = (part: string | undefined): number | undefined =>
    part === undefined || part === '' ? undefined : Number(part);
  return { kind: 'slice', from: bound(slice[1]), to: bound(slice[2]), step: bound(slice[3]) ?? 1 };
}

function parseOperand(text: string): (item: unknown) => unknown[] {
  const trimmed = text.trim();
  const quoted = /^(['"])(.*)\1$/s.exec(trimmed);
  if (quoted !== null) {
    const value = (quoted[2] ?? '').replace(/\\(.)/g, '$1');
    return () => [value];
  }
  if (trimmed === 'true' || trimmed === 'false') return () => [trimmed === 'true'];
  if (/^-?\d+(?:\.\d+)?$/.test(trimmed)) return () => [Number(trimmed)];
  if (!trimmed.startsWith('@') && !trimmed.startsWith('$') && !trimmed.startsWith('.')) {
    throw new JsonPathError(`unrecognized identifier ${trimmed}`);
  }
  const path = compileJsonPath(trimmed);
  return (item) => path(item);
}

function compare(left: unknown, operator: string, right: unknown): boolean {
  switch (operator) {
    case '==':
      return left === right;
    case '!=':
      return left !== right;
    default:
      break;
  }
  if (typeof left !== typeof right || (typeof left !== 'number' && typeof left !== 'string')) return false;
  const [a, b] = [left as number, right as number];
  if (operator === '<') return a < b;
  if (operator === '>') return a > b;
  return operator === '<=' ? a <= b : a >= b;
}

function parseFilter(text: string): (item: unknown) => boolean {
  const parts = /^((?:[^'"=!<>]|'[^']*'|"[^"]*")+?)(==|!=|<=|>=|<|>)\s*(.+)$/s.exec(text.trim());
  if (parts === null) {
    const exists = parseOperand(text);
    return (item) => exists(item).length > 0;
  }
  const left = parseOperand(parts[1] ?? '');
  const right = parseOperand(parts[3] ?? '');
  const operator = parts[2] ?? '';
  return (item) => {
    const [a, b] = [left(item), right(item)];
    return a.length === 1 && b.length === 1 && compare(a[0], operator, b[0]);
  };
}

const MAX_VALUES = 100_000;

class TooMany extends Error {}

function descendants(value: unknown, found: unknown[]): void {
  if (found.push(value) > MAX_VALUES) throw new TooMany();
  if (Array.isArray(value)) for (const item of value) descendants(item, found);
  else if (isRecord(value)) for (const key of Object.keys(value)) descendants(value[key], found);
}

function walk(values: readonly unknown[], step: Step): unknown[] {
  const results: unknown[] = [];
  for (const value of values) {
    if (results.length > MAX_VALUES) throw new TooMany();
    if (step.kind === 'field') {
      if (isRecord(value) && Object.hasOwn(value, step.name)) results.push(own(value, step.name));
    } else if (step.kind === 'descend') {
      descendants(value, results);
    } else if (step.kind === 'union') {
      for (const each of step.steps) results.push(...walk([value], each));
    } else if (Array.isArray(value)) {
      results.push(...walkArray(value, step));
    } else if (step.kind === 'all' && isRecord(value)) {
      for (const key of Object.keys(value).sort()) results.push(value[key]);
    }
  }
  return results;
}

function walkArray(value: readonly unknown[], step: Step): unknown[] {
  switch (step.kind) {
    case 'index': {
      const at = step.index < 0 ? step.index + value.length : step.index;
      return at >= 0 && at < value.length ? [value[at]] : [];
    }
    case 'all':
      return [...value];
    case 'slice':
      return value.slice(step.from, step.to).filter((_, at) => at % step.step === 0);
    case 'filter':
      return value.filter(step.test);
    default:
      return [];
  }
}

/**
 * Compiles a JSON path of kubectl and of CRD columns (`.spec.size`, `.status.conditions[?(@.type=="Ready")].status`).
 * If more than `MAX_VALUES` values exist, the function finds no values.
 * @throws JsonPathError if the text is not a valid path.
 */
export function compileJsonPath(text: string): (object: unknown) => unknown[] {
  const trimmed = text.trim();
  const bare = trimmed.startsWith('{') && trimmed.endsWith('}') ? trimmed.slice(1, -1) : trimmed;
  const steps = new Parser(bare).parse();
  return (object) => {
    let values: readonly unknown[] = [object];
    try {
      for (const step of steps) values = walk(values, step);
    } catch (error) {
      if (error instanceof TooMany) return [];
      throw error;
    }
    return [...values];
  };
}
