import type { ApiObject } from '../../../apimachinery/objects/object.ts';

export const INDEX = 'batch.kubernetes.io/job-completion-index';

export function indexOf(pod: ApiObject): number | undefined {
  const value = pod.metadata.annotations?.[INDEX];
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** Parses indexes such as `1,3-5`. */
export function parseIndexes(text: string, end: number): Set<number> {
  const indexes = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (match === null) continue;
    const first = Number(match[1]);
    const last = Math.min(match[2] === undefined ? first : Number(match[2]), end - 1);
    for (let index = first; index <= last; index++) indexes.add(index);
  }
  return indexes;
}

export function formatIndexes(indexes: ReadonlySet<number>): string {
  const sorted = [...indexes].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length; ) {
    let end = at;
    while (sorted[end + 1] === (sorted[end] ?? 0) + 1) end++;
    const first = sorted[at];
    if (end === at) parts.push(`${first}`);
    else if (end === at + 1) parts.push(`${first},${sorted[end]}`);
    else parts.push(`${first}-${sorted[end]}`);
    at = end + 1;
  }
  return parts.join();
}
