import { setFlagsFromString } from 'node:v8';

/** The heap size in bytes below which the V8 flags limit the growth of the heap. */
const LARGE_HEAP = 256 * 2 ** 20;
/** The heap size in bytes above which the heap may always grow to twice its live size. */
const HUGE_HEAP = 2 * LARGE_HEAP;
/**
 * The V8 flag that counts the memory of buffers towards the limit of the heap. V8 writes an error to the log for a flag
 * that it does not know.
 */
const BUFFERS = 'external-memory-accounted-in-global-limit';
const knowsBuffers = (v8: string): boolean => v8.startsWith('13.');
const CHECK_MS = 5_000;

/**
 * Returns the V8 flags for a heap of this size in bytes.
 *
 * For a small heap, the flags limit the young generation to 16 MB, and the heap to 1.5 times its live size. With the
 * defaults of V8, many writes permanently enlarge the young generation to 48 MB, and the heap to twice its live size.
 * In a large heap, these limits would cost more than a third of the CPU time.
 *
 * For a huge heap, V8 sometimes chooses a growth of only 20 percent. By default, 64 MB of new buffers start a garbage
 * collection too. At 2,000 requests per second, both defaults cause a collection every ten seconds, during which
 * requests wait.
 * @param v8 the version of V8
 */
export function heapFlags(heapUsed: number, v8 = process.versions.v8): readonly string[] {
  const isHuge = heapUsed >= HUGE_HEAP;
  const buffers = knowsBuffers(v8) ? [`--${isHuge ? '' : 'no-'}${BUFFERS}`] : [];
  if (heapUsed < LARGE_HEAP) return ['--semi-space-growth-factor=1', '--heap-growing-percent=50', ...buffers];
  return ['--semi-space-growth-factor=2', `--heap-growing-percent=${isHuge ? 100 : 0}`, ...buffers];
}

/** Sets the V8 flags of this process now, and whenever the heap becomes large or small. */
export function limitHeap(): void {
  let current = '';
  const apply = (): void => {
    const flags = heapFlags(process.memoryUsage().heapUsed);
    if (flags.join() === current) return;
    current = flags.join();
    for (const flag of flags) setFlagsFromString(flag);
  };
  apply();
  setInterval(apply, CHECK_MS).unref();
}
