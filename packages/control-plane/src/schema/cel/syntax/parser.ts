import { CelCompileError, type Expr, type ListItem, type MacroName, type MapEntry, type MessageField } from './ast.ts';
import { type Token, tokenize } from './lexer.ts';

const MAX_DEPTH = 250;

const PRIMARY =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

const RELATIONS = new Set(['<', '<=', '>=', '>', '==', '!=', 'in']);

/** The internal variable of `sortBy`. An expression cannot contain this name. */
const SORTED = '@__sortBy_input__';

const MACROS: ReadonlyMap<string, { macro: MacroName; variables: number }> = new Map([
  ['all/2', { macro: 'all', variables: 1 }],
  ['all/3', { macro: 'all', variables: 2 }],
  ['exists/2', { macro: 'exists', variables: 1 }],
  ['exists/3', { macro: 'exists', variables: 2 }],
  ['exists_one/2', { macro: 'exists_one', variables: 1 }],
  ['existsOne/2', { macro: 'exists_one', variables: 1 }],
  ['existsOne/3', { macro: 'exists_one', variables: 2 }],
  ['map/2', { macro: 'map', variables: 1 }],
  ['map/3', { macro: 'map', variables: 1 }],
  ['filter/2', { macro: 'filter', variables: 1 }],
  ['transformList/3', { macro: 'transformList', variables: 2 }],
  ['transformList/4', { macro: 'transformList', variables: 2 }],
  ['transformMap/3', { macro: 'transformMap', variables: 2 }],
  ['transformMap/4', { macro: 'transformMap', variables: 2 }],
  ['transformMapEntry/3', { macro: 'transformMapEntry', variables: 2 }],
  ['transformMapEntry/4', { macro: 'transformMapEntry', variables: 2 }],
  ['optMap/2', { macro: 'optMap', variables: 1 }],
  ['optFlatMap/2', { macro: 'optFlatMap', variables: 1 }],
]);

/** Returns the name of a structure in an expression such as `a.b.c`. */
function nameOf(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.optional) return undefined;
  const holder = nameOf(expr.operand);
  return holder === undefined ? undefined : `${holder}.${expr.field}`;
}

class Parser {
  private readonly source: string;
  private readonly tokens: readonly Token[];
  private next = 0;
  private depth = 0;

  constructor(source: string) {
    this.source = source;
    this.tokens = tokenize(source);
  }

  parse(): Expr {
    const expr = this.expression();
    if (this.peek().kind !== 'end') this.fail(`mismatched input '${this.peek().text}' expecting <EOF>`);
    return expr;
  }

  private peek(): Token {
    return this.tokens[this.next] ?? { kind: 'end', text: '<EOF>', at: this.source.length };
  }

  private is(text: string): boolean {
    const token = this.peek();
    return token.text === text && (token.kind === 'symbol' || token.kind === 'ident');
  }

  private take(text: string): Token | undefined {
    if (!this.is(text)) return undefined;
    const token = this.peek();
    this.next++;
    return token;
  }

  private expect(text: string): Token {
    return this.take(text) ?? this.fail(`mismatched input '${this.peek().text}' expecting '${text}'`);
  }

  private fail(message: string, at = this.peek().at): never {
    throw new CelCompileError(this.source, [{ at, message: `Syntax error: ${message}` }]);
  }

  private invalid(message: string, at: number): never {
    throw new CelCompileError(this.source, [{ at, message }]);
  }

  private expression(): Expr {
    if (++this.depth > MAX_DEPTH) this.invalid(`expression recursion limit exceeded: ${MAX_DEPTH}`, this.peek().at);
    const condition = this.or();
    const mark = this.take('?');
    let expr = condition;
    if (mark !== undefined) {
      const yes = this.or();
      this.expect(':');
      const no = this.expression();
      expr = { kind: 'call', at: mark.at, name: '_?_:_', args: [condition, yes, no] };
    }
    this.depth--;
    return expr;
  }

  private or(): Expr {
    let left = this.and();
    for (let token = this.take('||'); token !== undefined; token = this.take('||')) {
      left = { kind: 'call', at: token.at, name: '_||_', args: [left, this.and()] };
    }
    return left;
  }

  private and(): Expr {
    let left = this.relation();
    for (let token = this.take('&&'); token !== undefined; token = this.take('&&')) {
      left = { kind: 'call', at: token.at, name: '_&&_', args: [left, this.relation()] };
    }
    return left;
  }

  private relation(): Expr {
    let left = this.sum();
    while (RELATIONS.has(this.peek().text) && (this.peek().kind === 'symbol' || this.is('in'))) {
      const token = this.peek();
      this.next++;
      const name = token.text === 'in' ? '@in' : `_${token.text}_`;
      left = { kind: 'call', at: token.at, name, args: [left, this.sum()] };
    }
    return left;
  }

  private sum(): Expr {
    let left = this.product();
    for (let token = this.take('+') ?? this.take('-'); token !== undefined; token = this.take('+') ?? this.take('-')) {
      left = { kind: 'call', at: token.at, name: `_${token.text}_`, args: [left, this.product()] };
    }
    return left;
  }

  private product(): Expr {
    let left = this.unary();
    const operator = (): Token | undefined => this.take('*') ?? this.take('/') ?? this.take('%');
    for (let token = operator(); token !== undefined; token = operator()) {
      left = { kind: 'call', at: token.at, name: `_${token.text}_`, args: [left, this.unary()] };
    }
    return left;
  }

  private unary(): Expr {
    const sign = this.take('!') ?? this.take('-');
    if (sign === undefined) return this.member();
    if (++this.depth > MAX_DEPTH) this.invalid(`expression recursion limit exceeded: ${MAX_DEPTH}`, sign.at);
    const number = this.peek();
    if (sign.text === '-' && (number.kind === 'int' || number.kind === 'double')) {
      this.depth--;
      return this.suffixes(this.number(sign.at));
    }
    const operand = this.unary();
    this.depth--;
    return { kind: 'call', at: sign.at, name: sign.text === '!' ? '!_' : '-_', args: [operand] };
  }

  private number(signAt: number): Expr {
    const token = this.peek();
    this.next++;
    if (token.kind === 'double') return { kind: 'literal', at: signAt, value: -Number(token.text) };
    return { kind: 'literal', at: signAt, value: this.int(`-${token.text}`, signAt) };
  }

  private int(text: string, at: number): bigint {
    const value = text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text);
    if (value > 2n ** 63n - 1n || value < -(2n ** 63n)) this.invalid('invalid int literal', at);
    return value;
  }

  private member(): Expr {
    return this.suffixes(this.primary());
  }

  /** Throws the error about a missing field name. As in cel-go, the error contains the grammar rule and the input. */
  private noField(dot: Token, found: Token, optional: boolean): never {
    if (optional) return this.fail(`mismatched input '${found.text}' expecting {IDENTIFIER, ESC_IDENTIFIER}`);
    const read = found.kind === 'end' ? '' : this.source.slice(dot.at + 1, found.at) + found.text;
    return this.fail(`no viable alternative at input '.${read}'`);
  }

  private suffixes(start: Expr): Expr {
    let expr = start;
    for (;;) {
      const dot = this.take('.');
      if (dot !== undefined) {
        const optional = this.take('?') !== undefined;
        const name = this.peek();
        if (name.kind !== 'ident') this.noField(dot, name, optional);
        this.next++;
        const paren = optional ? undefined : this.take('(');
        expr =
          paren === undefined
            ? { kind: 'select', at: dot.at, operand: expr, field: name.text, optional }
            : this.method(expr, name.text, paren.at, this.args(')'));
        continue;
      }
      const name = this.is('{') ? nameOf(expr) : undefined;
      if (name !== undefined) {
        const brace = this.expect('{');
        expr = { kind: 'message', at: brace.at, name, fields: this.messageFields() };
        continue;
      }
      const bracket = this.take('[');
      if (bracket === undefined) return expr;
      const optional = this.take('?') !== undefined;
      const index = this.expression();
      this.expect(']');
      expr = { kind: 'call', at: bracket.at, name: optional ? '_[?_]' : '_[_]', args: [expr, index] };
    }
  }

  private method(target: Expr, name: string, at: number, args: readonly Expr[]): Expr {
    if (name === 'sortBy' && args.length === 2) return this.sortBy(target, at, args);
    const macro = MACROS.get(`${name}/${args.length}`);
    if (macro !== undefined) {
      const variables = args.slice(0, macro.variables);
      const words =
        macro.macro === 'map' || macro.macro === 'filter'
          ? 'argument is not an identifier'
          : 'argument must be a simple name';
      const names = variables.map((variable) =>
        variable.kind === 'ident' ? variable.name : this.invalid(words, variable.at),
      );
      return {
        kind: 'comprehension',
        at,
        macro: macro.macro,
        range: target,
        variables: names,
        args: args.slice(macro.variables),
      };
    }
    return { kind: 'call', at, name, target, args };
  }

  /** Expands `sortBy` as cel-go does: the macro `map` creates the list of keys. */
  private sortBy(value: Expr, at: number, args: readonly Expr[]): Expr {
    const input: Expr = { kind: 'ident', at, name: SORTED };
    const keys = this.method(input, 'map', at, args);
    const body: Expr = { kind: 'call', at, name: '@sortByAssociatedKeys', target: input, args: [keys] };
    return { kind: 'bind', at, name: SORTED, value, body };
  }

  private messageFields(): MessageField[] {
    const fields: MessageField[] = [];
    while (!this.is('}')) {
      const optional = this.take('?') !== undefined;
      const name = this.peek();
      if (name.kind !== 'ident') this.fail(`mismatched input '${name.text}' expecting IDENTIFIER`);
      this.next++;
      this.expect(':');
      fields.push({ name: name.text, value: this.expression(), optional });
      if (this.take(',') === undefined) break;
    }
    this.expect('}');
    return fields;
  }

  private args(close: string): Expr[] {
    const args: Expr[] = [];
    while (!this.is(close)) {
      args.push(this.expression());
      if (this.take(',') === undefined) break;
    }
    this.expect(close);
    return args;
  }

  private primary(): Expr {
    const token = this.peek();
    switch (token.kind) {
      case 'int':
        this.next++;
        return { kind: 'literal', at: token.at, value: this.int(token.text, token.at) };
      case 'uint':
        this.next++;
        return { kind: 'literal', at: token.at, value: { uint: BigInt(token.text.slice(0, -1)) } };
      case 'double':
        this.next++;
        return { kind: 'literal', at: token.at, value: Number(token.text) };
      case 'string':
      case 'bytes':
        this.next++;
        return { kind: 'literal', at: token.at, value: token.value ?? '' };
      case 'ident':
        if (token.text === 'in') break;
        return this.identifier(token);
      default:
        break;
    }
    if (this.take('.') !== undefined) return this.primary();
    if (this.take('(') !== undefined) {
      const inner = this.expression();
      this.expect(')');
      return inner;
    }
    if (this.take('[') !== undefined) return { kind: 'list', at: token.at, items: this.listItems() };
    if (this.take('{') !== undefined) return { kind: 'map', at: token.at, entries: this.mapEntries() };
    return this.fail(`mismatched input '${token.text}' expecting ${PRIMARY}`);
  }

  private identifier(token: Token): Expr {
    this.next++;
    if (token.text === 'true' || token.text === 'false') {
      return { kind: 'literal', at: token.at, value: token.text === 'true' };
    }
    if (token.text === 'null') return { kind: 'literal', at: token.at, value: null };
    const paren = this.take('(');
    if (paren === undefined) return { kind: 'ident', at: token.at, name: token.text };
    const args = this.args(')');
    if (token.text !== 'has' || args.length !== 1) return { kind: 'call', at: paren.at, name: token.text, args };
    const [operand] = args;
    if (operand?.kind !== 'select' || operand.optional)
      return this.invalid('invalid argument to has() macro', operand?.at ?? paren.at);
    return { kind: 'has', at: paren.at, operand: operand.operand, field: operand.field };
  }

  private listItems(): ListItem[] {
    const items: ListItem[] = [];
    while (!this.is(']')) {
      const optional = this.take('?') !== undefined;
      items.push({ value: this.expression(), optional });
      if (this.take(',') === undefined) break;
    }
    this.expect(']');
    return items;
  }

  private mapEntries(): MapEntry[] {
    const entries: MapEntry[] = [];
    while (!this.is('}')) {
      const optional = this.take('?') !== undefined;
      const key = this.expression();
      this.expect(':');
      entries.push({ key, value: this.expression(), optional });
      if (this.take(',') === undefined) break;
    }
    this.expect('}');
    return entries;
  }
}

/** @throws CelCompileError if the expression is invalid */
export const parseCel = (source: string): Expr => new Parser(source).parse();
