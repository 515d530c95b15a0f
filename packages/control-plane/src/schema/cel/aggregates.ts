import type { Compiled, Scope } from './runtime/compiled.ts';
import { LiteralMap, Optional } from './runtime/values.ts';
import type { Expr } from './syntax/ast.ts';
import { type CelType, DYN, listOf, mapOf, opaque } from './types/types.ts';
import { join } from './types/unify.ts';

/** A structure that an expression creates: `Object.spec{replicas: 1}`. */
export class MessageValue extends LiteralMap {
  readonly typeName: string;

  constructor(typeName: string) {
    super();
    this.typeName = typeName;
  }
}

/** The type of a structure by its name. */
export const messageType = (name: string): CelType => opaque(name);

/**
 * Whether a type name belongs to an expression that mutates objects: `Object`, a nested type of `Object`, or an
 * operation of a JSON patch.
 */
export const isMutationType = (name: string): boolean => name === 'JSONPatch' || /^Object(\.|$)/.test(name);

const PATCH_FIELDS: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

/** Plans the creation of a structure. */
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
    size: fields.length,
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

/** Plans the creation of a list. The type of its items is the type that all items have in common. */
export function list(scope: Scope, expr: Extract<Expr, { kind: 'list' }>): Compiled {
  const items = expr.items.map((item) => ({ ...scope.compile(item.value), optional: item.optional }));
  let type: CelType | undefined;
  for (const item of items) {
    const own = item.optional && item.type.kind === 'optional' ? item.type.item : item.type;
    type = type === undefined ? own : join(type, own);
  }
  return {
    type: listOf(type ?? DYN),
    cost: 10 + items.reduce((sum, item) => sum + item.cost, 0),
    size: items.length,
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

/** Plans the creation of a map. */
export function map(scope: Scope, expr: Extract<Expr, { kind: 'map' }>): Compiled {
  const entries = expr.entries.map((entry) => ({
    key: scope.compile(entry.key),
    value: scope.compile(entry.value),
    optional: entry.optional,
  }));
  const types = entries.map((entry) => entry.value.type);
  const [first = DYN] = types;
  return {
    type: mapOf(entries[0]?.key.type ?? DYN, types.reduce(join, first)),
    cost: 30 + entries.reduce((sum, entry) => sum + entry.key.cost + entry.value.cost, 0),
    size: entries.length,
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
