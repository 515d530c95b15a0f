import type { InterruptionNotice, NoticeAnswer } from '@mcm/core';
import { expect, Skip } from '../stage/outcome.ts';
import type { Scenario } from '../stage/scenario.ts';
import type { Process, Stage } from '../stage/stage.ts';

/** Most clouds send the notice this long before the end of a spot VM. */
const NOTICE_MS = 120_000;
/** The controller aborts the call after a minute, so this limit is shorter. */
const LONGEST_WAIT_MS = 50_000;

/** @throws Skip if the driver or its cloud does not support interruptions */
function switchOf(stage: Stage, process: Process): NonNullable<Stage['world']['interrupt']> {
  if (!process.invoker.can.interruptions) throw new Skip('the driver has no watchInterruptions');
  const { interrupt } = stage.world;
  if (!interrupt) throw new Skip('the cloud of the test announces no interruptions (World.interrupt)');
  return interrupt;
}

/** Calls the driver until it reports a notice for a VM, with a limited number of calls. */
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
    impact: 'pods on a VM that the cloud ends are killed without an eviction',
    run: async (stage) => {
      const process = stage.process();
      const interrupt = switchOf(stage, process);
      const machine = stage.machine();
      const { providerId } = await stage.must('creation', stage.create(process, machine));
      const other = await stage.must('creation', stage.create(process, stage.machine('other')));
      await interrupt(machine.metadata.name, NOTICE_MS);
      const first = await heard(stage, process, () => 'later', 3);
      expect(first.length > 0, 'no notice was reported');
      for (const { providerId: id, deadline, noticedAt } of first) {
        expect(
          id === providerId,
          `a notice names ${id}, but the VM is ${providerId}; the other is ${other.providerId}`,
        );
        expect(!Number.isNaN(Date.parse(noticedAt)), `noticedAt of a notice must be a time, not ${noticedAt}`);
        expect(
          deadline !== undefined && !Number.isNaN(Date.parse(deadline)),
          `deadline of a notice must be a time, not ${deadline}`,
        );
      }
      // The process dies before it can record the notice.
      process.stop.abort(new Error('killed'));
      const next = stage.process();
      const again = await heard(stage, next, () => 'done', 5);
      expect(again.length > 0, 'a notice that was answered with "later" was not reported again');
      const rest = await heard(stage, next, () => 'done', 2);
      expect(rest.length === 0, 'a notice that was answered with "done" was reported again');
    },
  },
  {
    name: 'interruption: wait',
    impact: 'the controller calls the cloud without a pause, or does not end',
    run: async (stage) => {
      const process = stage.process();
      switchOf(stage, process);
      const { clock } = stage.world;
      const since = clock.monotonic();
      const notices = await heard(stage, process, () => 'done', 1);
      const took = clock.monotonic() - since;
      expect(notices.length === 0, 'a notice was reported without an interruption');
      expect(
        took <= LONGEST_WAIT_MS,
        `a wait without notices took ${took / 1_000} s, at most ${LONGEST_WAIT_MS / 1_000} s`,
      );
      const waiting = process.invoker.watchInterruptions(stage.machineClass, async () => 'done');
      await stage.pass(stage.pace.lookMs);
      process.stop.abort(new Error('the process stops'));
      const aborted = clock.monotonic();
      await stage.end(waiting);
      expect(clock.monotonic() - aborted <= stage.pace.endWithinMs, 'a wait does not end with its signal');
    },
  },
];
