import { type Function as FunctionNode, Visitor } from 'oxc-parser';
import type { Source } from './sources.ts';

export interface LongFunction {
  path: string;
  name: string;
  lines: number;
}

/** Returns the functions of a file, with their lengths in lines. */
export function functionsOf({ path, text, parsed }: Source): LongFunction[] {
  const found: LongFunction[] = [];
  const names = new Map<number, string>();
  const add = (start: number, end: number, own: string | undefined) => {
    const lines = text.slice(start, end).split('\n').length;
    found.push({ path, name: own ?? names.get(start) ?? `line ${text.slice(0, start).split('\n').length}`, lines });
  };
  const named = (node: FunctionNode) => add(node.start, node.end, node.id?.name);
  new Visitor({
    VariableDeclarator(node) {
      if (node.init != null && node.id.type === 'Identifier') names.set(node.init.start, node.id.name);
    },
    Property(node) {
      if (node.key.type === 'Identifier') names.set(node.value.start, node.key.name);
    },
    MethodDefinition(node) {
      if (node.key.type === 'Identifier') names.set(node.value.start, node.key.name);
    },
    FunctionDeclaration: named,
    FunctionExpression: named,
    ArrowFunctionExpression(node) {
      add(node.start, node.end, undefined);
    },
  }).visit(parsed.program);
  return found;
}

/** Returns the lines of a file on which a value is cast through `unknown`. */
export function castsOf({ text, parsed }: Source): number[] {
  const lines: number[] = [];
  new Visitor({
    TSAsExpression(node) {
      const inner = node.expression.type === 'ParenthesizedExpression' ? node.expression.expression : node.expression;
      if (inner.type !== 'TSAsExpression' || inner.typeAnnotation.type !== 'TSUnknownKeyword') return;
      lines.push(text.slice(0, node.start).split('\n').length);
    },
  }).visit(parsed.program);
  return lines;
}
