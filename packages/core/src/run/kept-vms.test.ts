import { type Machine, machineClasses, machines } from '@mcm/api';
import { type ConfigMap, configMaps, events, nodes, parseFlags, type Transport, volumeAttachments } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { FakeFailure } from '../driver/testing.ts';
import { readKeptVms } from '../evidence/kept-vms.ts';
import { RECORD_BOUND_MS } from '../machine/deletion/keep-vm.ts';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { checkMachineFlags, machineFlags } from './flags.ts';
import { NAMESPACE, type Rig, type RigOptions } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ONE_FOR_A_WHILE = { perClass: 1, forMs: 3 * HOUR };
const ILL = [
  { type: 'Ready', status: 'True', reason: 'KubeletReady' },
  { type: 'KernelDeadlock', status: 'True', reason: 'DockerHung' },
] as const;
const DOWN = [{ type: 'Ready', status: 'False', reason: 'ContainerRuntimeDown' }] as const;
const UNREACHABLE = [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] as const;

async function started(options: Partial<RigOptions> = {}): Promise<Rig> {
  const { rig } = await createRig({ eventTtlMs: 0, controller: { keptVms: ONE_FOR_A_WHILE }, ...options });
  await rig.createClass();
  rig.start();
  return rig;
}

const failed = (rig: Rig, ...names: string[]): Promise<number> =>
  rig.until(
    async () => (await Promise.all(names.map((name) => rig.phase(name)))).every((phase) => phase === 'Failed'),
    3 * HOUR,
  );

const gone = (rig: Rig, name: string): Promise<number> => rig.until(async () => !(await rig.machine(name)), 3 * HOUR);

const records = async (rig: Rig): Promise<readonly string[]> =>
  (await rig.admin.resource<ConfigMap>(configMaps, NAMESPACE).list()).items
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.startsWith('kept-vm-'));

const vmsOf = (rig: Rig): readonly string[] => rig.cloud.vms.map(({ machineName }) => machineName);

async function ill(rig: Rig, name: string, conditions: readonly object[] = ILL): Promise<void> {
  await rig.createMachine(name);
  await rig.until(async () => (await rig.phase(name)) === 'Running');
  await rig.conditions(name, conditions);
  await failed(rig, name);
}

test('the VM of a machine that never joined outlives it for the configured time, is reported, and is then deleted [incident 30]', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m-0');
  await failed(rig, 'm-0');
  await rig.deleteMachine('m-0');
  await gone(rig, 'm-0');
  const [kept] = await readKeptVms(rig.admin, NAMESPACE, 'm-0');
  expect(kept).toMatchObject({ machine: 'm-0', providerID: rig.cloud.vms[0]?.providerId });
  expect(kept?.until.getTime()).toBeGreaterThan(rig.clock.now().getTime() + 2 * HOUR);
  await rig.clock.advance(2_000);
  const reported = (await rig.admin.resource(events, NAMESPACE).list()).items.filter(
    ({ reason }) => reason === 'VMKept',
  );
  expect(reported.map(({ message }) => message)).toEqual([expect.stringContaining(`(ConfigMap ${kept?.configMap})`)]);
  await rig.clock.advance(2.5 * HOUR);
  expect(vmsOf(rig)).toEqual(['m-0']);
  expect(rig.controller?.suspects()).toEqual({ vms: 0, nodes: 0, quarantined: 0, stopped: 0 });
  await rig.clock.advance(HOUR);
  expect(vmsOf(rig)).toEqual([]);
  expect(await records(rig)).toEqual([]);
});

test('the Node of a kept VM stays, cordoned, and is deleted after it', async () => {
  const rig = await started();
  await ill(rig, 'm-0');
  await rig.deleteMachine('m-0');
  await gone(rig, 'm-0');
  await rig.clock.advance(HOUR);
  const [node] = await rig.nodes();
  expect(node?.spec.unschedulable).toBe(true);
  expect(node?.metadata.deletionTimestamp).toBeUndefined();
  await rig.clock.advance(1.5 * HOUR);
  await rig.conditions('m-0', UNREACHABLE);
  expect(vmsOf(rig)).toEqual(['m-0']);
  await rig.clock.advance(2 * HOUR);
  expect(vmsOf(rig)).toEqual([]);
  expect(await rig.nodes()).toEqual([]);
});

test('a class keeps at most its limit; expired ones do not count', async () => {
  const rig = await started({ joinAfterMs: undefined });
  for (const name of ['m-0', 'm-1', 'm-2']) await rig.createMachine(name);
  await failed(rig, 'm-0', 'm-1', 'm-2');
  for (const name of ['m-0', 'm-1', 'm-2']) await rig.deleteMachine(name);
  await rig.until(async () => (await rig.machines()).length === 0);
  expect(rig.cloud.vms).toHaveLength(1);
  expect(await records(rig)).toHaveLength(1);
  await rig.clock.advance(4 * HOUR);
  expect(rig.cloud.vms).toHaveLength(0);
  await rig.createMachine('m-3');
  await failed(rig, 'm-3');
  await rig.deleteMachine('m-3');
  await gone(rig, 'm-3');
  expect(vmsOf(rig)).toEqual(['m-3']);
});

test.each<[why: string, spoil: (rig: Rig) => Promise<unknown>]>([
  ['its kubelet does not report: pods may still run on it', (rig) => rig.conditions('m-0', UNREACHABLE)],
  ['its container runtime hangs: ended pods may still run', (rig) => rig.conditions('m-0', DOWN)],
  ['its Node is deleted: pods may still run on it', (rig) => rig.admin.resource(nodes).delete('m-0')],
  [
    'force-deletion',
    async (rig) =>
      rig.admin.resource<Machine>(machines, NAMESPACE).patch('m-0', {
        type: 'merge',
        body: { metadata: { labels: { 'force-deletion': 'true' } } },
      }),
  ],
  [
    'a volume is attached to it',
    async (rig) =>
      rig.admin.resource(volumeAttachments).create({
        metadata: { name: 'a-0' },
        spec: { attacher: 'csi', nodeName: 'm-0', source: { persistentVolumeName: 'pv-0' } },
        status: { attached: true },
      } as never),
  ],
])('a VM is not kept: %s', async (_why, spoil) => {
  const rig = await started();
  await ill(rig, 'm-0');
  await spoil(rig);
  if (!(await rig.machine('m-0'))?.metadata.deletionTimestamp) await rig.deleteMachine('m-0');
  await rig.until(async () => rig.cloud.vms.length === 0, 3 * HOUR);
  expect(await records(rig)).toEqual([]);
});

test('the VM of a healthy machine is deleted, and any VM without the setting', async () => {
  const rig = await started();
  await rig.createMachine('well');
  await rig.until(async () => (await rig.phase('well')) === 'Running');
  await rig.deleteMachine('well');
  await gone(rig, 'well');
  expect(vmsOf(rig)).toEqual([]);
  const other = await started({ controller: {} });
  await ill(other, 'm-0');
  await other.deleteMachine('m-0');
  await gone(other, 'm-0');
  expect(vmsOf(other)).toEqual([]);
});

/** The process stops immediately after the write of the record, so the response is lost. */
test('after a crash between record and status, the next process continues with one record and one VM', async () => {
  let kill: (() => void) | undefined;
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      const answer = await transport(request);
      if (
        request.method === 'POST' &&
        request.path.includes('/configmaps') &&
        String(request.body).includes('kept-vm-')
      )
        kill?.();
      return answer;
    };
  const rig = await started({ joinAfterMs: undefined, wrap });
  const dead = new Promise<void>((resolve) => {
    kill = () => {
      kill = undefined;
      void rig.kill().then(resolve);
    };
  });
  await rig.createMachine('m-0');
  await failed(rig, 'm-0');
  await rig.deleteMachine('m-0');
  await rig.until(async () => kill === undefined);
  await dead;
  expect(await rig.machine('m-0')).toBeDefined();
  rig.start();
  await gone(rig, 'm-0');
  expect(await records(rig)).toHaveLength(1);
  expect(vmsOf(rig)).toEqual(['m-0']);
  await rig.clock.advance(4 * HOUR);
  expect(vmsOf(rig)).toEqual([]);
});

test('a record that cannot be written delays nothing: the VM is deleted as usual', async () => {
  const wrap =
    (transport: Transport): Transport =>
    (request) =>
      request.path.includes('/configmaps/kept-vm-') ? Promise.reject(new Error('no route')) : transport(request);
  const rig = await started({ joinAfterMs: undefined, wrap });
  await rig.createMachine('m-0');
  await failed(rig, 'm-0');
  await rig.deleteMachine('m-0');
  await gone(rig, 'm-0');
  expect(vmsOf(rig)).toEqual([]);
});

test('a record whose answer is lost delays the deletion by at most half a minute', async () => {
  const wrap =
    (transport: Transport): Transport =>
    (request) =>
      request.path.includes('/configmaps/kept-vm-') ? new Promise(() => undefined) : transport(request);
  const rig = await started({ joinAfterMs: undefined, wrap });
  await rig.createMachine('m-0');
  await failed(rig, 'm-0');
  await rig.deleteMachine('m-0');
  const tookMs = await gone(rig, 'm-0');
  expect(tookMs).toBeGreaterThanOrEqual(RECORD_BOUND_MS);
  expect(tookMs).toBeLessThan(RECORD_BOUND_MS + 5_000);
  expect(vmsOf(rig)).toEqual([]);
});

test('an expired record whose VM still exists does not count', async () => {
  const rig = await started({ joinAfterMs: undefined });
  for (const name of ['m-0', 'm-1']) await rig.createMachine(name);
  await failed(rig, 'm-0', 'm-1');
  await rig.deleteMachine('m-0');
  await gone(rig, 'm-0');
  rig.cloud.fail('delete', ...Array<FakeFailure>(100).fill({ code: 'Internal' }));
  await rig.clock.advance(3.5 * HOUR);
  expect(await records(rig)).toHaveLength(1);
  await rig.deleteMachine('m-1');
  await gone(rig, 'm-1');
  expect(await records(rig)).toHaveLength(2);
});

test('a record that another process creates first is used', async () => {
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      const isRecord = request.method === 'POST' && String(request.body).includes('kept-vm-');
      if (isRecord) await transport(request);
      return transport(request);
    };
  const rig = await started({ joinAfterMs: undefined, wrap });
  await rig.createMachine('m-0');
  await failed(rig, 'm-0');
  await rig.deleteMachine('m-0');
  await gone(rig, 'm-0');
  expect([vmsOf(rig), (await records(rig)).length]).toEqual([['m-0'], 1]);
});

test('a process that only reports orphans keeps no VM, because no process would delete the VM', async () => {
  const orphans = { ...ORPHAN_DEFAULTS, policy: 'report' } as const;
  const rig = await started({ joinAfterMs: undefined, controller: { keptVms: ONE_FOR_A_WHILE, orphans } });
  await rig.createMachine('m-0');
  await failed(rig, 'm-0');
  await rig.deleteMachine('m-0');
  await gone(rig, 'm-0');
  expect([vmsOf(rig), await records(rig)]).toEqual([[], []]);
});

test('kept VMs without an end are refused at start, with the flag to change', async () => {
  const asked = async (...argv: string[]): Promise<readonly string[]> => {
    const parsed = await parseFlags({ name: 'machine-controller', version: '0', description: '' }, machineFlags, argv);
    if (parsed.kind !== 'run') throw new Error(`not parsed: ${JSON.stringify(parsed)}`);
    return checkMachineFlags(parsed.values).filter((text) => text.includes('kept'));
  };
  const refusal = expect.stringContaining('--failed-vms-kept-per-class requires --orphan-policy=delete');
  expect(await asked('--failed-vms-kept-per-class=1', '--orphan-policy=report')).toEqual([refusal]);
  expect(await asked('--failed-vms-kept-per-class=1', '--orphan-policy=delete')).toEqual([]);
  expect(await asked('--orphan-policy=report')).toEqual([]);
});

test('a deleted class waits for its kept VMs, which are deleted at once', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m-0');
  await failed(rig, 'm-0');
  await rig.deleteMachine('m-0');
  await gone(rig, 'm-0');
  const classes = rig.admin.resource(machineClasses, NAMESPACE);
  await classes.delete('small');
  await rig.clock.advance(1_000);
  expect((await classes.list()).items).toHaveLength(1);
  const took = await rig.until(async () => (await classes.list()).items.length === 0, 2 * HOUR);
  expect(vmsOf(rig)).toEqual([]);
  expect(took).toBeLessThan(40 * MINUTE);
});

test('a record with an invalid time keeps nothing', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m-0');
  await failed(rig, 'm-0');
  await rig.deleteMachine('m-0');
  await gone(rig, 'm-0');
  const [name = ''] = await records(rig);
  const body = { data: { until: 'for a while' } };
  await rig.admin.resource<ConfigMap>(configMaps, NAMESPACE).patch(name, { type: 'merge', body });
  await rig.clock.advance(HOUR);
  expect(vmsOf(rig)).toEqual([]);
});
