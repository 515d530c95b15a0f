import { parseAst } from 'vitest/node';

export interface Mutation {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly line: number;
  readonly what: string;
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const COMPARISONS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
};

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value;

/**
 * Returns all possible changes of a source text: of comparisons, operands of `&&` and `||`, numbers and booleans.
 */
export function mutationsOf(source: string): readonly Mutation[] {
  const found: Mutation[] = [];
  const add = (start: number, end: number, text: string): void => {
    const line = source.slice(0, start).split('\n').length;
    const was = source.slice(start, end).replaceAll(/\s+/g, ' ');
    found.push({ start, end, text, line, what: `${was} -> ${text.replaceAll(/\s+/g, ' ')}` });
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    if (!isNode(value) || value.type.startsWith('TS') || value.type === 'ImportDeclaration') {
      // A cast or a type assertion has an operand, which can contain code.
      if (isNode(value) && isNode(value.expression)) visit(value.expression);
      return;
    }
    mutate(value, source, add);
    for (const child of Object.values(value)) visit(child);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return found;
}

function mutate(node: SyntaxNode, source: string, add: (start: number, end: number, text: string) => void): void {
  const { left, right, operator, value } = node;
  if (node.type === 'BinaryExpression' && isNode(left) && isNode(right)) {
    const other = COMPARISONS[String(operator)];
    const text = (side: SyntaxNode): string => source.slice(side.start, side.end);
    if (other) add(node.start, node.end, `${text(left)} ${other} ${text(right)}`);
  }
  if (node.type === 'LogicalExpression' && operator !== '??' && isNode(left) && isNode(right)) {
    for (const half of [left, right]) add(node.start, node.end, source.slice(half.start, half.end));
  }
  if (node.type === 'Literal' && typeof value === 'number') add(node.start, node.end, `${value + 1}`);
  if (node.type === 'Literal' && typeof value === 'boolean') add(node.start, node.end, `${!value}`);
}
