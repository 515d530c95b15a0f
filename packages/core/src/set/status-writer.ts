import { type Machine, type MachineSet, MachineSetConditions } from '@mcm/api';
import { again, controllerOf, done, isNotFound, type Outcome, type ResourceClient } from '@mcm/kube';
import { BlockedByField, type Blocking, blocksOf } from '../blocked/blocks.ts';
import { blocksOfMachines, blocksOfSet } from '../blocked/causes.ts';
import type { ControllerContext } from '../control/caches.ts';
import { Pace } from '../flow/pace.ts';
import { findCondition, setSetCondition, withoutCondition } from '../objects/conditions.ts';
import { type SetProblems, withProblems } from './problems.ts';
import { countMachines, type ReplicaFailure, setStatus, setStatusDiffers } from './status.ts';

const STATUS_INTERVAL_MS = 1_000;

const INVALID_SPEC = MachineSetConditions.InvalidSpec;

export class SetStatusWriter {
  readonly #context: ControllerContext;
  readonly #sets: ResourceClient<MachineSet>;
  readonly #pace = new Pace(STATUS_INTERVAL_MS);
  readonly #blockedBy = new BlockedByField();

  constructor(context: ControllerContext, sets: ResourceClient<MachineSet>) {
    this.#context = context;
    this.#sets = sets;
  }

  forget(key: string): void {
    this.#pace.forget(key);
  }

  /** The original writes a problem of a set only to its log. */
  async refuse(set: MachineSet, problem: string, signal: AbortSignal): Promise<Outcome> {
    const old = set.status?.machineSetCondition ?? [];
    const known = findCondition(old, INVALID_SPEC);
    if (known?.message === problem) return done;
    this.#context.recorder.event(set, 'Warning', INVALID_SPEC, problem);
    const change = { type: INVALID_SPEC, status: 'True', reason: 'ValidationFailed', message: problem } as const;
    const conditions = setSetCondition(withoutCondition(old, INVALID_SPEC), change, this.#context.clock.now());
    await this.#put(set, { ...set.status, machineSetCondition: conditions }, signal);
    return done;
  }

  /** The writer reports a complete set or a problem immediately, and all other changes at a limited rate. */
  async write(
    key: string,
    acted: MachineSet,
    machines: readonly Machine[],
    {
      failure,
      blocking,
      ...problems
    }: SetProblems & { readonly failure: ReplicaFailure | undefined; readonly blocking: readonly Blocking[] },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const now = this.#context.clock.now();
    // The resource version of the set changes while machines are created, so the write uses the newest known set.
    const newest = this.#context.sets.store.get(key) ?? acted;
    const counts = countMachines(acted, machines);
    const status = setStatus(
      { ...newest, spec: acted.spec, metadata: { ...newest.metadata, generation: acted.metadata.generation ?? 0 } },
      counts,
      failure,
      now,
    );
    const stored = newest.status?.machineSetCondition ?? [];
    const { conditions, events } = withProblems(acted, stored, status.machineSetCondition ?? [], problems, now);
    const missing = (acted.spec.replicas ?? 0) - counts.replicas;
    const blocks = this.#blocks(
      newest,
      [...blocking, ...blocksOfSet(acted, missing), ...blocksOfMachines(machines)],
      now,
    );
    const wanted = { ...status, machineSetCondition: conditions, ...blocks };
    if (!setStatusDiffers(newest.status, wanted)) return done;
    // Clients wait for a set without a deployment, so mcm writes the status at once when such a set is complete.
    const wanting = acted.spec.replicas ?? 0;
    const arrived = counts.available === wanting && counts.replicas === wanting && controllerOf(newest) === undefined;
    const urgent = arrived || failure !== undefined || problems.lacksClass || events.length > 0;
    const waitMs = urgent ? 0 : this.#pace.waitMs(key, now);
    if (waitMs > 0) return again(waitMs);
    for (const { type, reason, message } of events) this.#context.recorder.event(acted, type, reason, message);
    await this.#put(newest, wanted, signal);
    this.#pace.wrote(key, now);
    return done;
  }

  #blocks(
    set: MachineSet,
    blocking: readonly Blocking[],
    now: Date,
  ): Pick<NonNullable<MachineSet['status']>, 'blockedBy'> {
    if (!this.#context.blockedBy || !this.#blockedBy.stored) return {};
    const blocks = blocksOf(set.status?.blockedBy ?? [], blocking, now);
    return blocks.length > 0 ? { blockedBy: [...blocks] } : {};
  }

  async #put(set: MachineSet, status: NonNullable<MachineSet['status']>, signal: AbortSignal): Promise<void> {
    try {
      const written = await this.#sets.update({ ...set, status }, { subresource: 'status', signal });
      this.#context.sets.recordWrite(written);
      this.#blockedBy.wrote(status.blockedBy, written.status?.blockedBy);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
