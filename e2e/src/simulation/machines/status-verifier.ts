import type { Machine } from '@mcm/api';
import type { Clock } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import type { ApiCache } from './api-cache.ts';

/** Matches a status that explains a deletion: the object that blocks it, an error, or the start of the VM deletion. */
const SAYS = /Waiting: \S+ \S+|Drain failed due to - \S+|Initiate VM deletion/;

/** Verifies rule (f): while a machine is in deletion, its status names the object that blocks the deletion. */
export class StatusVerifier {
  readonly #clock: Clock;
  readonly #cache: ApiCache;
  readonly #seen = new Map<string, { readonly state: string; readonly since: number; readonly reported: boolean }>();

  constructor(clock: Clock, cache: ApiCache) {
    this.#clock = clock;
    this.#cache = cache;
  }

  /** Returns the machines whose status has lacked a reason for too long. */
  look(): readonly string[] {
    const going = this.#cache.machines.store.list().filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
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
      this.#seen.set(uid, { state, since: now, reported: false });
      return [];
    }
    if (seen.reported || now < seen.since + BOUNDS.withoutStatus.ms) return [];
    this.#seen.set(uid, { ...seen, reported: true });
    return [
      `machine ${name} has waited for ${(now - seen.since) / 1_000} s, but its status does not contain the reason: "${description}"`,
    ];
  }

  #stateOf({ metadata, status }: Machine): string {
    const node = metadata.labels?.node ?? metadata.name;
    const there = [this.#cache.pods.store.byIndex('node', node), this.#cache.attachments.store.byIndex('node', node)];
    const versions = there.flat().map((object) => `${object.metadata.uid} ${object.metadata.deletionTimestamp ?? ''}`);
    return [status?.lastOperation?.description ?? '', status?.currentStatus?.phase ?? '', ...versions.sort()].join(
      '\n',
    );
  }
}
