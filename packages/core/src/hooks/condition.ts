import { Environment, type ParseResult } from '@marcbachmann/cel-js';
import type { Machine } from '@mcm/api';

/**
 * The limits of a condition, so that its evaluation is cheap for every machine. Regular expressions can take
 * exponential time in JavaScript, so conditions must not contain them.
 */
const LIMITS = { maxAstNodes: 200, maxDepth: 20, maxListElements: 50, maxMapEntries: 20, maxCallArguments: 8 } as const;
const LONGEST = 1_000;
const LOOPS = /\.\s*(all|exists|exists_one|map|filter)\s*\(/g;
const REGULAR_EXPRESSION = /\bmatches\s*\(/;

const environment = new Environment({ limits: LIMITS }).registerVariable({
  name: 'machine',
  schema: {
    name: 'string',
    namespace: 'string',
    class: 'string',
    providerID: 'string',
    node: 'string',
    labels: 'map<string, string>',
  },
});

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';

function compiled(text: string): ParseResult {
  if (text.length > LONGEST) throw new Error(`the condition has more than ${LONGEST} characters`);
  if (REGULAR_EXPRESSION.test(text))
    throw new Error('the function matches() is not available in conditions; use startsWith() or contains()');
  if ([...text.matchAll(LOOPS)].length > 1)
    throw new Error('the condition has more than one of all, exists, exists_one, map, filter');
  return environment.parse(text);
}

/** Returns the problem of a condition as a part of a sentence, or undefined for a valid condition. */
export function conditionProblem(text: string): string | undefined {
  try {
    const { valid, type, error } = compiled(text).check();
    if (!valid) return firstLine(error);
    return type === 'bool' || type === 'dyn' ? undefined : `the type of the condition must be bool, not ${type}`;
  } catch (error) {
    return firstLine(error);
  }
}

/**
 * Evaluates a condition in the Common Expression Language (CEL). The variable `machine` contains only names, IDs and
 * labels.
 * @returns undefined if the evaluation fails, for example because the machine does not have a label
 */
export function evaluateCondition(text: string, { metadata, spec }: Machine): boolean | undefined {
  const { name, namespace = '', labels = {} } = metadata;
  const machine = {
    name,
    namespace,
    class: spec.class.name ?? '',
    providerID: spec.providerID ?? '',
    node: labels.node ?? '',
    labels,
  };
  try {
    const result: unknown = compiled(text)({ machine });
    return typeof result === 'boolean' ? result : undefined;
  } catch {
    // If the evaluation fails, the caller decides whether the hook applies.
    return undefined;
  }
}
