import type { MemoryUse } from '../process/memory.ts';
import type { Warnings } from './warnings.ts';

/** The use of the heap at which a warning starts, because V8 may abort the process before the next collection. */
const FULL = 0.9;
const NEARLY_FULL = 0.75;
/** The warning ends at this use of the heap, which is lower than `FULL` to avoid repeated warnings. */
const AGAIN_FREE = 0.65;

const HINT = 'increase the memory of the container (resources.limits.memory)';
const MB = 1_048_576;

/**
 * Warns if the memory is almost exhausted, and returns a reason for the log if the process must end now. If V8 aborted
 * the process, the log would contain only a native stack trace.
 */
export function checkMemory(
  { heap, heapLimit, resident, residentLimit }: MemoryUse,
  warnings: Warnings,
): string | undefined {
  const of = (used: number, limit: number): string => `${Math.floor(used / MB)} of ${Math.floor(limit / MB)} MiB`;
  assess(
    warnings,
    'heap',
    heap / heapLimit,
    () => `the process uses ${of(heap, heapLimit)} of its heap; V8 aborts the process at the limit; ${HINT}`,
  );
  assess(
    warnings,
    'container',
    residentLimit === undefined ? 0 : resident / residentLimit,
    () =>
      `the process uses ${of(resident, residentLimit ?? 0)} of its container; at the limit, the kernel kills the process (OOMKilled); ${HINT}`,
  );
  return heap < FULL * heapLimit
    ? undefined
    : `the memory is full: the process uses ${of(heap, heapLimit)} of its heap; ${HINT}`;
}

function assess(warnings: Warnings, subject: string, share: number, sentence: () => string): void {
  if (share < AGAIN_FREE) warnings.clear('memory', subject);
  else if (share >= NEARLY_FULL && !warnings.has('memory', subject)) warnings.raise('memory', subject, sentence());
}
