import type { Machine } from '@mcm/api';
import type { Clock } from '@mcm/kube';
import type { Eyes } from './eyes.ts';

/**
 * The maximum time for which the status of a machine in deletion may stay empty without progress. It is the sum of the grace period of a pod, half a
 * minute of delay, and the pause after a refused eviction.
 */
const WITHOUT_STATUS_MS = 90_000;

/** What is waited for, by name; or what failed; or that the VM is on its way out. */
const SAYS = /Waiting: \S+ \S+|Drain failed due to - \S+|Initiate VM deletion/;

/** (f): a machine in deletion reports what it waits for. */
export class StatusVerifier {
  readonly #clock: Clock;
  readonly #eyes: Eyes;
  /** What was last seen of each machine, by UID, and since when. */
  readonly #seen = new Map<string, { readonly state: string; readonly since: number; readonly told: boolean }>();

  constructor(clock: Clock, eyes: Eyes) {
    this.#clock = clock;
    this.#eyes = eyes;
  }

  /** Machines without a report for too long, each reported once. Call it often. */
  look(): readonly string[] {
    const going = this.#eyes.machines.store.list().filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    return going.flatMap((machine) => this.#verify(machine));
  }

  #verify(machine: Machine): readonly string[] {
    const { uid, name } = machine.metadata;
    const { description = '', state: result } = machine.status?.lastOperation ?? {};
    const now = this.#clock.now().getTime();
    const state = this.#stateOf(machine);
    const seen = this.#seen.get(uid);
    const says = SAYS.test(description) || (result === 'Failed' && machine.status?.lastOperation?.type === 'Delete');
    if (says || seen?.state !== state) {
      this.#seen.set(uid, { state, since: now, told: false });
      return [];
    }
    if (seen.told || now < seen.since + WITHOUT_STATUS_MS) return [];
    this.#seen.set(uid, { ...seen, told: true });
    return [`${name} has waited for ${(now - seen.since) / 1_000} s and does not say for what: "${description}"`];
  }

  /** Changes when anything of the machine moves: itself, its Node, a pod or an attachment there. */
  #stateOf({ metadata, status }: Machine): string {
    const node = metadata.labels?.node ?? metadata.name;
    const there = [this.#eyes.pods.store.byIndex('node', node), this.#eyes.attachments.store.byIndex('node', node)];
    const versions = there.flat().map((object) => `${object.metadata.uid} ${object.metadata.deletionTimestamp ?? ''}`);
    return [status?.lastOperation?.description ?? '', status?.currentStatus?.phase ?? '', ...versions.sort()].join(
      '\n',
    );
  }
}
