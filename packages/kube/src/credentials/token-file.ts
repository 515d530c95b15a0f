import { readFile } from 'node:fs/promises';
import type { Clock } from '../clock/clock.ts';

/**
 * The interval between two reads of the token file, as in client-go. The kubelet replaces a token long before it
 * expires.
 */
const REREAD_AFTER_MS = 60_000;

/** Returns a function that reads a token from a file. */
export function tokenFile(
  path: string,
  clock: Clock,
): Required<Pick<TokenSource, 'authorization' | 'forgetAuthorization'>> {
  let header: string | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  return {
    async authorization() {
      const now = clock.monotonic();
      if (header !== undefined && now - readAt < REREAD_AFTER_MS) return header;
      try {
        header = `Bearer ${(await readFile(path, 'utf8')).trim()}`;
      } catch (error) {
        if (header === undefined) throw error;
      }
      readAt = now;
      return header;
    },
    forgetAuthorization() {
      readAt = Number.NEGATIVE_INFINITY;
    },
  };
}

interface TokenSource {
  readonly authorization: () => Promise<string | undefined>;
  readonly forgetAuthorization: () => void;
}
