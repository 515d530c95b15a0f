import { sleep, type Transport, VirtualClock } from '@mcm/kube';
import type { FakeMethod } from '../../driver/testing.ts';
import { Rig, type RigOptions } from './rig.ts';

class CrashPoint {
  passed = 0;
  deadline: number | undefined;
  crashed = false;
  onCrash: () => void = () => undefined;

  pass(): void {
    if (this.crashed) throw new Error('this process has crashed');
    if (this.passed++ !== this.deadline) return;
    this.crashed = true;
    this.onCrash();
    throw new Error('killed');
  }
}

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
  readonly points: number;
  readonly crashes: number;
}

export interface CrashTest {
  readonly rig: Rig;
  readonly settled: (done: () => Promise<boolean>, maxMs?: number) => Promise<void>;
}

export interface CrashOptions extends Omit<RigOptions, 'clock' | 'plane' | 'wrap'> {
  readonly open: (clock: VirtualClock) => Promise<RigOptions['plane'] & { close(): Promise<void> }>;
  /** The time for which the cloud waits before and after it creates a VM. */
  readonly createMs?: number;
}

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
  const { createMs = 0 } = options;
  const creates = async (mine: CrashPoint): Promise<void> => {
    await sleep(clock, createMs);
    if (mine.crashed) throw new Error('this process has crashed');
  };
  const gate = (method: FakeMethod): Promise<void> | undefined => {
    crash.pass();
    return method === 'create' && createMs > 0 ? creates(crash) : undefined;
  };
  const rig: Rig = new Rig({
    ...options,
    clock,
    plane,
    cloud: { ...options.cloud, gate },
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
