import type { Overload } from './overload.ts';
import { type CelType, DYN } from './types.ts';

type Bindings = Map<string, CelType>;

function sameKind(wanted: CelType, given: CelType): boolean {
  if (wanted.kind === 'object' && given.kind === 'object')
    return wanted.node === given.node || wanted.name === given.name;
  if (wanted.kind === 'opaque' && given.kind === 'opaque') return wanted.name === given.name;
  return wanted.kind === given.kind;
}

const takesNull = (type: CelType): boolean =>
  ['object', 'timestamp', 'duration', 'opaque', 'null', 'dyn'].includes(type.kind);

/** Returns whether a type can be assigned to another type. */
function assignable(wanted: CelType, given: CelType, bindings: Bindings): boolean {
  if (wanted.kind === 'param') {
    const bound = bindings.get(wanted.name);
    if (bound === undefined || bound.kind === 'dyn') {
      if (bound === undefined) bindings.set(wanted.name, given);
      return true;
    }
    if (given.kind === 'dyn') return true;
    if (given.kind === 'null' && takesNull(bound)) return true;
    if (bound.kind === 'null' && takesNull(given)) {
      bindings.set(wanted.name, given);
      return true;
    }
    return assignable(bound, given, bindings);
  }
  if (wanted.kind === 'dyn' || given.kind === 'dyn') return true;
  if (wanted.kind === 'list' && given.kind === 'list') return assignable(wanted.item, given.item, bindings);
  if (wanted.kind === 'optional' && given.kind === 'optional') return assignable(wanted.item, given.item, bindings);
  if (wanted.kind === 'map' && given.kind === 'map') {
    return assignable(wanted.key, given.key, bindings) && assignable(wanted.value, given.value, bindings);
  }
  return sameKind(wanted, given);
}

function substitute(type: CelType, bindings: Bindings): CelType {
  switch (type.kind) {
    case 'param':
      return bindings.get(type.name) ?? DYN;
    case 'list':
    case 'optional':
      return { kind: type.kind, item: substitute(type.item, bindings) };
    case 'map':
      return { kind: 'map', key: substitute(type.key, bindings), value: substitute(type.value, bindings) };
    default:
      return type;
  }
}

export interface Candidate {
  readonly overload: Overload;
  readonly result: CelType;
}

export function candidates(overloads: readonly Overload[], args: readonly CelType[]): Candidate[] {
  const found: Candidate[] = [];
  for (const overload of overloads) {
    if (overload.params.length !== args.length) continue;
    const bindings: Bindings = new Map();
    if (overload.params.every((wanted, at) => assignable(wanted, args[at] ?? DYN, bindings))) {
      found.push({ overload, result: substitute(overload.result, bindings) });
    }
  }
  return found;
}

/** Returns the common type of two types, or dyn if they have none. */
export function join(a: CelType, b: CelType): CelType {
  if (a.kind === 'dyn' || b.kind === 'dyn') return DYN;
  if (assignable(a, b, new Map()) && assignable(b, a, new Map())) return a;
  if (a.kind === 'null' && takesNull(b)) return b;
  return b.kind === 'null' && takesNull(a) ? a : DYN;
}
