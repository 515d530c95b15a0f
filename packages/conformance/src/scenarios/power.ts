import { Annotations, type Machine } from '@mcm/api';
import { expect, Skip } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import type { Process, Stage } from '../stage/stage.ts';

/** Creates a machine and its VM, with a driver that can stop VMs. */
async function begun(stage: Stage): Promise<{ readonly process: Process; readonly machine: Machine }> {
  const process = stage.process();
  if (!process.invoker.can.stop) throw new Skip('the driver has no methods stop and start');
  const plain = stage.machine();
  const { providerId } = await stage.must('creation', stage.create(process, plain));
  // The controller writes the annotation before it stops or starts a VM.
  const annotations = { ...plain.metadata.annotations, [Annotations.WarmPower]: 'Stopping 2026-01-01T00:00:00Z' };
  const metadata = { ...plain.metadata, annotations };
  const machine = { ...plain, metadata, spec: { ...plain.spec, providerID: providerId } };
  if (process.invoker.can.initialize) await stage.must('initialize', process.invoker.initialize(machine));
  return { process, machine };
}

/** Fails the scenario unless `status` reports the power state, and `list` still contains the VM. */
async function isStopped(stage: Stage, process: Process, machine: Machine, wanted: boolean): Promise<void> {
  if (process.invoker.can.status) {
    const { providerId, ending } = await stage.must('status', process.invoker.status(machine));
    expect(
      providerId === machine.spec.providerID,
      `status must return VM ${machine.spec.providerID ?? ''}, but returns VM ${providerId}`,
    );
    const result = ending === undefined ? 'no ending' : `the ending "${ending}"`;
    expect((ending !== undefined) === wanted, `status returns ${result} for a ${wanted ? 'stopped' : 'running'} VM`);
  }
  if (!process.invoker.can.list) return;
  const vms = await stage.must('list', process.invoker.list(stage.machineClass));
  const own = vms.filter(({ machineName }) => machineName === machine.metadata.name);
  expect(own.length === 1, `list must return one VM for a machine after a stop or start, but returns ${own.length}`);
}

async function stopAndStart(stage: Stage): Promise<void> {
  const { process, machine } = await begun(stage);
  await stage.must('stop', process.invoker.stop(machine, false));
  await isStopped(stage, process, machine, true);
  process.stop.abort(new Error('killed'));
  const next = stage.process();
  await stage.must('repeated stop by a new process', next.invoker.stop(machine, false));
  await stage.must('start', next.invoker.start(machine));
  await isStopped(stage, next, machine, false);
  await stage.must('the repeated start', next.invoker.start(machine));
  await isStopped(stage, next, machine, false);
  await stage.retry('deletion', () => stage.delete(next, machine));
}

async function deleteStopped(stage: Stage): Promise<void> {
  const { process, machine } = await begun(stage);
  await stage.must('stop', process.invoker.stop(machine, false));
  await stage.retry('deletion', () => stage.delete(process, machine));
  const left = (await stage.inventory()).filter((each) => each.includes(machine.metadata.name));
  expect(left.length === 0, `remaining resources: ${left.join(', ')}`);
  for (const [call, answer] of [
    ['stop', await stage.end(process.invoker.stop(machine, false))],
    ['start', await stage.end(process.invoker.start(machine))],
  ] as const) {
    expect(!answer.ok, `${call} of a deleted VM must fail with NotFound, but succeeds`);
    expect(
      answer.error.code === 'NotFound',
      `${call} of a deleted VM must fail with NotFound, not with ${answer.error.code}`,
    );
  }
}

async function refusedStart(stage: Stage): Promise<void> {
  const { process, machine } = await begun(stage);
  await stage.must('stop', process.invoker.stop(machine, false));
  process.wire.assess = (request) => (stage.isWrite(request) ? stage.target.dialect.exhausted : 'passes');
  const refused = await stage.end(process.invoker.start(machine));
  process.wire.assess = () => 'passes';
  expect(!refused.ok, 'the start of a VM succeeds although the cloud has no capacity');
  expect(
    refused.error.code === 'ResourceExhausted',
    `the driver reports missing capacity as ${refused.error.code} instead of ResourceExhausted`,
  );
  await isStopped(stage, process, machine, true);
  await stage.retry('start', () => process.invoker.start(machine));
  await isStopped(stage, process, machine, false);
}

export const power: readonly Scenario[] = [
  {
    name: 'stop and start',
    impact: 'a warm machine runs and causes costs, or never starts',
    run: stopAndStart,
  },
  {
    name: 'stop: deletion',
    impact: 'a stopped VM remains, or its machine waits forever',
    run: deleteStopped,
  },
  {
    name: 'start: capacity',
    impact: 'a scale-up waits for a warm machine instead of creating a new one',
    run: refusedStart,
  },
];
