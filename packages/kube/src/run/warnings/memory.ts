import type { MemoryUse } from '../health/memory.ts';
import type { Warnings } from './warnings.ts';

/** V8 collects when the heap has grown by a tenth: with more than this in use, it may abort the process before the next time. */
const FULL = 0.9;
const NEARLY_FULL = 0.75;
/** What is over has to stay over: below this. */
const AGAIN_FREE = 0.65;

const CURE = 'give its container more memory (resources.limits.memory)';
const MB = 1_048_576;

/**
 * Warns when memory comes to its end. Returns why the process must end now, while it still can say so itself: V8's own end leaves
 * a stack of native frames as the last lines of the log.
 */
export function judgeMemory(
  { heap, heapLimit, resident, residentLimit }: MemoryUse,
  warnings: Warnings,
): string | undefined {
  const of = (used: number, limit: number): string => `${Math.floor(used / MB)} of ${Math.floor(limit / MB)} MiB`;
  judge(
    warnings,
    'heap',
    heap / heapLimit,
    () => `${of(heap, heapLimit)} of its heap are in use; when it is full the process ends; ${CURE}`,
  );
  judge(
    warnings,
    'container',
    residentLimit === undefined ? 0 : resident / residentLimit,
    () =>
      `it takes ${of(resident, residentLimit ?? 0)} of its container; at the limit the kernel kills it (OOMKilled); ${CURE}`,
  );
  return heap < FULL * heapLimit
    ? undefined
    : `its memory is used up: ${of(heap, heapLimit)} of its heap are in use; ${CURE}`;
}

function judge(warnings: Warnings, subject: string, share: number, sentence: () => string): void {
  if (share < AGAIN_FREE) warnings.clear('memory', subject);
  else if (share >= NEARLY_FULL && !warnings.has('memory', subject)) warnings.raise('memory', subject, sentence());
}
