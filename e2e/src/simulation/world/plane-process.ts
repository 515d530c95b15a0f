import type { Reporter } from '@mcm/conformance/fleet';
import type { ControlPlane, RestorablePlane } from '@mcm/control-plane';
import type { Random, Transport, VirtualClock } from '@mcm/kube';
import type { Disk } from './disk.ts';

export type Plane = Pick<ControlPlane, 'fetch' | 'transport' | 'snapshot' | 'compact' | 'close' | 'kubeconfig'> &
  Partial<Pick<RestorablePlane, 'restore' | 'crash' | 'restart'>>;

export interface PlaneProcessOptions {
  readonly plane: Plane;
  readonly disk: Disk | undefined;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly reporter: Reporter;
}

const WAIT_MS = 10_000;
const CHECK_MS = 250;
const MOST_TURNS = 4;
const MOST_MICROTASKS = 40;

const VERSION = /"resourceVersion":"(\d+)"/;

/** Runs the control plane, and can crash it during a write. */
export class PlaneProcess {
  readonly #options: PlaneProcessOptions;
  #acknowledged = 0;
  #onWrite: (() => void) | undefined;

  constructor(options: PlaneProcessOptions) {
    this.#options = options;
  }

  readonly transport: Transport = (request) => {
    const sent = this.adminTransport(request);
    if (request.method === 'GET') return sent;
    this.#onWrite?.();
    return sent;
  };

  readonly adminTransport: Transport = async (request) => {
    const { plane, disk } = this.#options;
    const answer = await plane.transport(request);
    if (disk === undefined || request.method === 'GET') return answer;
    const [, version = 0] = VERSION.exec(await answer.text()) ?? [];
    this.#acknowledged = Math.max(this.#acknowledged, Number(version));
    return answer;
  };

  /** Crashes the control plane at the next write of a controller or kubelet. */
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
   * Waits for a random number of turns. The control plane commits a write in the next turn, so a crash can happen
   * before or after the commit.
   */
  async #turns(): Promise<void> {
    const { random } = this.#options;
    const turns = Math.floor(random.next() * MOST_TURNS);
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const microtasks = Math.floor(random.next() * MOST_MICROTASKS);
    for (let task = 0; task < microtasks; task += 1) await Promise.resolve();
  }
}
