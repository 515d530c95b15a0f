import { expect } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import type { Stage } from '../stage/stage.ts';
import { requestsOfCreation } from './creation.ts';

const withId = (machine: ReturnType<Stage['machine']>, providerID: string) => ({
  ...machine,
  spec: { ...machine.spec, providerID },
});

/** Verifies the deletion of a VM that does not exist. The driver must succeed or report NotFound. */
async function isGone(stage: Stage, callName: string, call: Promise<unknown>): Promise<void> {
  const ended = await stage.end(call);
  expect(
    ended.ok || ended.error.code === 'NotFound',
    `${callName} must succeed or fail with NotFound, but the error is ${ended.ok ? '' : `${ended.error.code}: ${ended.error.message}`}`,
  );
}

export const deletion: readonly Scenario[] = [
  {
    name: 'deletion',
    impact: 'VMs run and cost money after the deletion of their machines',
    run: async (stage) => {
      const before = new Set(await stage.inventory());
      for (const known of [true, false]) {
        const process = stage.process();
        const machine = stage.machine();
        const { providerId } = await stage.must('creation', stage.create(process, machine));
        const variant = known ? 'with a stored provider ID' : 'without a stored provider ID';
        const gone = known ? withId(machine, providerId) : machine;
        const deleting = stage.process();
        await stage.retry(`deletion of a machine ${variant}`, () => deleting.invoker.delete(gone));
        const listed = (await stage.listed()).some((vm) => vm.providerId === providerId);
        expect(!listed, `after the deletion of a machine ${variant}, the list of the driver still contains its VM`);
      }
      const left = (await stage.inventory()).filter((each) => !before.has(each));
      expect(
        left.length === 0,
        `after the deletion of the machine, these resources remain in the cloud: ${left.join(', ')}`,
      );
    },
  },
  {
    name: 'deletion of a VM that no longer exists',
    impact: 'mcm cannot delete a machine without a VM, and the machine blocks its set',
    run: async (stage) => {
      const process = stage.process();
      await isGone(stage, 'deletion of a machine that never had a VM', process.invoker.delete(stage.machine()));
      const machine = stage.machine();
      const { providerId } = await stage.must('creation', stage.create(process, machine));
      const known = withId(machine, providerId);
      await stage.retry('deletion', () => process.invoker.delete(known));
      await isGone(stage, 'the second deletion', process.invoker.delete(known));
      await isGone(
        stage,
        'the third deletion, which another process requests without a provider ID,',
        stage.process().invoker.delete(machine),
      );
    },
  },
  {
    name: 'deletion of an orphan',
    impact: 'the orphan search never deletes an orphaned VM, and the VM costs money',
    run: async (stage) => {
      const before = new Set(await stage.inventory());
      const machine = stage.machine('orphan');
      const { providerId } = await stage.must('creation', stage.create(stage.process(), machine));
      const orphan = stage.madeUp(machine.metadata.name, providerId);
      for (const call of ['deletion of an orphan by name and provider ID', 'repeated deletion of an orphan'])
        await isGone(stage, call, stage.process().invoker.delete(orphan));
      const listed = (await stage.listed()).some((vm) => vm.providerId === providerId);
      expect(!listed, 'after the deletion of an orphan without the UID of its Machine, the list still contains the VM');
      const left = (await stage.inventory()).filter((each) => !before.has(each));
      expect(
        left.length === 0,
        `after the deletion of an orphan, these resources remain in the cloud: ${left.join(', ')}`,
      );
    },
  },
  {
    name: 'lost responses to the requests of a deletion',
    impact: 'after a broken connection, a VM remains, or mcm can never delete a machine',
    run: async (stage) => {
      // If the driver does not send its requests over the connection of the kit, the scenario is skipped.
      await requestsOfCreation(stage);
      for (let at = 0; at < 3; at++) {
        const process = stage.process();
        const machine = stage.machine(`lost-${at}`);
        const { providerId } = await stage.must('creation', stage.create(process, machine));
        const from = process.wire.seen.length;
        process.wire.assess = (_, index) => (index === from + at ? 'answer lost' : 'passes');
        const known = withId(machine, providerId);
        await stage.retry('deletion', () => stage.delete(process, known));
        const listed = (await stage.listed()).some((vm) => vm.providerId === providerId);
        expect(
          !listed,
          `the response to request ${at + 1} of a deletion was lost, and the list contains the VM after a repeated deletion`,
        );
      }
    },
  },
];
