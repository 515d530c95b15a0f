import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemoryLogger, seededRandom, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { createLocalCloud } from './local-cloud.ts';
import { openSqliteStore } from './store/sqlite-store.ts';

test('a cloud that is closed twice closes its store once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcm-local-cloud-'));
  const clock = new VirtualClock();
  const transport = async () => new Response();
  const cloud = createLocalCloud({
    clock,
    random: seededRandom(1),
    log: createMemoryLogger(),
    store: openSqliteStore(folder),
    kubelets: {
      connect: () => transport,
      nodeCluster: { server: 'https://127.0.0.1', transport, bare: transport },
    },
  });
  await expect(Promise.all([cloud.close(), cloud.close()])).resolves.toEqual([undefined, undefined]);
  await expect(cloud.close()).resolves.toBeUndefined();
  rmSync(folder, { recursive: true });
});
