import { type Transport, VirtualClock } from '@mcm/kube';
import { Rig, type RigOptions } from './rig.ts';

/** The points at which a process can stop: before and after each of its writes and driver calls. */
class CrashPoint {
  passed = 0;
  /** The number of the point at which the process stops, or undefined if it never stops. */
  deadline: number | undefined;
  crashed = false;
  onCrash: () => void = () => undefined;

  /** After the process has stopped, each point throws an error. */
  pass(): void {
    if (this.crashed) throw new Error('this process has crashed');
    if (this.passed++ !== this.deadline) return;
    this.crashed = true;
    this.onCrash();
    throw new Error('killed');
  }
}

/** The process can stop before a write is sent, and before its response is read. */
const crashing =
  (crash: () => CrashPoint) =>
  (transport: Transport): Transport => {
    const mine = crash();
    return async (request) => {
      if (request.method === 'GET') return transport(request);
      mine.pass();
      const response = await transport(request);
      mine.pass();
      return response;
    };
  };

export interface CrashResult {
  /** The maximum number of stop points that a single process passed. */
  readonly points: number;
  readonly crashes: number;
}

export interface CrashTest {
  readonly rig: Rig;
  readonly settled: (done: () => Promise<boolean>, maxMs?: number) => Promise<void>;
}

export interface CrashOptions extends Omit<RigOptions, 'clock' | 'plane' | 'wrap'> {
  /** Starts an API server in the test process, without controllers. */
  readonly open: (clock: VirtualClock) => Promise<RigOptions['plane'] & { close(): Promise<void> }>;
}

/** The first process stops at the first point in `crashes`, the next process at the second point, and so on. */
export async function runWithCrashes(
  crashes: readonly (number | undefined)[],
  options: CrashOptions,
  test: (stage: CrashTest) => Promise<void>,
): Promise<CrashResult> {
  const clock = new VirtualClock();
  const plane = await options.open(clock);
  let crash = new CrashPoint();
  let restart: Promise<void> = Promise.resolve();
  let restarts = 0;
  const rig: Rig = new Rig({
    ...options,
    clock,
    plane,
    cloud: { ...options.cloud, gate: () => crash.pass() },
    wrap: crashing(() => crash),
  });
  const begin = (): void => {
    crash = new CrashPoint();
    crash.deadline = crashes[restarts++];
    crash.onCrash = () => {
      restart = rig.kill().then(() => begin());
    };
    rig.start();
  };
  let points = 0;
  const settled = async (done: () => Promise<boolean>, maxMs?: number): Promise<void> => {
    await rig.until(async () => {
      await restart;
      points = Math.max(points, crash.passed);
      if (await done()) return true;
      await clock.settle();
      await restart;
      await clock.settle();
      return false;
    }, maxMs);
  };
  await rig.createClass('small', 'token=<<BOOTSTRAP_TOKEN>>');
  begin();
  try {
    await test({ rig, settled });
  } finally {
    await rig.kill();
    await plane.close();
  }
  return { points, crashes: restarts - 1 };
}
