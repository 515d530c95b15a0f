import { counted } from '@mcm/api';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { configParts } from './lines.ts';

const CONTEXT = 3;

interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

function compare(old: readonly string[], now: readonly string[]): readonly Line[] {
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ sign: ' ', text: old[i] ?? '' });
      [i, j] = [i + 1, j + 1];
    } else if (j >= now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ sign: '-', text: old[i] ?? '' });
      i += 1;
    } else {
      lines.push({ sign: '+', text: now[j] ?? '' });
      j += 1;
    }
  }
  return lines;
}

/** Maximum number of lines in a comparison, because a comparison of longer files would need too much memory. */
const MOST = 4000;

function changesOf(old: readonly string[], now: readonly string[]): readonly string[] {
  if (old.length > MOST || now.length > MOST)
    return [`- (${counted(old.length, 'line')})`, `+ (${counted(now.length, 'line')})`];
  const lines = compare(old, now);
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== ' '),
  );
  return lines.flatMap(({ sign, text }, index) => {
    if (near[index]) return [`${sign} ${text}`];
    return index > 0 && near[index - 1] ? ['  ...'] : [];
  });
}

/** Returns the differences between two MachineConfigs as lines. Without a difference, the list is empty. */
export function diffMachineConfigs(old: MachineConfig | undefined, now: MachineConfig | undefined): readonly string[] {
  const [before, after] = [old, now].map((config) => (config ? configParts(config) : new Map<string, string[]>()));
  const names = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].toSorted();
  return names.flatMap((name) => {
    const [was, is] = [before?.get(name), after?.get(name)];
    if (was && is && was.join('\n') === is.join('\n')) return [];
    const sign = was ? (is ? '~' : '-') : '+';
    return [`${sign} ${name}`, ...changesOf(was ?? [], is ?? []).map((line) => `    ${line}`)];
  });
}
