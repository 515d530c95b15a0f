import type { MemoryUse } from '../process/memory.ts';
import type { Warnings } from './warnings.ts';

/**
 * Warning threshold of the heap. V8 collects garbage when the heap has grown by a tenth. Above this fraction, V8 may
 * therefore abort before the next collection.
 */
const FULL = 0.9;
const NEARLY_FULL = 0.75;
/**
 * The warning ends below this fraction. This fraction is lower than `FULL`, so that the warning does not start and end
 * repeatedly.
 */
const AGAIN_FREE = 0.65;

const HINT = 'increase the memory of the container (resources.limits.memory)';
const MB = 1_048_576;

/**
 * Warns if memory is nearly exhausted. If the process must end now, the function returns the reason for the log. An
 * abort by V8 would log only a native stack trace.
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
