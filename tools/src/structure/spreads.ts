import { type Expression, type SpreadElement, Visitor } from 'oxc-parser';
import type { Source } from './sources.ts';

/**
 * Returns the lines on which an object literal contains a spread that a plain member can replace: `...{ a }`, `...(a ?
 * { a } : {})` and `...(a && { a })`.
 */
export function spreadsOf({ text, parsed }: Source): number[] {
  const lines: number[] = [];
  new Visitor({
    ObjectExpression({ properties }) {
      const found = properties.filter((each): each is SpreadElement => each.type === 'SpreadElement');
      for (const { start, argument } of found) {
        if (isReplaceable(argument)) lines.push(text.slice(0, start).split('\n').length);
      }
    },
  }).visit(parsed.program);
  return lines.sort((a, b) => a - b);
}

function isReplaceable(argument: Expression): boolean {
  const expression = bare(argument);
  if (expression.type === 'ConditionalExpression') {
    const sides = [bare(expression.consequent), bare(expression.alternate)];
    return sides.some(isNothing) && sides.some(isLiteral);
  }
  if (expression.type === 'LogicalExpression') return expression.operator === '&&' && isLiteral(bare(expression.right));
  return isLiteral(expression);
}

function bare(expression: Expression): Expression {
  switch (expression.type) {
    case 'ParenthesizedExpression':
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
      return bare(expression.expression);
    default:
      return expression;
  }
}

const isLiteral = (expression: Expression): boolean =>
  expression.type === 'ObjectExpression' && expression.properties.length > 0;

const isNothing = (expression: Expression): boolean =>
  (expression.type === 'ObjectExpression' && expression.properties.length === 0) ||
  (expression.type === 'Identifier' && expression.name === 'undefined');
