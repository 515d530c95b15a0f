import { nodes, type Transport, type TransportRequest } from '@mcm/kube';
import { expect, test } from 'vitest';
import { annotationOf, isDone, isFailing, targetOf } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { configOf } from '../testing.ts';
import { PoolsWorld } from './pools.testing.ts';
import { unhealed, unrest } from './rest.testing.ts';

/** What proves nothing unless it can see: controllers that are broken on purpose, and the judge that must say so. */

type Broken = (transport: Transport, world: () => PoolsWorld) => Transport;

const { DesiredConfig } = NodeAnnotations;
const MINUTE = 60_000;

const tell = (world: PoolsWorld, name: string, config: string) =>
  world.client.resource(nodes).patch(name, {
    type: 'merge',
    body: { metadata: { annotations: { [DesiredConfig]: config } } },
  });

/** What a request tells a node. */
function telling({ method, path, body }: TransportRequest): { node: string; config: string } | undefined {
  const node = /^\/api\/v1\/nodes\/([^/?]+)(\?|$)/.exec(path)?.[1];
  const config = method === 'PATCH' && body ? new RegExp(`"${DesiredConfig}":"([^"]+)"`).exec(body)?.[1] : undefined;
  return node === undefined || config === undefined ? undefined : { node, config };
}

const isPoolStatus = ({ method, path }: TransportRequest): boolean =>
  method === 'PATCH' && /\/machineconfigpools\/worker\/status/.test(path);

/** Three workers and another pool; the workers' files change, and what is seen of it until all should be quiet. */
async function story(broken: Broken | undefined, { bad = false } = {}): Promise<readonly string[]> {
  const world = await PoolsWorld.start({ nodes: { worker: 3, infra: 1 }, single: bad, ...(broken && { broken }) });
  try {
    if (bad) await world.break('worker');
    else await world.write('worker', configOf('b', '/etc/worker'));
    await world.world.clock.advance(10 * MINUTE);
    return [...world.judge.problems, ...(await unrest(world)), ...(bad ? [] : await unhealed(world))];
  } finally {
    await world.end();
  }
}

/** Tells all at once what it tells one. */
const tellsAll: Broken = (transport, world) => async (request) => {
  const answer = await transport(request);
  const told = telling(request);
  if (!told?.config.startsWith('rendered-worker-')) return answer;
  for (const name of ['n0', 'n1', 'n2']) await tell(world(), name, told.config);
  return answer;
};

/** Never too many at once, but goes on although nodes fail. */
const goesOn: Broken = (transport, world) => async (request) => {
  const answer = await transport(request);
  if (!isPoolStatus(request)) return answer;
  const target = targetOf((await world().pool('worker')) ?? ({} as never));
  const own = (await world().nodes()).filter(({ metadata }) => ['n0', 'n1', 'n2'].includes(metadata.name));
  const next = own.find((node) => isDone(node) && annotationOf(node, DesiredConfig) !== target);
  if (next && own.every((node) => isDone(node) || isFailing(node))) await tell(world(), next.metadata.name, target);
  return answer;
};

/** Says again and again what is said. */
const repeats: Broken = (transport, world) => {
  const again = (request: TransportRequest): void =>
    void world().world.clock.setTimeout(() => {
      void transport({ ...request, signal: new AbortController().signal });
      again(request);
    }, MINUTE);
  let begun = false;
  return async (request) => {
    const answer = await transport(request);
    if (!begun && telling(request)) {
      begun = true;
      again({ ...request, body: JSON.stringify({ metadata: { annotations: { said: 'again' } } }) });
    }
    return answer;
  };
};

/** Takes it for done that one node is told. */
const forgets: Broken = (transport) => (request) =>
  telling(request)?.node === 'n1'
    ? transport({ ...request, method: 'GET', body: undefined } as unknown as TransportRequest)
    : transport(request);

/** Hears nothing any more of what a pool is to have. */
const sleeps: Broken = (transport, world) => async (request) => {
  const answer = await transport(request);
  if (isPoolStatus(request)) world().wire.hold('machineconfigs', world().world.clock, 24 * 60 * MINUTE);
  return answer;
};

/** Tells a node what another pool has. */
const mixesUp: Broken = (transport, world) => async (request) => {
  const told = telling(request);
  if (told?.node !== 'n1') return transport(request);
  const other = targetOf((await world().pool('infra')) ?? ({} as never));
  return transport({ ...request, body: (request.body ?? '').replace(told.config, other) });
};

test.each([
  ['tells all at once', tellsAll, false, /^worker: too many are unavailable: n0, n1, n2 of 1$/],
  ['goes on although nodes fail', goesOn, true, /^worker: too many are harmed: n0, n1 of 1$/],
  ['writes what is written', repeats, false, /^written in a quiet world: PATCH \/api\/v1\/nodes\/n\d$/],
  ['forgets a node', forgets, false, /^n1 has rendered-worker-\w+ of rendered-worker-\w+, not rendered-worker-/],
  ['sleeps', sleeps, false, /^worker: configuration is left to be rendered$/],
  ['mixes up pools', mixesUp, false, /^n1 of pool worker is told rendered-infra-/],
] as const)('a controller that %s is seen', async (_, broken, bad, seen) => {
  expect(await story(broken, { bad })).toContainEqual(expect.stringMatching(seen));
});

test.each([false, true])('a healthy controller is not blamed, with a config that is bad: %j', async (bad) => {
  expect(await story(undefined, { bad })).toEqual([]);
});
