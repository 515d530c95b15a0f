import { badRequest } from '../apimachinery/errors/errors.ts';
import { labelValueProblems, qualifiedNameProblems } from '../apimachinery/errors/names.ts';
import { ABSENT, type Demand, LABEL } from '../store/demand.ts';

type Labels = Readonly<Record<string, string>> | undefined;

interface Requirement {
  readonly key: string;
  readonly operator: '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';
  readonly values: readonly string[];
}

/** A compiled label selector. */
export type LabelSelector = (labels: Labels) => boolean;

interface Token {
  readonly kind: 'end' | 'identifier' | 'symbol' | 'word';
  readonly text: string;
}

const END: Token = { kind: 'end', text: '' };
const SYMBOLS = '=!(),><';
const OPERATORS = 'in, notin, =, ==, !=, gt, lt';

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (/\s/.test(character)) {
      at++;
    } else if (SYMBOLS.includes(character)) {
      const two = text.slice(at, at + 2);
      const symbol = two === '==' || two === '!=' ? two : character;
      tokens.push({ kind: 'symbol', text: symbol });
      at += symbol.length;
    } else {
      let end = at;
      while (end < text.length && !/\s/.test(text.charAt(end)) && !SYMBOLS.includes(text.charAt(end))) end++;
      const word = text.slice(at, end);
      tokens.push({ kind: word === 'in' || word === 'notin' ? 'word' : 'identifier', text: word });
      at = end;
    }
  }
  return tokens;
}

/** Parses selectors with the grammar and the error texts of Go's `labels.Parse`. */
class Parser {
  readonly #tokens: Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokenize(text);
  }

  parse(): Requirement[] {
    const requirements: Requirement[] = [];
    for (;;) {
      const token = this.#peek();
      if (token.kind === 'identifier' || token.kind === 'word' || token.text === '!') {
        requirements.push(this.#requirement());
        const next = this.#next();
        if (next.kind === 'end') return requirements;
        if (next.text !== ',') throw badRequest(`found '${next.text}', expected: ',' or 'end of string'`);
        const after = this.#peek();
        if (after.kind !== 'identifier' && after.text !== '!') {
          throw badRequest(`found '${after.text}', expected: identifier after ','`);
        }
      } else if (token.kind === 'end') {
        return requirements;
      } else {
        throw badRequest(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      }
    }
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  #next(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  #fail(why: string): Error {
    return badRequest(`unable to parse requirement: ${why}`);
  }

  #requirement(): Requirement {
    let operator: Requirement['operator'] | undefined;
    if (this.#peek().text === '!') {
      this.#next();
      operator = '!';
    }
    // At the position of a key, the words `in` and `notin` are keys.
    const token = this.#next();
    if (token.kind !== 'identifier' && token.kind !== 'word') {
      throw this.#fail(`found '${token.text}', expected: identifier`);
    }
    const key = token.text;
    const problems = qualifiedNameProblems(key);
    if (problems.length > 0) throw this.#fail(`<nil>: Invalid value: ${JSON.stringify(key)}: ${problems.join('; ')}`);
    const next = this.#peek();
    if (operator === '!') return { key, operator, values: [] };
    if (next.kind === 'end' || next.text === ',') return { key, operator: 'exists', values: [] };
    return this.#checked({ key, ...this.#condition() });
  }

  #condition(): Pick<Requirement, 'operator' | 'values'> {
    const token = this.#next();
    switch (token.text) {
      case 'in':
      case 'notin':
        return { operator: token.text, values: this.#values() };
      case '=':
      case '==':
      case '!=':
      case '>':
      case '<':
        return { operator: token.text, values: [this.#exactValue()] };
      default:
        throw this.#fail(`found '${token.text}', expected: ${OPERATORS}`);
    }
  }

  #exactValue(): string {
    const token = this.#peek();
    if (token.kind === 'end' || token.text === ',') return '';
    this.#next();
    if (token.kind === 'symbol') throw this.#fail(`found '${token.text}', expected: identifier`);
    return token.text;
  }

  #values(): string[] {
    const open = this.#next();
    if (open.text !== '(') throw this.#fail(`found '${open.text}' expected: '('`);
    const values: string[] = [];
    const first = this.#peek();
    if (first.text === ')') {
      this.#next();
      return [''];
    }
    if (first.kind === 'end' || (first.kind === 'symbol' && first.text !== ',')) {
      throw this.#fail(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    for (;;) {
      const token = this.#next();
      if (token.kind === 'identifier' || token.kind === 'word') {
        values.push(token.text);
        const after = this.#next();
        if (after.text === ')' && after.kind === 'symbol') return values;
        if (after.text !== ',') throw this.#fail(`found '${after.text}', expected: ',' or ')'`);
        if (this.#peek().text === ')') {
          this.#next();
          return [...values, ''];
        }
      } else if (token.text === ',') {
        values.push('');
      } else {
        throw this.#fail(`found '${token.text}', expected: ',', or ')'`);
      }
    }
  }

  #checked(requirement: Requirement): Requirement {
    const { key, operator, values } = requirement;
    if ((operator === '>' || operator === '<') && !/^[-+]?\d+$/.test(values[0] ?? '')) {
      throw this.#fail(
        `values[0]: Invalid value: ${JSON.stringify(values[0])}: for 'Gt', 'Lt' operators, the value must be an integer`,
      );
    }
    for (const [index, value] of values.entries()) {
      const problems = labelValueProblems(value);
      if (problems.length > 0) {
        throw this.#fail(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${problems.join('; ')}`);
      }
    }
    return requirement;
  }
}

function holds({ key, operator, values }: Requirement, labels: Labels): boolean {
  const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case '=':
    case '==':
    case 'in':
      return value !== undefined && values.includes(value);
    case '!=':
    case 'notin':
      return value === undefined || !values.includes(value);
    case '>':
      return value !== undefined && /^[-+]?\d+$/.test(value) && BigInt(value) > BigInt(values[0] ?? '0');
    case '<':
      return value !== undefined && /^[-+]?\d+$/.test(value) && BigInt(value) < BigInt(values[0] ?? '0');
  }
}

/**
 * Parses the `labelSelector` of a query: `a=b,c!=d,e in (f,g),h,!i,j>1`.
 * @throws StatusError 400 with the error text of Go's parser for an invalid selector
 */
export function parseLabelSelector(text: string): LabelSelector | undefined {
  const requirements = new Parser(text).parse();
  if (requirements.length === 0) return undefined;
  return (labels) => requirements.every((requirement) => holds(requirement, labels));
}

/** Converts a requirement of a selector to a requirement that an index of the store can evaluate. */
function demandOf({ key, operator, values }: Requirement): Demand {
  const field = `${LABEL}${key}`;
  switch (operator) {
    case '=':
    case '==':
    case 'in':
      return { field, values, not: false };
    case '!=':
    case 'notin':
      return { field, values, not: true };
    case '!':
      return { field, value: ABSENT };
    case 'exists':
    case '>':
    case '<':
      return { field, values: [ABSENT], not: true };
  }
}

/** @throws StatusError 400 for an invalid selector, like `parseLabelSelector` */
export const labelDemands = (text: string): Demand[] => new Parser(text).parse().map(demandOf);

export interface SelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

const EXPRESSION_OPERATORS: Readonly<Record<string, Requirement['operator']>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
};

function requirementsOf({ matchLabels, matchExpressions }: SelectorObject): Requirement[] | undefined {
  const requirements: Requirement[] = [];
  for (const [key, value] of Object.entries(matchLabels ?? {})) {
    requirements.push({ key, operator: '=', values: [value] });
  }
  for (const { key, operator, values = [] } of matchExpressions ?? []) {
    const known = EXPRESSION_OPERATORS[operator];
    if (known === undefined) return undefined;
    requirements.push({ key, operator: known, values });
  }
  return requirements;
}

export const selectorDemands = (selector: SelectorObject): Demand[] => (requirementsOf(selector) ?? []).map(demandOf);

/** An absent selector matches nothing, and an empty selector matches everything. */
export function selectorOf(selector: SelectorObject | null | undefined): LabelSelector {
  if (selector === undefined || selector === null) return () => false;
  const requirements = requirementsOf(selector);
  if (requirements === undefined) return () => false;
  return (labels) => requirements.every((requirement) => holds(requirement, labels));
}
