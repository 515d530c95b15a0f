import type { Clock } from '../../clock/clock.ts';
import { pause } from '../../clock/clock.ts';

/** The kinds of profiles. A heap snapshot is not available, because it would contain all secrets in memory. */
export type ProfileKind = 'profile' | 'heap';

const LONGEST_S = 300;
const DEFAULT_S = 30;

/** Parses the duration of a recording in seconds. */
export function profileSeconds(text: string | null): number {
  const seconds = text === null ? DEFAULT_S : Number(text);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > LONGEST_S) {
    throw new RangeError(`seconds must be an integer from 1 to ${LONGEST_S}`);
  }
  return seconds;
}

let recording = false;

/**
 * Records CPU time or allocations for the developer tools of Chromium, or returns undefined during another recording.
 */
export async function recordProfile(
  kind: ProfileKind,
  { clock, seconds, signal }: { readonly clock: Clock; readonly seconds: number; readonly signal: AbortSignal },
): Promise<string | undefined> {
  if (recording) return undefined;
  recording = true;
  const { Session } = await import('node:inspector/promises'); // The inspector module needs memory and is rarely used, so it is loaded on demand.
  const session = new Session();
  session.connect();
  try {
    if (kind === 'heap') {
      await session.post('HeapProfiler.startSampling');
      await pause(clock, seconds * 1000, signal);
      return JSON.stringify((await session.post('HeapProfiler.stopSampling')).profile);
    }
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await pause(clock, seconds * 1000, signal);
    return JSON.stringify((await session.post('Profiler.stop')).profile);
  } finally {
    session.disconnect();
    recording = false;
  }
}
