import { type Machine, machines } from '@mcm/api';
import { type ConfigMap, configMaps, secrets, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { FakeVm } from '../driver/testing.ts';
import { readEvidence } from '../evidence/read.ts';
import { EVIDENCE_BOUND_MS } from '../machine/health/evidence-first.ts';
import { NAMESPACE, type Rig, type RigOptions } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

const MINUTE = 60_000;
const JOIN = 'run <<MACHINE_NAME>> with --token <<BOOTSTRAP_TOKEN>> please';
const UNREACHABLE = [
  { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', message: 'no word from it' },
] as const;

/** Some images print the whole user data on the console. */
const careless = (vm: FakeVm): string =>
  `Booting ${vm.machineName}\n${vm.userData}\n${Buffer.from(vm.userData).toString('base64')}\npanic: no root device\n`;

async function started(options: Partial<RigOptions> = {}): Promise<Rig> {
  const { rig } = await createRig({ cloud: { console: careless }, joinAfterMs: undefined, ...options });
  await rig.createClass('small', JOIN);
  rig.start();
  return rig;
}

const kept = async (rig: Rig): Promise<readonly ConfigMap[]> =>
  (await rig.admin.resource<ConfigMap>(configMaps, NAMESPACE).list()).items.filter(({ metadata }) =>
    metadata.name.startsWith('evidence-'),
  );

const failed = (rig: Rig, name: string, maxMs = 60 * MINUTE): Promise<number> =>
  rig.until(async () => (await rig.phase(name)) === 'Failed', maxMs);

test('a machine that never joins: its console, cloud state and last conditions are kept before it is Failed', async () => {
  const rig = await started();
  await rig.createMachine('m-0');
  await failed(rig, 'm-0');
  const [evidence] = await readEvidence(rig.admin, NAMESPACE, 'm-0');
  expect(evidence).toMatchObject({
    machine: 'm-0',
    failure: 'Machine m-0 failed to join the cluster in 20m0s minutes.',
    conditions: 'no conditions, because no node has joined',
    cloud: 'running',
  });
  expect(evidence?.console).toMatch(/^Booting m-0\n/);
  expect(evidence?.console).toContain('panic: no root device');
  expect(evidence?.missing).toBeUndefined();
  const [configMap] = await kept(rig);
  expect(configMap?.metadata.ownerReferences?.map(({ kind, name }) => [kind, name])).toEqual([
    ['MachineClass', 'small'],
  ]);
});

test('evidence contains neither the bootstrap token nor user data, in any encoding of the console [incident 26, h]', async () => {
  const rig = await started();
  await rig.createMachine('m-0');
  await failed(rig, 'm-0');
  const userData = rig.cloud.made[0]?.userData ?? '';
  const token = /--token (\S+)/.exec(userData)?.[1] ?? '';
  expect(token).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/);
  const text = JSON.stringify(await kept(rig));
  expect(text).not.toContain(token);
  expect(text).not.toContain(token.slice(7));
  expect(text).not.toContain('with --token');
  const encoded = /[A-Za-z0-9+/]{20,}={0,2}/g;
  for (const [found] of text.matchAll(encoded)) {
    expect(Buffer.from(found, 'base64').toString('latin1')).not.toContain(token.slice(7));
  }
});

test('a machine that becomes unhealthy: its last conditions are kept, even if the driver reports nothing', async () => {
  const rig = await started({ cloud: {}, joinAfterMs: 0 });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  await rig.conditions('m-0', UNREACHABLE);
  await failed(rig, 'm-0');
  const [evidence] = await readEvidence(rig.admin, NAMESPACE, 'm-0');
  expect(evidence?.conditions).toMatch(/^Ready=Unknown since .* NodeStatusUnknown: no word from it$/);
  expect(evidence?.missing).toBe('The driver does not support reading the console output of a VM');
  expect(evidence?.failure).toMatch(/^Machine m-0 health checks failing since last 10m0s minutes/);
});

test('a driver whose call does not end costs at most the time limit', async () => {
  const forever = new Promise<never>(() => undefined);
  const rig = await started({
    cloud: { console: careless, gate: (method) => (method === 'evidence' ? forever : undefined) },
  });
  await rig.createMachine('m-0');
  await rig.clock.advance(20 * MINUTE - 1);
  expect(await rig.phase('m-0')).toBe('Pending');
  expect(await failed(rig, 'm-0')).toBeLessThanOrEqual(EVIDENCE_BOUND_MS + 1_000);
  await rig.clock.advance(MINUTE);
  expect((await readEvidence(rig.admin, NAMESPACE, 'm-0'))[0]?.missing).toMatch(/could not read/);
});

test('a process that is killed before or after it stores evidence stores the evidence once', async () => {
  let dies = true;
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      const marks = request.method === 'PATCH' && String(request.body).includes('"Failed"');
      if (dies && marks) {
        return new Promise((_, reject) =>
          request.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
        );
      }
      return transport(request);
    };
  const rig = await started({ wrap });
  await rig.createMachine('m-0');
  await rig.until(async () => (await kept(rig)).length === 1);
  expect(await rig.phase('m-0')).toBe('Pending');
  await rig.kill();
  dies = false;
  const before = rig.cloud.calls.evidence;
  rig.start();
  await failed(rig, 'm-0');
  expect(await kept(rig)).toHaveLength(1);
  expect(rig.cloud.calls.evidence).toBe(before);
});

test('the oldest evidence is deleted when a class has more than its limit', async () => {
  const rig = await started({ controller: { evidencePerClass: 2 } });
  await rig.createClass('other', JOIN);
  await rig.createMachine('x-0', { class: { kind: 'MachineClass', name: 'other' } });
  for (const name of ['m-0', 'm-1', 'm-2']) {
    await rig.createMachine(name);
    await failed(rig, name);
    await rig.clock.advance(MINUTE);
  }
  await rig.clock.advance(MINUTE);
  const names = (await kept(rig)).map(({ data }) => data?.machine).sort();
  expect(names).toEqual(['m-1', 'm-2', 'x-0']);
});

test('text that cannot be checked for secrets is omitted: the Secret is missing, or the token cannot be read', async () => {
  const wrap =
    (transport: Transport): Transport =>
    (request) =>
      request.method === 'GET' && request.path.includes('/secrets/bootstrap-token-')
        ? Promise.resolve(
            new Response('{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}', { status: 403 }),
          )
        : transport(request);
  const rig = await started({ wrap });
  await rig.createClass('bare', JOIN);
  await rig.createMachine('m-0');
  await rig.createMachine('m-1', { class: { kind: 'MachineClass', name: 'bare' } });
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Pending'));
  const client = rig.admin.resource(secrets, NAMESPACE);
  await client.patch('bare', { type: 'merge', body: { metadata: { finalizers: null } } });
  await client.delete('bare');
  await client.patch('bare', { type: 'merge', body: { metadata: { finalizers: null } } }).catch(() => undefined);
  await failed(rig, 'm-0');
  await failed(rig, 'm-1');
  for (const [name, why] of [
    ['m-0', /bootstrap token/],
    ['m-1', /Secret default\/bare/],
  ] as const) {
    const [evidence] = await readEvidence(rig.admin, NAMESPACE, name);
    expect(evidence?.console).toBeUndefined();
    expect(evidence?.missing).toMatch(why);
  }
});

test('machines become Failed although the server refuses evidence, or evidence is disabled', async () => {
  const wrap =
    (transport: Transport): Transport =>
    (request) =>
      request.path.includes('/configmaps')
        ? Promise.resolve(
            new Response('{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}', { status: 403 }),
          )
        : transport(request);
  for (const options of [{ wrap }, { controller: { evidencePerClass: 0 } }]) {
    const rig = await started(options);
    await rig.createMachine('m-0');
    expect(await failed(rig, 'm-0')).toBeLessThan(21 * MINUTE);
    expect(await kept(rig)).toEqual([]);
  }
});

test('a machine that recovers and fails again is kept twice', async () => {
  const rig = await started({ joinAfterMs: 0 });
  await rig.createMachine('m-0');
  for (let round = 1; round <= 2; round++) {
    await rig.until(async () => (await rig.phase('m-0')) === 'Running');
    await rig.conditions('m-0', UNREACHABLE);
    await failed(rig, 'm-0');
    await rig.clock.advance(MINUTE);
    await rig.conditions('m-0', [{ type: 'Ready', status: 'True' }]);
  }
  expect(await readEvidence(rig.admin, NAMESPACE, 'm-0')).toHaveLength(2);
  await rig.admin.resource<Machine>(machines, NAMESPACE).delete('m-0');
  await rig.until(async () => (await rig.machines()).length === 0);
  expect(await readEvidence(rig.admin, NAMESPACE, 'm-0')).toHaveLength(2);
});
