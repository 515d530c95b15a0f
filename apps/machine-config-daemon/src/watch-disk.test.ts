import { once } from 'node:events';
import { watch as watchDirectory } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { DiskWatch } from './watch-disk.ts';

/** Runs a test with a watch of a folder. */
async function watched(work: (root: string, watch: DiskWatch, seen: Seen) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'watch-'));
  const virtual = new VirtualClock();
  const seen: Seen = { reported: 0, next: Promise.withResolvers<void>(), clock: virtual };
  const clock = partial<Clock>({
    now: () => virtual.now(),
    setTimeout: (run: () => void, ms: number) => {
      const timer = virtual.setTimeout(run, ms);
      seen.next.resolve();
      return timer;
    },
  });
  const watch = new DiskWatch(root, clock, () => {
    seen.reported += 1;
  });
  try {
    await mkdir(join(root, 'etc/a'), { recursive: true });
    await mkdir(join(root, 'etc/b'), { recursive: true });
    await work(root, watch, seen);
  } finally {
    watch.close();
    await rm(root, { recursive: true, force: true });
  }
}

interface Seen {
  reported: number;
  next: PromiseWithResolvers<void>;
  readonly clock: VirtualClock;
}

/** Writes a file repeatedly until the operating system has reported a change. */
async function change(seen: Seen, path: string): Promise<void> {
  seen.next = Promise.withResolvers<void>();
  await writeFile(path, 'x');
  await seen.next.promise;
}

test('a burst of changes in a watched directory is reported once, at its end', () =>
  watched(async (root, watch, seen) => {
    await watch.follow(['/etc/a/one', '/etc/a/two', '/etc/nowhere/three']);
    await change(seen, join(root, 'etc/a/one'));
    await seen.clock.advance(400);
    await change(seen, join(root, 'etc/a/two'));
    await seen.clock.advance(400);
    expect(seen.reported).toBe(0);
    await seen.clock.advance(200);
    expect(seen.reported).toBe(1);
  }));

test('directories that a config no longer writes to are not watched, and new ones are', () =>
  watched(async (root, watch, seen) => {
    await watch.follow(['/etc/a/one']);
    await watch.follow(['/etc/b/one']);
    let reported = false;
    void seen.next.promise.then(() => {
      reported = true;
    });
    // A second watch of the same directory shows when the operating system has reported the change.
    const fence = watchDirectory(join(root, 'etc/a'));
    const reached = once(fence, 'change');
    await writeFile(join(root, 'etc/a/one'), 'x');
    await reached;
    fence.close();
    await new Promise(setImmediate);
    expect(reported).toBe(false);
    await change(seen, join(root, 'etc/b/one'));
    watch.close();
    await seen.clock.advance(10_000);
    expect(seen.reported).toBe(0);
  }));
