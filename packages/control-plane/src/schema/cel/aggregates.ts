import { entriesOf, fixed, UNKNOWN } from './cost/size.ts';
import type { Compiled, Scope } from './runtime/compiled.ts';
import { LiteralMap, Optional } from './runtime/values.ts';
import type { Expr } from './syntax/ast.ts';
import { type CelType, DYN, listOf, mapOf, opaque, printType } from './types/types.ts';
import { join } from './types/unify.ts';

export class MessageValue extends LiteralMap {
  readonly typeName: string;

  constructor(typeName: string) {
    super();
    this.typeName = typeName;
  }
}

export const messageType = (name: string): CelType => opaque(name);

/**
 * Returns whether a mutating expression may create a type. These types are `Object`, its nested types, and the
 * operations of a JSON patch.
 */
export const isMutationType = (name: string): boolean => name === 'JSONPatch' || /^Object(\.|$)/.test(name);

const PATCH_FIELDS: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

export function message(scope: Scope, expr: Extract<Expr, { kind: 'message' }>): Compiled {
  const { name, at } = expr;
  if (!scope.messages(name)) return scope.issue(at, `undeclared reference to '${name}' (in container '')`);
  const fields = expr.fields.map((field) => ({ ...field, ...scope.compile(field.value) }));
  for (const { name: field } of fields) {
    if (name === 'JSONPatch' && !PATCH_FIELDS.has(field)) scope.issue(at, `undefined field '${field}'`);
  }
  return {
    type: messageType(name),
    cost: 40 + fields.reduce((sum, field) => sum + field.cost, 0),
    size: UNKNOWN,
    run: (frame) => {
      const made = new MessageValue(name);
      for (const field of fields) {
        const value = field.run(frame);
        if (!field.optional) made.set(field.name, value);
        else if (value instanceof Optional && value.present) made.set(field.name, value.value);
      }
      return made;
    },
  };
}

interface Part {
  readonly type: CelType;
  readonly at: number;
  readonly isOptional: boolean;
}

/** Returns the type of one part of a list or map literal, with its offset. */
const partOf = (type: CelType, at: number, isOptional: boolean): Part => ({
  type: isOptional && type.kind === 'optional' ? type.item : type,
  at,
  isOptional,
});

/** Returns whether a part has the type of the first part. The type `dyn` matches only `dyn`. */
const fits = (first: CelType, { type, isOptional }: Part): boolean => {
  // `optional.none()` contains no value, so its type is unknown.
  if (isOptional && type.kind === 'dyn') return true;
  return first.kind === 'dyn' || type.kind === 'dyn' ? first.kind === type.kind : join(first, type).kind !== 'dyn';
};

/** Returns the common type of the parts of a literal, and reports the first part with a different type. */
function commonType(scope: Scope, parts: readonly Part[]): CelType {
  const [first, ...others] = parts;
  if (first === undefined) return DYN;
  const odd = others.find((part) => !fits(first.type, part));
  if (odd === undefined) return others.reduce((common, { type }) => join(common, type), first.type);
  scope.mixed(odd.at, `expected type '${printType(first.type)}' but found '${printType(odd.type)}'`);
  return DYN;
}

export function list(scope: Scope, expr: Extract<Expr, { kind: 'list' }>): Compiled {
  const items = expr.items.map((item) => ({
    ...scope.compile(item.value),
    optional: item.optional,
    at: item.value.at,
  }));
  const type = commonType(
    scope,
    items.map((item) => partOf(item.type, item.at, item.optional)),
  );
  return {
    type: listOf(type),
    parts: items.map((item) => item.type),
    cost: 10 + items.reduce((sum, item) => sum + item.cost, 0),
    size: fixed(items.length),
    entries: entriesOf(
      true,
      [],
      items.map((item) => item.size),
    ),
    run: (frame) => {
      const made: unknown[] = [];
      for (const item of items) {
        const value = item.run(frame);
        if (!item.optional) made.push(value);
        else if (value instanceof Optional && value.present) made.push(value.value);
      }
      return made;
    },
  };
}

export function map(scope: Scope, expr: Extract<Expr, { kind: 'map' }>): Compiled {
  const entries = expr.entries.map((entry) => ({
    key: scope.compile(entry.key),
    value: scope.compile(entry.value),
    optional: entry.optional,
    keyAt: entry.key.at,
    valueAt: entry.value.at,
  }));
  const keyType = commonType(
    scope,
    entries.map(({ key, keyAt }) => partOf(key.type, keyAt, false)),
  );
  const valueType = commonType(
    scope,
    entries.map(({ value, optional, valueAt }) => partOf(value.type, valueAt, optional)),
  );
  return {
    type: mapOf(keyType, valueType),
    cost: 30 + entries.reduce((sum, entry) => sum + entry.key.cost + entry.value.cost, 0),
    size: fixed(entries.length),
    entries: entriesOf(
      false,
      entries.map((entry) => entry.key.size),
      entries.map((entry) => entry.value.size),
    ),
    run: (frame) => {
      const made = new LiteralMap();
      for (const entry of entries) {
        const value = entry.value.run(frame);
        if (!entry.optional) made.set(entry.key.run(frame), value);
        else if (value instanceof Optional && value.present) made.set(entry.key.run(frame), value.value);
      }
      return made;
    },
  };
}
