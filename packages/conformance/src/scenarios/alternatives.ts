import { Annotations, type Machine } from '@mcm/api';
import { expect, Skip } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import type { Process, Stage } from '../stage/stage.ts';

const withRecord = (machine: Machine, alternative: object): Machine => ({
  ...machine,
  metadata: {
    ...machine.metadata,
    annotations: { ...machine.metadata.annotations, [Annotations.CapacityOffering]: JSON.stringify(alternative) },
  },
});

const withId = (machine: Machine, providerID: string): Machine => ({
  ...machine,
  spec: { ...machine.spec, providerID },
});

/** Lets the cloud refuse the first choice of the class. The driver must create the VM with the alternative. */
async function refusedFirst(stage: Stage, process: Process, machine: Machine): Promise<void> {
  process.wire.assess = (request) => (stage.isWrite(request) ? stage.target.dialect.exhausted : 'passes');
  const refused = await stage.end(stage.create(process, machine));
  process.wire.assess = () => 'passes';
  expect(!refused.ok, 'the driver reports a successful creation although the cloud refuses the request');
  expect(
    refused.error.code === 'ResourceExhausted',
    `the driver reports missing capacity as ${refused.error.code} instead of ResourceExhausted`,
  );
}

async function alternative(stage: Stage): Promise<void> {
  const { alternative: chosen } = stage.target;
  const process = stage.process({ alternatives: chosen ? [chosen] : [] });
  if (!process.driver.alternatives) throw new Skip('the driver does not support capacity alternatives');
  if (!chosen) throw new Skip('the configuration has no field for an alternative offering');
  const problems = process.invoker.alternativeProblems(stage.classWith([chosen]));
  expect(problems.length === 0, problems.join('; '));
  const plain = stage.machine('alternative');
  await refusedFirst(stage, process, plain);
  const machine = withRecord(plain, chosen);
  const made = await stage.must('the creation of a VM with an alternative offering', stage.create(process, machine));
  const other = stage.process({ alternatives: [chosen] });
  const again = await stage.must('repeated creation by a new process', stage.create(other, machine));
  expect(again.providerId === made.providerId, `a repeated creation creates a second VM: ${again.providerId}`);
  for (const asked of [machine, withId(machine, made.providerId), withId(plain, made.providerId)]) {
    const found = await stage.must('status', stage.obtain(other, asked));
    expect(
      found.providerId === made.providerId,
      `status returns ${found.providerId}, but the creation returned ${made.providerId}`,
    );
  }
  if (other.invoker.can.list) {
    const vms = await stage.must('list', other.invoker.list(stage.classWith([chosen])));
    const own = vms.filter(({ machineName }) => machineName === plain.metadata.name);
    expect(
      own.length === 1,
      `list must return one VM for a machine with a capacity alternative, but returns ${own.length}`,
    );
  }
  await stage.retry('deletion', () => stage.delete(other, machine));
  const left = (await stage.inventory()).filter((each) => each.includes(plain.metadata.name));
  expect(left.length === 0, `remaining resources: ${left.join(', ')}`);
}

export const alternatives: readonly Scenario[] = [
  {
    name: 'alternatives',
    impact: 'mcm loses a VM with another machine type or zone, or a machine gets two VMs',
    run: alternative,
  },
];
