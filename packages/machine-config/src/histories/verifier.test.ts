import { nodes, type Transport, type TransportRequest } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { annotationOf, isDone, isFailing, targetOf } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { configOf } from '../testing.ts';
import { PoolsWorld } from './pools.testing.ts';
import { notRecovered, unnecessaryWrites } from './rest.testing.ts';

type Broken = (transport: Transport, world: () => PoolsWorld) => Transport;

const { DesiredConfig } = NodeAnnotations;
const MINUTE = 60_000;

const setDesiredConfig = (world: PoolsWorld, name: string, config: string) =>
  world.client.resource(nodes).patch(name, {
    type: 'merge',
    body: { metadata: { annotations: { [DesiredConfig]: config } } },
  });

function targetOfRequest({ method, path, body }: TransportRequest): { node: string; config: string } | undefined {
  const node = /^\/api\/v1\/nodes\/([^/?]+)(\?|$)/.exec(path)?.[1];
  const config = method === 'PATCH' && body ? new RegExp(`"${DesiredConfig}":"([^"]+)"`).exec(body)?.[1] : undefined;
  return node === undefined || config === undefined ? undefined : { node, config };
}

const isPoolStatus = ({ method, path }: TransportRequest): boolean =>
  method === 'PATCH' && /\/machineconfigpools\/worker\/status/.test(path);

async function story(broken: Broken | undefined, { bad = false } = {}): Promise<readonly string[]> {
  const world = await PoolsWorld.start({ nodes: { worker: 3, infra: 1 }, single: bad, ...(broken && { broken }) });
  try {
    if (bad) await world.break('worker');
    else await world.write('worker', configOf('b', '/etc/worker'));
    await world.world.clock.advance(10 * MINUTE);
    return [...world.verifier.problems, ...(await unnecessaryWrites(world)), ...(bad ? [] : await notRecovered(world))];
  } finally {
    await world.end();
  }
}

const targetsAll: Broken = (transport, world) => async (request) => {
  const answer = await transport(request);
  const write = targetOfRequest(request);
  if (!write?.config.startsWith('rendered-worker-')) return answer;
  for (const name of ['n0', 'n1', 'n2']) await setDesiredConfig(world(), name, write.config);
  return answer;
};

const goesOn: Broken = (transport, world) => async (request) => {
  const answer = await transport(request);
  if (!isPoolStatus(request)) return answer;
  const target = targetOf((await world().pool('worker')) ?? ({} as never));
  const own = (await world().nodes()).filter(({ metadata }) => ['n0', 'n1', 'n2'].includes(metadata.name));
  const next = own.find((node) => isDone(node) && annotationOf(node, DesiredConfig) !== target);
  if (next && own.every((node) => isDone(node) || isFailing(node)))
    await setDesiredConfig(world(), next.metadata.name, target);
  return answer;
};

const repeats: Broken = (transport, world) => {
  const again = (request: TransportRequest): void =>
    void world().world.clock.setTimeout(() => {
      void transport({ ...request, signal: new AbortController().signal });
      again(request);
    }, MINUTE);
  let begun = false;
  return async (request) => {
    const answer = await transport(request);
    if (!begun && targetOfRequest(request)) {
      begun = true;
      again({ ...request, body: JSON.stringify({ metadata: { annotations: { said: 'again' } } }) });
    }
    return answer;
  };
};

const forgets: Broken = (transport) => (request) =>
  targetOfRequest(request)?.node === 'n1'
    ? transport(partial<TransportRequest>({ ...request, method: 'GET', body: undefined }))
    : transport(request);

const rendersOnce: Broken = (transport) => {
  let hasRendered = false;
  return async (request) => {
    if (hasRendered && request.method === 'POST' && request.path.includes('/machineconfigs'))
      throw new Error('ECONNREFUSED');
    const answer = await transport(request);
    hasRendered ||= isPoolStatus(request);
    return answer;
  };
};

const mixesUp: Broken = (transport, world) => async (request) => {
  const write = targetOfRequest(request);
  if (write?.node !== 'n1') return transport(request);
  const other = targetOf((await world().pool('infra')) ?? ({} as never));
  return transport({ ...request, body: (request.body ?? '').replace(write.config, other) });
};

test.each([
  ['gives the target to all nodes at once', targetsAll, false, /^worker: too many are unavailable: n0, n1, n2 of 1$/],
  ['continues although nodes fail', goesOn, true, /^worker: too many are harmed: n0, n1 of 1$/],
  ['repeats a write without a change', repeats, false, /^writes without a change: PATCH \/api\/v1\/nodes\/n\d$/],
  ['forgets a node', forgets, false, /^n1 has rendered-worker-\w+ of rendered-worker-\w+, not rendered-worker-/],
  ['does not render a change', rendersOnce, false, /^worker: configuration is left to be rendered$/],
  ['sets the target of another pool', mixesUp, false, /^n1 of pool worker gets the target rendered-infra-/],
] as const)('the verifier reports a controller that %s', async (_, broken, bad, seen) => {
  expect(await story(broken, { bad })).toContainEqual(expect.stringMatching(seen));
});

test.each([false, true])(
  'the verifier reports no problem of a correct controller, with a config that is bad: %j',
  async (bad) => {
    expect(await story(undefined, { bad })).toEqual([]);
  },
);
