import { SimulatedProcess } from '@mcm/conformance/fleet';
import { seededRandom, sleep, type Transport, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { Network } from './network.ts';
import type { ProfileName } from './profiles.ts';

const encoder = new TextEncoder();

const server =
  (clock: VirtualClock, asked: string[] = []): Transport =>
  async ({ path, signal }) => {
    asked.push(path);
    if (!path.includes('watch=true')) return new Response(path);
    async function* say(): AsyncGenerator<Uint8Array> {
      for (let said = 0; ; said += 1) {
        yield encoder.encode(`${said} `);
        await sleep(clock, 1_000, signal);
      }
    }
    return { status: 200, headers: new Headers(), text: async () => '', body: say() };
  };

function stage(profile: ProfileName, seed = 1) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const notes: string[] = [];
  const killed: string[] = [];
  const network = new Network({
    clock,
    seed,
    profile,
    random: seededRandom(seed),
    kill: (caller) => void killed.push(caller),
    note: (text) => void notes.push(text),
  });
  const wire = network.wire('manager', server(clock, asked));
  const ask = (path: string, method = 'GET') => wire({ method, path, headers: {} });
  const watch = (path: string): { readonly heard: string[]; readonly at: number[] } => {
    const seen = { heard: [] as string[], at: [] as number[] };
    const read = async () => {
      for await (const bytes of (await ask(`${path}?watch=true`)).body ?? []) {
        seen.heard.push(...new TextDecoder().decode(bytes).trim().split(' '));
        seen.at.push(clock.monotonic());
      }
    };
    void read().catch(() => undefined);
    return seen;
  };
  return { clock, network, asked, notes, killed, ask, watch };
}

test('each request and each answer has a separate latency, which is the same for the same seed', async () => {
  const times = async (seed: number): Promise<readonly number[]> => {
    const { clock, ask } = stage('slow', seed);
    const began = clock.monotonic();
    const asked = ['/a', '/b', '/a'].map(async (path) => {
      await ask(path);
      return clock.monotonic() - began;
    });
    await clock.advance(60_000);
    return Promise.all(asked);
  };
  const first = await times(1);
  expect(new Set(first).size).toBe(3);
  expect(await times(1)).toEqual(first);
  expect(await times(2)).not.toEqual(first);
});

test('without faults, nothing is late', async () => {
  const { clock, ask, watch } = stage('none');
  const { at } = watch('/apis/machines');
  await clock.advance(3_000);
  expect(at).toEqual([0, 1_000, 2_000, 3_000]);
  await ask('/a');
  expect(clock.monotonic()).toBe(3_000);
});

test('events of one watch keep their order, and watches have separate latencies', async () => {
  const { clock, watch, network } = stage('slow');
  const [one, other] = [watch('/apis/machines'), watch('/apis/nodes')];
  await clock.advance(30_000);
  for (const { heard } of [one, other]) expect(heard).toEqual([...heard].sort((a, b) => Number(a) - Number(b)));
  expect(one.heard.length).toBeGreaterThan(20);
  expect(one.at).not.toEqual(other.at);
  expect(network.behindMs('manager', 'machines')).toBeLessThanOrEqual(3_000);
});

test('the network knows which callers may lack events of which resource, and since when', async () => {
  const { clock, watch, network } = stage('none');
  watch('/apis/machines');
  await clock.advance(5_000);
  expect(network.behindMs('manager', 'machines')).toBe(0);
  network.silence('manager');
  await clock.advance(5_500);
  expect(network.behindMs('manager', 'machines')).toBe(4_500);
  expect(network.behindMs('manager', 'nodes')).toBe(0);
  expect(network.lagMs('manager', 'machines')).toBe(5_500);
  // A new watch delivers the events that the old watch has not delivered.
  watch('/apis/machines');
  await clock.advance(1_000);
  expect(network.behindMs('manager', 'machines')).toBe(0);
});

test('the profile hostile refuses reads, shortens pages, lets pages and watches expire, stops watches and kills', async () => {
  const { clock, network, asked, notes, killed, ask, watch } = stage('hostile');
  for (let index = 0; index < 300; index += 1) {
    void ask(`/apis/pods?limit=500&continue=${index}`).catch(() => undefined);
    if (index % 5 === 0) watch('/apis/pods');
  }
  await clock.advance(300_000);
  expect(asked.some((path) => path.includes('limit=2&continue='))).toBe(true);
  for (const what of ['conflict', 'throttled', 'internal', 'lost', 'has expired', 'delivers no further events'])
    expect(
      notes.some((text) => text.includes(what)),
      what,
    ).toBe(true);
  expect(killed).toContain('manager');
  network.calm();
  const before = notes.length;
  for (let index = 0; index < 100; index += 1) await ask('/apis/pods?limit=500&continue=1');
  expect(notes.slice(before)).toEqual([]);
  expect(asked.at(-1)).toContain('limit=500');
});

test('the profile hostile refuses watches and loses their answers', async () => {
  const { clock, notes, ask } = stage('hostile');
  const opened = Array.from({ length: 300 }, () =>
    ask('/apis/pods?watch=true').then(
      ({ status }) => status,
      (error: unknown) => String(error),
    ),
  );
  await clock.advance(60_000);
  expect(new Set(await Promise.all(opened))).toEqual(new Set([200, 409, 410, 429, 500, 'Error: read ECONNRESET']));
  expect(notes).toContain('manager: the watch of /apis/pods does not start: lost');
});

test('a probe of the same object is answered like the first one, which found no object', async () => {
  const { clock, network } = stage('none');
  let answered = 0;
  const server: Transport = async () => {
    answered += 1;
    return new Response('no such object', { status: 404 });
  };
  const wire = network.wire('machine-controller', server);
  const probe = async () => {
    const answer = await wire({ method: 'GET', path: '/api/v1/nodes/dummy-name', headers: {} });
    return [answer.status, await answer.text()];
  };
  expect(await Promise.all([await probe(), await probe()])).toEqual(Array(2).fill([404, 'no such object']));
  expect(answered).toBe(1);
  network.cut('machine-controller');
  await expect(probe()).rejects.toThrow('ECONNREFUSED');
  expect(clock.monotonic()).toBe(0);
});

test.each([
  ['lan', 2],
  ['hostile', 5],
] as const)('with profile %s, the server gets %i of five renewals of a Lease within 40 s', async (profile, count) => {
  const { clock, network } = stage(profile);
  let answered = 0;
  const server: Transport = async () => {
    answered += 1;
    return new Response('{}');
  };
  const wire = network.wire('kubelets', server);
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a';
  for (let renewal = 0; renewal < 5; renewal += 1) {
    void wire({ method: 'PATCH', path, headers: {}, body: '{}' });
    await clock.advance(10_000);
  }
  await clock.advance(20_000);
  expect(answered).toBe(count);
});

test('a request at which one of two processes dies ends that process', async () => {
  const { clock, network, killed } = stage('none');
  const died: string[] = [];
  const wires = ['a', 'b'].map((name) =>
    network.wire('manager', server(clock), { life: new AbortController().signal, kill: () => void died.push(name) }),
  );
  network.setFaultChances({ 'killed before': 1 });
  void wires[1]?.({ method: 'PATCH', path: '/a', headers: {} });
  await clock.settle();
  expect([died, killed]).toEqual([['b'], []]);
});

/** Runs processes that send two requests without a pause, and kills each process. */
async function doubleRequests(): Promise<readonly string[][]> {
  const { clock, network } = stage('hostile');
  const sent: string[][] = [];
  for (let count = 0; count < 40; count += 1) {
    const life = new AbortController();
    const requests: string[] = [];
    sent.push(requests);
    const proc = new SimulatedProcess(undefined, () => life.abort());
    const wire = proc.wrap(async ({ path }) => {
      requests.push(path);
      return new Response(path);
    });
    const own = network.clock('manager', clock, { life: life.signal, kill: () => proc.kill() });
    const work = async (): Promise<void> => {
      own.setTimeout(() => void work(), 100);
      void wire({ method: 'PATCH', path: 'first', headers: {} });
      for (let step = 0; step < 10; step += 1) await Promise.resolve();
      void wire({ method: 'PATCH', path: 'second', headers: {} });
    };
    void work();
  }
  await clock.advance(3_600_000);
  return sent;
}

test('a process can be killed between two requests of one turn, at an await without a timer or response', async () => {
  const sent = await doubleRequests();
  const halves = sent.filter((requests) => requests.at(-1) === 'first');
  expect(halves.length).toBeGreaterThan(0);
  expect(halves.length).toBeLessThan(sent.length);
});
