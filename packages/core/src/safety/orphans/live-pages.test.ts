import { createClient, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { liveMachines } from './live-orphans.ts';

test('machines of every page are read, because a missed one would lose its VM', async () => {
  const asked: (string | null)[] = [];
  const pages = [['a', 'p2'], ['b', 'p3'], ['c']];
  const transport = ({ path }: { readonly path: string }) => {
    asked.push(new URL(path, 'http://server').searchParams.get('continue'));
    const [name, token] = pages[asked.length - 1] ?? [];
    const metadata = { resourceVersion: '1', ...(token ? { continue: token } : {}) };
    return Promise.resolve(new Response(JSON.stringify({ kind: 'List', metadata, items: [{ metadata: { name } }] })));
  };
  const client = createClient({ transport, userAgent: 'test', clock: new VirtualClock() });
  expect([...(await liveMachines(client, 'default')).keys()]).toEqual(['a', 'b', 'c']);
  expect(asked).toEqual([null, 'p2', 'p3']);
});
