/** The value of a literal. An int of CEL is a bigint, and a double is a number. */
export type Literal = null | boolean | bigint | number | string | Uint8Array | { readonly uint: bigint };

/** A parsed expression. Each expression contains its offset in the source, for error messages. */
export type Expr =
  | { readonly kind: 'literal'; readonly at: number; readonly value: Literal }
  | { readonly kind: 'ident'; readonly at: number; readonly name: string }
  | {
      readonly kind: 'select';
      readonly at: number;
      readonly operand: Expr;
      readonly field: string;
      readonly optional: boolean;
    }
  | { readonly kind: 'has'; readonly at: number; readonly operand: Expr; readonly field: string }
  | {
      readonly kind: 'call';
      readonly at: number;
      readonly name: string;
      readonly target?: Expr;
      readonly args: readonly Expr[];
    }
  | { readonly kind: 'list'; readonly at: number; readonly items: readonly ListItem[] }
  | { readonly kind: 'map'; readonly at: number; readonly entries: readonly MapEntry[] }
  | { readonly kind: 'message'; readonly at: number; readonly name: string; readonly fields: readonly MessageField[] }
  | Comprehension
  | { readonly kind: 'bind'; readonly at: number; readonly name: string; readonly value: Expr; readonly body: Expr };

export interface ListItem {
  readonly value: Expr;
  readonly optional: boolean;
}

export interface MessageField {
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface MapEntry {
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface Comprehension {
  readonly kind: 'comprehension';
  readonly at: number;
  readonly macro: MacroName;
  readonly range: Expr;
  readonly variables: readonly string[];
  readonly args: readonly Expr[];
}

export type MacroName =
  | 'all'
  | 'exists'
  | 'exists_one'
  | 'map'
  | 'filter'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry'
  | 'optMap'
  | 'optFlatMap';

export interface CelIssue {
  readonly at: number;
  readonly message: string;
}

export class CelCompileError extends Error {
  override readonly name = 'CelCompileError';

  constructor(source: string, issues: readonly CelIssue[]) {
    super(issues.map((issue) => printIssue(source, issue)).join('\n'));
  }
}

/** The error if an expression is valid, but cel-go cannot create its program. */
export class CelProgramError extends CelCompileError {
  constructor(reason: string) {
    super('', []);
    this.message = reason;
  }
}

function printIssue(source: string, issue: CelIssue): string {
  const before = source.slice(0, issue.at);
  const line = before.split('\n').length;
  const column = issue.at - (before.lastIndexOf('\n') + 1);
  const text = source.split('\n')[line - 1] ?? '';
  // Below a non-ASCII character, the mark is a full-width dot or arrow, because such a character is often full-width.
  const marks = [...text.slice(0, column)].map((char) => (char > '\x7f' ? '\uff0e' : '.')).join('');
  const arrow = text.charCodeAt(column) > 0x7f ? '\uff3e' : '^';
  const characters = [...before.slice(before.lastIndexOf('\n') + 1)].length;
  return `ERROR: <input>:${line}:${characters + 1}: ${issue.message}\n | ${text}\n | ${marks}${arrow}`;
}
