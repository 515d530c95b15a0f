import { cloneJson, isRecord, own, put } from '../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { itemElement } from './fields/fieldPath.ts';
import { fieldType, shapeOf } from './fields/types.ts';

/** Merges an applied configuration into live values. */
export function mergeValues(
  live: unknown,
  applied: unknown,
  node: SchemaNode | undefined,
  isResource = false,
): unknown {
  if (applied === undefined) return live;
  if (live === undefined) return cloneJson(applied);
  const shape = shapeOf(node, applied ?? live);
  if (shape === 'map' && isRecord(live)) {
    if (applied === null) return live;
    if (isRecord(applied)) return mergeMaps(live, applied, node, isResource);
  }
  if (shape === 'list' && node !== undefined && Array.isArray(live)) {
    if (applied === null) return live;
    if (Array.isArray(applied)) return mergeLists(live, applied, node);
  }
  return cloneJson(applied);
}

function mergeMaps(
  live: Record<string, unknown>,
  applied: Record<string, unknown>,
  node: SchemaNode | undefined,
  isResource: boolean,
): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const key of Object.keys(live)) put(merged, key, live[key]);
  for (const key of Object.keys(applied)) {
    const type = fieldType(node, key, isResource || node?.embedded === true);
    put(merged, key, mergeValues(own(live, key), applied[key], type.node));
  }
  return merged;
}

/** The result has the order of structured-merge-diff 4.4. */
function mergeLists(live: readonly unknown[], applied: readonly unknown[], node: SchemaNode): unknown[] {
  const left = live.map((item) => itemElement(item, node));
  const right = applied.map((item) => itemElement(item, node));
  const liveItems = new Map(left.map((key, at) => [key, live[at]]));
  const inApplied = new Set(right);
  const shared = right.filter((key) => liveItems.has(key));
  const done = new Set<string>();
  const merged: unknown[] = [];
  const take = (at: number): void => {
    const key = right[at] ?? '';
    done.add(key);
    merged.push(mergeValues(liveItems.get(key), applied[at], node.items));
  };
  let next = shared.shift();
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const key = left[l];
    if (key !== undefined && r < right.length) {
      if (key === right[r]) {
        take(r);
        l++;
        r++;
        next = shared.shift();
        continue;
      }
      if (inApplied.has(key) && next !== undefined && next !== key) {
        l++;
        continue;
      }
    }
    if (key !== undefined) {
      if (!inApplied.has(key)) {
        merged.push(live[l]);
        l++;
        continue;
      }
      if (done.has(key)) l++;
    }
    if (r < right.length) {
      const taken = right[r];
      take(r);
      r++;
      if (next !== undefined && next === taken) next = shared.shift();
    }
  }
  return merged;
}
