import type { InterruptionNotice, NoticeAnswer } from '@mcm/core';
import { expect, Skip } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import type { Process, Stage } from '../stage/stage.ts';

const NOTICE_MS = 120_000;
/** The limit for a driver call is shorter than a minute, because the controller aborts a call after a minute. */
const LONGEST_WAIT_MS = 50_000;

/** @throws Skip if the driver or its cloud does not support interruptions */
function switchOf(stage: Stage, process: Process): NonNullable<Stage['world']['interrupt']> {
  if (!process.invoker.can.interruptions) throw new Skip('the driver has no method watchInterruptions');
  const { interrupt } = stage.world;
  if (!interrupt) throw new Skip('the cloud of the test announces no interruptions (World.interrupt)');
  return interrupt;
}

/** Calls the driver until the driver reports a notice for a VM. */
async function heard(
  stage: Stage,
  process: Process,
  answer: (notice: InterruptionNotice) => NoticeAnswer,
  times: number,
): Promise<readonly InterruptionNotice[]> {
  const notices: InterruptionNotice[] = [];
  for (let wait = 0; wait < times && notices.length === 0; wait++) {
    const call = process.invoker.watchInterruptions(stage.machineClass, async (notice) => {
      notices.push(notice);
      return answer(notice);
    });
    await stage.must('watchInterruptions', call);
  }
  return notices;
}

export const interruptions: readonly Scenario[] = [
  {
    name: 'interruption',
    impact: 'mcm does not evict the pods of a VM before the cloud ends the VM',
    run: async (stage) => {
      const process = stage.process();
      const interrupt = switchOf(stage, process);
      const machine = stage.machine();
      const { providerId } = await stage.must('creation', stage.create(process, machine));
      const other = await stage.must('creation', stage.create(process, stage.machine('other')));
      await interrupt(machine.metadata.name, NOTICE_MS);
      const first = await heard(stage, process, () => 'later', 3);
      expect(first.length > 0, 'the driver reported no notice of the interruption');
      for (const { providerId: id, deadline, noticedAt } of first) {
        expect(
          id === providerId,
          `an interruption notice names VM ${id}, but the interrupted VM is ${providerId}; VM ${other.providerId} is not interrupted`,
        );
        expect(
          !Number.isNaN(Date.parse(noticedAt)),
          `noticedAt of an interruption notice must be a time, not ${noticedAt}`,
        );
        expect(
          deadline !== undefined && !Number.isNaN(Date.parse(deadline)),
          `deadline of an interruption notice must be a time, not ${deadline}`,
        );
      }
      process.stop.abort(new Error('killed'));
      const next = stage.process();
      const again = await heard(stage, next, () => 'done', 5);
      expect(again.length > 0, 'the driver did not repeat a notice after the answer "later"');
      const rest = await heard(stage, next, () => 'done', 2);
      expect(rest.length === 0, 'the driver repeated a notice after the answer "done"');
    },
  },
  {
    name: 'interruption: wait',
    impact: 'the controller calls the cloud continuously, or does not stop',
    run: async (stage) => {
      const process = stage.process();
      switchOf(stage, process);
      const { clock } = stage.world;
      const since = clock.monotonic();
      const notices = await heard(stage, process, () => 'done', 1);
      const took = clock.monotonic() - since;
      expect(notices.length === 0, 'the driver reported a notice without an interruption');
      expect(
        took <= LONGEST_WAIT_MS,
        `watchInterruptions without notices took ${took / 1_000} s, more than ${LONGEST_WAIT_MS / 1_000} s`,
      );
      const waiting = process.invoker.watchInterruptions(stage.machineClass, async () => 'done');
      await stage.pass(stage.pace.lookMs);
      process.stop.abort(new Error('the process stops'));
      const aborted = clock.monotonic();
      await stage.end(waiting);
      expect(
        clock.monotonic() - aborted <= stage.pace.endWithinMs,
        'watchInterruptions does not end after the abort of its signal',
      );
    },
  },
];
