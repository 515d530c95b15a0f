import { type Transport, VirtualClock } from '@mcm/kube';
import { Rig, type RigOptions } from './rig.ts';

/** Tests in which the machine controller stops at a chosen point, and a new process continues. */

/** Counts the points at which a process can stop: before and after each of its writes and driver calls. */
class Fate {
  passed = 0;
  /** The process stops at this point; undefined if it does not stop. */
  deadline: number | undefined;
  dead = false;
  onDeath: () => void = () => undefined;

  /** Throws at the point where the process stops, and at all later points. */
  pass(): void {
    if (this.dead) throw new Error('this process is dead');
    if (this.passed++ !== this.deadline) return;
    this.dead = true;
    this.onDeath();
    throw new Error('killed');
  }
}

/** A transport with two such points for every write: before the request is sent, and before its answer is read. */
const mortal =
  (fate: () => Fate) =>
  (transport: Transport): Transport => {
    const mine = fate();
    return async (request) => {
      if (request.method === 'GET') return transport(request);
      mine.pass();
      const response = await transport(request);
      mine.pass();
      return response;
    };
  };

export interface Fates {
  /** The maximum number of points that one process passed. */
  readonly points: number;
  /** Number of processes that stopped. */
  readonly deaths: number;
}

export interface Story {
  readonly rig: Rig;
  /** Runs until the condition is true, also if processes stop. */
  readonly settled: (done: () => Promise<boolean>, maxMs?: number) => Promise<void>;
}

export interface MortalOptions extends Omit<RigOptions, 'clock' | 'plane' | 'wrap'> {
  /** Starts an API server in this process, without controllers. */
  readonly open: (clock: VirtualClock) => Promise<RigOptions['plane'] & { close(): Promise<void> }>;
}

/** Runs a test. The first process stops at the first point in `deaths`, the next process at the second point, and so on. */
export async function liveAndDie(
  deaths: readonly (number | undefined)[],
  options: MortalOptions,
  story: (stage: Story) => Promise<void>,
): Promise<Fates> {
  const clock = new VirtualClock();
  const plane = await options.open(clock);
  let fate = new Fate();
  let restart: Promise<void> = Promise.resolve();
  let restarts = 0;
  const rig: Rig = new Rig({
    ...options,
    clock,
    plane,
    cloud: { ...options.cloud, gate: () => fate.pass() },
    wrap: mortal(() => fate),
  });
  const begin = (): void => {
    fate = new Fate();
    fate.deadline = deaths[restarts++];
    fate.onDeath = () => {
      restart = rig.kill().then(() => begin());
    };
    rig.start();
  };
  let points = 0;
  const settled = async (done: () => Promise<boolean>, maxMs?: number): Promise<void> => {
    await rig.until(async () => {
      await restart;
      points = Math.max(points, fate.passed);
      if (await done()) return true;
      // A process may have just stopped, and the new one may have no timer yet.
      await clock.settle();
      await restart;
      await clock.settle();
      return false;
    }, maxMs);
  };
  await rig.createClass('small', 'token=<<BOOTSTRAP_TOKEN>>');
  begin();
  try {
    await story({ rig, settled });
  } finally {
    await rig.kill();
    await plane.close();
  }
  return { points, deaths: restarts - 1 };
}
