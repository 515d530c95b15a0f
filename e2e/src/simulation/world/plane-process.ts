import type { Reporter } from '@mcm/conformance/fleet';
import type { ControlPlane, RestorablePlane } from '@mcm/control-plane';
import type { Random, Transport, VirtualClock } from '@mcm/kube';
import type { Disk } from './disk.ts';

/** A control plane that may support crashes and restores. */
export type Plane = Pick<ControlPlane, 'fetch' | 'transport' | 'snapshot' | 'compact' | 'close' | 'kubeconfig'> &
  Partial<Pick<RestorablePlane, 'restore' | 'crash' | 'restart'>>;

export interface PlaneProcessOptions {
  readonly plane: Plane;
  /** The files of the control plane. If undefined, the control plane cannot crash. */
  readonly disk: Disk | undefined;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly reporter: Reporter;
}

/** The time in which a crash waits for a write, and the interval of its checks. */
const WAIT_MS = 10_000;
const CHECK_MS = 250;
/** The maximum number of turns of the event loop, and of microtasks, between the start of a write and a crash. */
const MOST_TURNS = 4;
const MOST_MICROTASKS = 40;

const VERSION = /"resourceVersion":"(\d+)"/;

/**
 * The process of the control plane. A crash happens in the middle of a write. The next process starts with files whose
 * last write is incomplete. The files must contain all acknowledged writes.
 */
export class PlaneProcess {
  readonly #options: PlaneProcessOptions;
  /** The largest resource version in an acknowledged write. */
  #acknowledged = 0;
  /** `#onWrite` is called during the next write. */
  #onWrite: (() => void) | undefined;

  constructor(options: PlaneProcessOptions) {
    this.#options = options;
  }

  /** The connection of the controllers and kubelets. A crash can happen during each of their writes. */
  readonly transport: Transport = (request) => {
    const sent = this.adminTransport(request);
    if (request.method === 'GET') return sent;
    this.#onWrite?.();
    return sent;
  };

  /** The connection of the simulation. */
  readonly adminTransport: Transport = async (request) => {
    const { plane, disk } = this.#options;
    const answer = await plane.transport(request);
    if (disk === undefined || request.method === 'GET') return answer;
    const [, version = 0] = VERSION.exec(await answer.text()) ?? [];
    this.#acknowledged = Math.max(this.#acknowledged, Number(version));
    return answer;
  };

  /**
   * Crashes the control plane during the next write of a controller or kubelet, and starts the control plane again
   * after `downMs`.
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
   * Waits for a random number of turns. The control plane commits a write in the next turn of the event loop, so
   * crashes happen before and after this turn.
   */
  async #turns(): Promise<void> {
    const { random } = this.#options;
    const turns = Math.floor(random.next() * MOST_TURNS);
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const microtasks = Math.floor(random.next() * MOST_MICROTASKS);
    for (let task = 0; task < microtasks; task += 1) await Promise.resolve();
  }
}
