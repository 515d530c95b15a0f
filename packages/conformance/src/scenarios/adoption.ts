import { expect, Skip } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import type { Stage } from '../stage/stage.ts';

/** Returns the IDs of the VMs that the driver lists with the name of a machine. */
const named = async (stage: Stage, name: string): Promise<readonly string[]> =>
  (await stage.listed()).filter(({ machineName }) => machineName === name).map(({ providerId }) => providerId);

export const adoption: readonly Scenario[] = [
  {
    name: 'adoption of an existing VM',
    impact: 'after a take-over, a machine has two VMs, and the orphan search deletes the VM in use',
    run: async (stage) => {
      const first = stage.machine('adopted');
      const made = await stage.must('creation', stage.create(stage.process(), first));
      const again = stage.again(first);
      const { name } = again.metadata;
      const process = stage.process();
      const { providerId, nodeName } = await stage.retry(
        'creation of a machine with the same name and another UID',
        () => stage.obtain(process, again),
      );
      expect(
        providerId === made.providerId && nodeName === made.nodeName,
        `the machine must adopt VM ${made.providerId} with node ${made.nodeName}, but the creation returned VM ${providerId} with node ${nodeName}`,
      );
      const mine = (await stage.listedOne(again)).map((vm) => vm.providerId);
      expect(mine.length === 1, `${mine.length} VMs have the name of the machine: ${mine.join(', ')}`);
      await stage.retry('deletion', () => stage.delete(process, again));
      const left = await named(stage, name);
      expect(
        left.length === 0,
        `after the deletion of a machine with an adopted VM, these resources remain: ${left.join(', ')}`,
      );
    },
  },
  {
    name: 'no adoption of a terminated VM',
    impact: 'the machine of a deleted VM stays Pending until the creation timeout',
    run: async (stage) => {
      const process = stage.process();
      const first = stage.machine('ended');
      const { providerId } = await stage.must('creation', stage.create(process, first));
      const known = { ...first, spec: { ...first.spec, providerID: providerId } };
      await stage.retry('deletion', () => stage.delete(process, known));
      for (const who of [process, stage.process()]) {
        const again = stage.again(first);
        const made = await stage.retry('creation of a machine after the deletion of its namesake', () =>
          stage.obtain(who, again),
        );
        const mine = (await stage.listedOne(again)).map((vm) => vm.providerId);
        expect(
          mine.length === 1 && mine[0] === made.providerId,
          `a machine with the name of a deleted machine gets VM ${made.providerId}, but the list contains ${mine.join(', ') || 'none'}`,
        );
        await stage.retry('deletion', () => stage.delete(who, again));
      }
    },
  },
  {
    name: "no adoption of another control cluster's VM",
    impact: 'two control clusters share a VM, and one cluster deletes the VM while the other cluster uses it',
    run: async (stage) => {
      const theirs = stage.process({ owner: 'theirs' });
      const first = stage.machine('foreign');
      const { providerId } = await stage.must('creation', stage.create(theirs, first));
      const reported = await stage.must('list', theirs.invoker.list(stage.machineClass));
      if (reported.find((vm) => vm.providerId === providerId)?.owner !== 'theirs')
        throw new Skip(
          'the list of the driver does not contain the control cluster of a VM: implement ownerTags and ownerOf',
        );
      const ours = stage.process({ owner: 'ours' });
      const again = stage.again(first);
      const ended = await stage.end(stage.obtain(ours, again));
      expect(
        !ended.ok || ended.value.providerId !== providerId,
        `a machine of another control cluster adopts VM ${providerId}`,
      );
      const goes = { ...again, metadata: { ...again.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
      const deleted = await stage.end(ours.invoker.delete(goes));
      expect(
        deleted.ok || deleted.error.code === 'NotFound',
        `a deletion must succeed if another control cluster has a VM of the same name, but the result is ${deleted.ok ? '' : deleted.error.message}`,
      );
      const left = await named(stage, again.metadata.name);
      expect(left.includes(providerId), 'a machine of one control cluster deletes the VM of another control cluster');
    },
  },
];
