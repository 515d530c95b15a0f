import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crds, type Machine, type MachineDeployment, machineDeployments, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { createClient, type KubeClient, type Lease, leases, realClock } from '@mcm/kube';
import { sharedBundle } from '@mcm/tools/bundles';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Binary, startBinary } from '../harness/binary.ts';
import { type ExtraAddress, openExtraAddress } from '../harness/extra-address.ts';
import { NAMESPACE, until } from '../harness/stack.ts';
import { makeLocalClass } from './local-class.ts';

/** Hand-overs between real processes. */

const LIMIT = { timeout: 120_000 };
const PATIENCE_MS = 60_000;

let plane: ControlPlane;
let client: KubeClient;
beforeAll(async () => {
  plane = await startControlPlane({ crds, controllers: false });
  const transport = plane.transport;
  client = createClient({ transport, userAgent: 'test', clock: realClock });
});
afterAll(() => plane.close());

interface Started {
  readonly binary: Binary;
  readonly door: ExtraAddress;
}

async function start(program: string, flags: readonly string[] = []): Promise<Started> {
  const door = await openExtraAddress(plane);
  const common = [`--target-kubeconfig=${door.kubeconfig}`, `--namespace=${NAMESPACE}`, '--port=0'];
  const binary = startBinary(program, [...common, ...flags]);
  onTestFinished(async () => {
    binary.kill('SIGKILL');
    await binary.ended;
    await door.close();
  });
  await binary.ready;
  return { binary, door };
}

const lease = (name: string, shows: (record: NonNullable<Lease['spec']>) => boolean): Promise<Lease> =>
  until(client, leases, name, ({ spec }) => spec !== undefined && shows(spec), PATIENCE_MS);

/** Records the holders of a Lease in their order. */
function followHolders(name: string) {
  const holders: string[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    const options = { fieldSelector: `metadata.name=${name}`, signal: stop.signal };
    for await (const event of client.resource(leases, NAMESPACE).watch(options)) {
      if (event.type === 'BOOKMARK') continue;
      const holder = event.object.spec?.holderIdentity ?? '';
      if (holders.at(-1) !== holder) holders.push(holder);
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  onTestFinished(async () => {
    stop.abort(new Error('the test ends'));
    await watching;
  });
  return holders;
}

const scale = (replicas: number) =>
  client
    .resource<MachineDeployment>(machineDeployments, NAMESPACE)
    .patch('pool', { type: 'merge', body: { spec: { replicas } } });

const made = (replicas: number) =>
  until(client, machineDeployments, 'pool', ({ status }) => status?.replicas === replicas, PATIENCE_MS);

test(
  'a stopped process releases its lease, and a frozen process writes nothing late and logs the reason of its end',
  LIMIT,
  async () => {
    const MANAGER = await sharedBundle('machine-controller-manager');
    const NAME = 'machine-controller-manager';
    // The timings leave enough time for a renewal on a busy machine.
    const timings = [
      '--leader-elect-lease-duration=6s',
      '--leader-elect-renew-deadline=5s',
      '--leader-elect-retry-period=500ms',
    ];
    await makeLocalClass(client, { endpoint: 'http://127.0.0.1:1', token: 'none' });
    await client.resource<MachineDeployment>(machineDeployments, NAMESPACE).create({
      metadata: { name: 'pool', namespace: NAMESPACE },
      spec: {
        replicas: 1,
        selector: { matchLabels: { name: 'pool' } },
        template: { metadata: { labels: { name: 'pool' } }, spec: { class: { kind: 'MachineClass', name: 'local' } } },
      },
    });

    const first = await start(MANAGER, timings);
    await made(1);
    const holders = followHolders(NAME);
    const second = await start(MANAGER, timings);
    const { spec: before } = await client.resource(leases, NAMESPACE).get(NAME);

    first.binary.kill('SIGTERM');
    expect(await first.binary.ended).toMatchObject({ code: 0 });
    const { spec: after } = await lease(
      NAME,
      ({ holderIdentity }) => ![before?.holderIdentity, ''].includes(holderIdentity ?? ''),
    );
    expect(holders).toEqual([before?.holderIdentity, '', after?.holderIdentity]);
    await scale(2);
    await made(2);

    const third = await start(MANAGER, timings);
    second.binary.kill('SIGSTOP');
    await scale(3);
    const { spec: last } = await lease(NAME, ({ holderIdentity }) => holderIdentity !== after?.holderIdentity);
    expect(last?.leaseTransitions).toBe((after?.leaseTransitions ?? 0) + 1);
    await made(3);
    await scale(4);
    const sent = second.door.writes.length;
    second.binary.kill('SIGCONT');
    const end = await second.binary.ended;
    expect(end).toEqual({
      code: 1,
      lastLine: expect.stringMatching(
        /^machine-controller-manager: Lease lost: ending the process, because another replica may become the leader: (another|the process could not)/,
      ),
    });
    expect(second.door.writes.slice(sent).filter((line) => !line.includes('/leases/'))).toEqual([]);
    await made(4);
    third.binary.kill('SIGTERM');
    expect(await third.binary.ended).toMatchObject({ code: 0 });
  },
);

test('a machine controller ends and releases its Lease while a request to its cloud has no answer', LIMIT, async () => {
  const asked = Promise.withResolvers<void>();
  const cloud = createServer(() => asked.resolve());
  await new Promise<void>((resolve) => cloud.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    cloud.closeAllConnections();
    cloud.close();
  });
  const endpoint = `http://127.0.0.1:${(cloud.address() as AddressInfo).port}`;
  await makeLocalClass(client, { endpoint, token: 'none' }, 'mute');
  const { binary } = await start(await sharedBundle('machine-controller-local'));
  await client.resource<Machine>(machines, NAMESPACE).create({
    metadata: { name: 'waits', namespace: NAMESPACE },
    spec: { class: { kind: 'MachineClass', name: 'mute' } },
  });
  await asked.promise;
  binary.kill('SIGTERM');
  expect(await binary.ended).toMatchObject({ code: 0 });
  expect((await client.resource(leases, NAMESPACE).get('machine-controller')).spec?.holderIdentity).toBe('');
});
