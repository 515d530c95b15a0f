import type { Compiled } from './runtime/compiled.ts';
import { CelRuntimeError } from './runtime/values.ts';
import { type CelIssue, CelProgramError, type Expr } from './syntax/ast.ts';
import type { Overload } from './types/overload.ts';
import { type CelType, printType } from './types/types.ts';

export interface Call {
  readonly name: string;
  readonly isMethod: boolean;
  readonly at: number;
  readonly overload: Overload;
  readonly args: readonly Compiled[];
  readonly exprs: readonly Expr[];
}

interface Verb {
  readonly kinds: readonly CelType['kind'][];
  readonly words: string;
}

const VERBS: Readonly<Record<string, Verb>> = {
  s: {
    kinds: [
      ...(['list', 'map', 'int', 'uint', 'double', 'bool', 'string', 'timestamp', 'bytes', 'duration'] as const),
      ...(['type', 'null'] as const),
    ],
    words:
      'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  },
  d: { kinds: ['int', 'uint'], words: 'decimal clause can only be used on integers' },
  f: { kinds: ['double', 'string'], words: 'fixed-point clause can only be used on doubles' },
  e: { kinds: ['double', 'string'], words: 'scientific clause can only be used on doubles' },
  b: { kinds: ['int', 'uint', 'bool'], words: 'only integers and bools can be formatted as binary' },
  x: {
    kinds: ['int', 'uint', 'string', 'bytes'],
    words: 'only integers, byte buffers, and strings can be formatted as hex',
  },
  o: { kinds: ['int', 'uint'], words: 'octal clause can only be used on integers' },
};

/** Checks a literal format string: its verbs must match the types of the arguments. */
function formatIssue({ at, args, exprs }: Call): CelIssue | undefined {
  const [format] = args;
  const list = exprs[1];
  if (typeof format?.literal !== 'string' || list?.kind !== 'list') return undefined;
  let next = 0;
  for (const [, verb = ''] of format.literal.matchAll(/%(?:\.\d+)?(.)/gs)) {
    if (verb === '%') continue;
    const item = list.items[next]?.value;
    if (item === undefined) return { at, message: `index ${next} out of range` };
    const rule = VERBS[verb.replace('X', 'x')];
    if (rule === undefined)
      return { at, message: `could not parse formatting clause: unrecognized formatting clause "${verb}"` };
    const type = args[1]?.parts?.[next];
    next += 1;
    if (type === undefined || type.kind === 'dyn' || rule.kinds.includes(type.kind)) continue;
    return { at: item.at, message: `error during formatting: ${rule.words}, was given ${printType(type)}` };
  }
  const count = list.items.length;
  if (count <= next) return undefined;
  return { at, message: `too many arguments supplied to string.format (expected ${next}, got ${count})` };
}

const CHECKED: ReadonlySet<string> = new Set(['duration', 'timestamp', 'matches', 'find', 'findAll']);

/**
 * Checks literals for times, regular expressions and formats.
 * @throws CelProgramError for an invalid regular expression that only the evaluation uses
 */
export function literalIssue(call: Call): CelIssue | undefined {
  const { name, isMethod, overload, args, exprs } = call;
  if (name === 'format' && isMethod) return formatIssue(call);
  const position = isMethod ? 1 : 0;
  const literal = args[position]?.literal;
  if (!CHECKED.has(name) || literal === undefined) return undefined;
  try {
    overload.call((overload.params.length === 1 ? [literal] : ['', literal]) as never[]);
    return undefined;
  } catch (error) {
    if (!(error instanceof CelRuntimeError)) throw error;
    if (name.startsWith('find')) throw new CelProgramError(error.message);
    return { at: exprs[position]?.at ?? call.at, message: `invalid ${name} argument` };
  }
}
