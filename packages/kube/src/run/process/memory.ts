import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

/** The memory in bytes after a garbage collection. */
export interface MemoryUse {
  readonly heap: number;
  /** The size limit of the heap. If the heap exceeds this limit, V8 aborts the process. */
  readonly heapLimit: number;
  readonly resident: number;
  readonly residentLimit: number | undefined;
}

const MB = 1_048_576;
/** The old generation's part of the heap limit. The rest of the heap limit is for three semi-spaces of V8. */
const OLD_SHARE = 64 / 67;

/** Returns the size limit of the old generation. */
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
    // Without a memory limit, the kernel returns 0, or a number that is larger than the memory of any machine.
    residentLimit: limit > 0 && limit < Number.MAX_SAFE_INTEGER ? limit : undefined,
  };
}

/** The heap size is exact only after a garbage collection. */
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
