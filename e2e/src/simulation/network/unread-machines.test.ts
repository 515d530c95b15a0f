import { seededRandom, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Network } from './network.ts';

const encoder = new TextEncoder();
const MACHINES = '/apis/machine.sapcloud.io/v1alpha1/namespaces/default/machines';
const STORED = JSON.stringify({ metadata: { name: 'set-a', uid: 'first' } });

const server: Transport = async ({ method, path, signal }) => {
  if (method === 'POST') return new Response(STORED, { status: 201 });
  if (!path.includes('watch=true')) return new Response(STORED);
  async function* events(): AsyncGenerator<Uint8Array> {
    yield encoder.encode(STORED);
    await new Promise((_, reject) => signal?.addEventListener('abort', reject));
  }
  return { status: 200, headers: new Headers(), text: async () => '', body: events() };
};

type Ask = (method: string, path: string, body?: string) => Promise<void>;

async function isRepeatedUnread(between: (ask: Ask) => Promise<void>): Promise<boolean> {
  const clock = new VirtualClock();
  const ignore = (): void => undefined;
  const network = new Network({ clock, seed: 1, random: seededRandom(1), kill: ignore, note: ignore });
  const wire = network.wire('manager', server);
  const ask: Ask = async (method, path, body) => {
    const answer = await wire({ method, path, headers: {}, body });
    if (!path.includes('watch=true')) await answer.text();
    else for await (const _ of answer.body ?? []) break;
  };
  const create = (name: string) => ask('POST', MACHINES, JSON.stringify({ kind: 'Machine', metadata: { name } }));
  network.loseAnswers('manager', /machines$/);
  await expect(create('set-a')).rejects.toThrow('ECONNRESET');
  network.mend();
  await between(ask);
  await create('set-b');
  await create('set-a');
  return network.repeatsUnread('set-a');
}

test.each([
  ['no response', async () => undefined, true],
  ['the list', (ask: Ask) => ask('GET', `${MACHINES}?limit=500`), false],
  ['a read', (ask: Ask) => ask('GET', `${MACHINES}/set-a`), false],
  ['a watch event', (ask: Ask) => ask('GET', `${MACHINES}?watch=true`), false],
  ['a second response', (ask: Ask) => ask('POST', MACHINES, STORED), false],
  ['the list of another kind', (ask: Ask) => ask('GET', '/api/v1/nodes'), true],
])('after a lost response, the manager received %s before it repeats the creation', async (_, between, expected) => {
  expect(await isRepeatedUnread(between)).toBe(expected);
});
