import { type Machine, phaseOf } from '@mcm/api';
import { isComplete } from '@mcm/core';
import { controllerOf, errorText, type Random, seededRandom } from '@mcm/kube';
import type { OpenCloud } from './clouds.ts';
import type { FleetOptions, SimulatedFleet } from './fleet.ts';

const MINUTE = 60_000;
const START_MS = 120 * MINUTE;
const FAULTS_MS = 30 * MINUTE;
const MAX_KILL_MS = 10 * MINUTE;

export interface HistoryOptions extends Omit<FleetOptions, 'cloud'> {
  readonly openCloud: OpenCloud;
  readonly faults: boolean;
  /** The time without faults after which the fleet must be complete. */
  readonly completeMs: number;
}

export class History {
  readonly fleet: SimulatedFleet;
  readonly dice: Random;
  readonly #options: HistoryOptions;
  readonly #before: readonly string[];
  readonly #inventory: () => Promise<readonly string[]>;
  /** Announces the end of a VM. If the cloud or the settings do not support notices, `interrupt` is undefined. */
  readonly interrupt: ((machineName: string, noticeMs: number) => void | Promise<void>) | undefined;

  constructor(
    fleet: SimulatedFleet,
    options: HistoryOptions,
    cloud: {
      readonly before: readonly string[];
      readonly inventory: () => Promise<readonly string[]>;
      readonly interrupt: History['interrupt'];
    },
  ) {
    this.fleet = fleet;
    this.#options = options;
    this.#before = cloud.before;
    this.#inventory = cloud.inventory;
    this.interrupt = cloud.interrupt;
    this.dice = seededRandom(options.seed + 5);
  }

  number(below: number): number {
    return Math.floor(this.dice.next() * below);
  }

  one<T>(all: readonly T[]): T | undefined {
    return all[this.number(all.length)];
  }

  note(text: string): void {
    this.fleet.reporter.note('act', text);
  }

  later(ms: number, act: () => void): void {
    this.fleet.clock.setTimeout(act, ms);
  }

  async pass(ms: number): Promise<void> {
    const until = this.fleet.clock.monotonic() + ms;
    await this.fleet.until(() => this.fleet.clock.monotonic() >= until, ms + MINUTE);
  }

  async #incomplete(): Promise<string | undefined> {
    const { fleet } = this;
    const waiting = fleet.machines.find((machine) => machine.metadata.deletionTimestamp !== undefined);
    if (waiting) return `the deletion of machine ${waiting.metadata.name} is not complete: ${operationOf(waiting)}`;
    const unready = fleet.machines.find(
      (machine) => controllerOf(machine) && !['Running', 'Available'].includes(phaseOf(machine) ?? ''),
    );
    if (unready) return `machine ${unready.metadata.name} is ${phaseOf(unready) ?? 'new'}: ${operationOf(unready)}`;
    for (const deployment of await fleet.deployments()) {
      const { name } = deployment.metadata;
      if (!isComplete(deployment, deployment.status ?? {})) return `the rollout of deployment ${name} is not complete`;
    }
    return this.#wrongVms();
  }

  async #wrongVms(): Promise<string | undefined> {
    const wanted = new Set(this.fleet.machines.map(({ spec }) => spec.providerID ?? ''));
    const listed = new Set((await this.fleet.vms.check()).map(({ providerId }) => providerId));
    const left = [...listed].find((id) => !wanted.has(id));
    if (left !== undefined) return `VM ${left} belongs to no machine`;
    const lost = this.fleet.machines.find(({ spec }) => !listed.has(spec.providerID ?? ''));
    return lost && `VM ${lost.spec.providerID} of machine ${lost.metadata.name} does not exist`;
  }

  /** Waits until all deployments are complete, and each machine has its VM. */
  async complete(): Promise<number> {
    const { fleet } = this;
    const faultsEnd = fleet.clock.setTimeout(() => fleet.faults.stop(), FAULTS_MS);
    const maxMs = FAULTS_MS + this.#options.completeMs;
    const took = await this.#waited(
      async () => (await this.#incomplete()) === undefined,
      maxMs,
      () => this.#incomplete(),
    );
    faultsEnd.cancel();
    for (const { metadata, spec } of await fleet.deployments())
      fleet.measurements.complete(metadata.name, spec.replicas ?? 0);
    return took;
  }

  async #waited(done: () => Promise<boolean>, maxMs: number, why: () => Promise<string | undefined>): Promise<number> {
    try {
      return await this.fleet.until(done, maxMs);
    } catch (error) {
      const reason = (await why()) ?? errorText(error);
      throw new Incomplete(`the fleet is not complete after ${maxMs / MINUTE} minutes: ${reason}`);
    }
  }

  startFaults(): void {
    if (this.#options.faults) this.fleet.faults.start();
  }

  #killSometimes(): void {
    const { fleet } = this;
    fleet.clock.setTimeout(
      () => {
        if (fleet.faults.on) fleet.kill(this.number(2) === 0 ? 'manager' : 'machine-controller');
        this.#killSometimes();
      },
      (1 + this.number(MAX_KILL_MS / MINUTE)) * MINUTE,
    );
  }

  /** @param play Runs the actions of the scenario. */
  async run(play: (history: History) => Promise<void>): Promise<void> {
    const { fleet } = this;
    await this.#waited(
      async () => (await this.#incomplete()) === undefined,
      START_MS,
      () => this.#incomplete(),
    );
    await this.complete();
    this.startFaults();
    if (this.#options.faults) this.#killSometimes();
    await play(this);
    await this.complete();
    fleet.faults.stop();
    await fleet.removeBudgets();
    for (const { metadata } of await fleet.deployments()) await fleet.remove(metadata.name);
    const gone = async (): Promise<boolean> => fleet.machines.length === 0 && (await this.#left()).length === 0;
    await this.#waited(gone, this.#options.completeMs, async () => {
      const [machine] = fleet.machines;
      if (machine) return `the deletion of machine ${machine.metadata.name} is not complete: ${operationOf(machine)}`;
      return `after the deletion of all machines, these resources remain: ${(await this.#left()).join(', ')}`;
    });
  }

  async #left(): Promise<readonly string[]> {
    return (await this.#inventory()).filter((name) => !this.#before.includes(name));
  }
}

const operationOf = ({ status }: Machine): string => status?.lastOperation?.description ?? 'no operation';

export class Incomplete extends Error {
  override readonly name = 'Incomplete';
}
