import type { Comprehension } from '../syntax/ast.ts';
import { type Frame, type Run, truth } from './compiled.ts';
import { notIterable } from './no-overload.ts';
import { CelRuntimeError, isMap, LiteralMap } from './values.ts';

function step(frame: Frame): void {
  if (--frame.steps < 0) throw new CelRuntimeError('operation cancelled: actual cost limit exceeded');
}

function* pairs(range: unknown): Generator<readonly [unknown, unknown]> {
  if (Array.isArray(range)) {
    for (let at = 0; at < range.length; at++) yield [BigInt(at), range[at]];
  } else if (isMap(range)) {
    for (const key of range.keys()) yield [key, range.get(key)];
  } else {
    throw notIterable(range);
  }
}

export function loop(expr: Comprehension, range: Run, slots: readonly number[], args: readonly Run[]): Run {
  const [first = 0, second] = slots;
  const [predicate, transform] = args.length > 1 ? [args[0], args[1]] : [undefined, args[0]];
  const body = transform ?? (() => null);
  /** Sets the variables for each item, and yields the items that pass the filter. */
  const each = function* (frame: Frame): Generator<readonly [unknown, unknown]> {
    const values = range(frame);
    const isList = Array.isArray(values);
    for (const [key, value] of pairs(values)) {
      step(frame);
      const item = isList ? value : key;
      frame.slots[first] = second === undefined ? item : key;
      if (second !== undefined) frame.slots[second] = value;
      yield [key, item];
    }
  };
  const kept = function* (frame: Frame): Generator<readonly [unknown, unknown]> {
    for (const pair of each(frame)) if (predicate === undefined || truth(predicate(frame))) yield pair;
  };
  switch (expr.macro) {
    case 'all':
      return (frame) => decide(each(frame), () => truth(body(frame)), false);
    case 'exists':
      return (frame) => decide(each(frame), () => truth(body(frame)), true);
    case 'exists_one':
      return (frame) => {
        let count = 0;
        for (const _ of each(frame)) if (truth(body(frame))) count++;
        return count === 1;
      };
    case 'filter':
      return (frame) => {
        const list: unknown[] = [];
        for (const [, item] of each(frame)) if (truth(body(frame))) list.push(item);
        return list;
      };
    case 'transformMap':
      return (frame) => {
        const map = new LiteralMap();
        for (const [key] of kept(frame)) map.set(key, body(frame));
        return map;
      };
    case 'transformMapEntry':
      return (frame) => {
        const map = new LiteralMap();
        for (const _ of kept(frame)) {
          const entry = body(frame);
          if (isMap(entry)) for (const key of entry.keys()) map.set(key, entry.get(key));
        }
        return map;
      };
    default:
      return (frame) => {
        const list: unknown[] = [];
        for (const _ of kept(frame)) list.push(body(frame));
        return list;
      };
  }
}

/** Returns the result of a macro such as `all`. */
function decide(items: Iterable<unknown>, test: () => boolean, decisive: boolean): boolean {
  let failure: CelRuntimeError | undefined;
  for (const _ of items) {
    try {
      if (test() === decisive) return decisive;
    } catch (error) {
      if (!(error instanceof CelRuntimeError) || error.message.startsWith('operation cancelled')) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return !decisive;
}
