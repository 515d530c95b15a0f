import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

/** The memory of a process after a collection, in bytes. */
export interface MemoryUse {
  /** What lives in the old generation. */
  readonly heap: number;
  /** More than this, and V8 aborts the process. */
  readonly heapLimit: number;
  readonly resident: number;
  /** Of the container; undefined where there is none. */
  readonly residentLimit: number | undefined;
}

const MB = 1_048_576;
/** V8 plans with three semi-spaces of a 64th of the old generation next to it. */
const OLD_SHARE = 64 / 67;

/** The limit of the old generation alone, which is what runs full. */
function oldLimit(given: string): number {
  const [, megabytes] = /--max[-_]old[-_]space[-_]size=(\d+)/.exec(given) ?? [];
  return megabytes === undefined ? getHeapStatistics().heap_size_limit * OLD_SHARE : Number(megabytes) * MB;
}

function read(heapLimit: number): MemoryUse {
  const old = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith('new_'));
  const limit = process.constrainedMemory();
  return {
    heap: old.reduce((sum, { space_used_size: used }) => sum + used, 0),
    heapLimit,
    resident: process.memoryUsage.rss(),
    // Without a limit the kernel's answer is 0, or more than any machine has.
    residentLimit: limit > 0 && limit < Number.MAX_SAFE_INTEGER ? limit : undefined,
  };
}

/** Calls back after each collection of the whole heap: only then it is known what of it is in use. Returns what ends that. */
export function watchMemory(callback: (use: MemoryUse) => void): () => void {
  const heapLimit = oldLimit([...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' '));
  const observer = new PerformanceObserver((list) => {
    if (list.getEntries().some(isWhole)) callback(read(heapLimit));
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => observer.disconnect();
}

function isWhole(entry: object): boolean {
  const detail: unknown = 'detail' in entry ? entry.detail : undefined;
  const isObject = typeof detail === 'object' && detail !== null;
  return isObject && 'kind' in detail && detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
