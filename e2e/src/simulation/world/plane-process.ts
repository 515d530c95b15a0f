import type { Reporter } from '@mcm/conformance/fleet';
import type { ControlPlane, RestorablePlane } from '@mcm/control-plane';
import type { Random, Transport, VirtualClock } from '@mcm/kube';
import type { Disk } from './disk.ts';

/** A control plane. Some control planes can crash or be restored. */
export type Plane = Pick<ControlPlane, 'fetch' | 'transport' | 'snapshot' | 'compact' | 'close' | 'kubeconfig'> &
  Partial<Pick<RestorablePlane, 'restore' | 'crash' | 'restart'>>;

export interface PlaneProcessOptions {
  readonly plane: Plane;
  /** The files in which the control plane stores its data. If `disk` is undefined, the control plane cannot crash. */
  readonly disk: Disk | undefined;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly reporter: Reporter;
}

/** A crash waits at most this time for a write. */
const WAIT_MS = 10_000;
const CHECK_MS = 250;
/**
 * Between the start of a write and the crash, at most this number of turns of the event loop, and of microtasks, pass.
 */
const MOST_TURNS = 4;
const MOST_MICROTASKS = 40;

const VERSION = /"resourceVersion":"(\d+)"/;

/**
 * Runs the control plane, and can crash it during a write. After a crash, the last write in the files is incomplete.
 * Every acknowledged write must be complete.
 */
export class PlaneProcess {
  readonly #options: PlaneProcessOptions;
  /** The highest resource version of an acknowledged write. */
  #acknowledged = 0;
  /** Called during the next write of the control plane. */
  #onWrite: (() => void) | undefined;

  constructor(options: PlaneProcessOptions) {
    this.#options = options;
  }

  /** The transport of the controllers and kubelets. During each of their writes, a crash can happen. */
  readonly transport: Transport = (request) => {
    const sent = this.adminTransport(request);
    if (request.method === 'GET') return sent;
    this.#onWrite?.();
    return sent;
  };

  /** The transport of the simulation itself. */
  readonly adminTransport: Transport = async (request) => {
    const { plane, disk } = this.#options;
    const answer = await plane.transport(request);
    if (disk === undefined || request.method === 'GET') return answer;
    const [, version = 0] = VERSION.exec(await answer.text()) ?? [];
    this.#acknowledged = Math.max(this.#acknowledged, Number(version));
    return answer;
  };

  /**
   * Crashes the control plane when a controller or kubelet writes next. After `downMs`, the control plane starts again.
   */
  async crash(downMs: number): Promise<void> {
    const { plane, disk, clock, reporter } = this.#options;
    if (disk === undefined || !plane.crash || !plane.restart)
      throw new Error('the simulation was started without the option `disks`');
    const { crash } = plane;
    let isDead = false;
    const die = (): void => {
      if (isDead) return;
      isDead = true;
      this.#onWrite = undefined;
      crash();
      const revision = disk.crashPlane();
      if (revision < this.#acknowledged)
        reporter.violate(`the control plane lost writes: revision ${revision}, acknowledged ${this.#acknowledged}`);
    };
    this.#onWrite = (): void => {
      this.#onWrite = undefined;
      void this.#turns().then(die);
    };
    for (let ms = 0; ms < WAIT_MS && !isDead; ms += CHECK_MS) await clock.advance(CHECK_MS);
    die();
    await clock.advance(downMs);
    await plane.restart({ dir: disk.plane });
  }

  /**
   * Waits for a random number of turns of the event loop. A write is committed in the next turn, so some crashes happen
   * before and some after the commit.
   */
  async #turns(): Promise<void> {
    const { random } = this.#options;
    const turns = Math.floor(random.next() * MOST_TURNS);
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const microtasks = Math.floor(random.next() * MOST_MICROTASKS);
    for (let task = 0; task < microtasks; task += 1) await Promise.resolve();
  }
}
