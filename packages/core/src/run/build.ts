import type { Controller, Informer, InformerRuntime, KubeObject } from '@mcm/kube';
import { type Caches, createCaches, informersOf } from '../cluster/caches.ts';
import { BY_UNREST } from '../control/caches.ts';
import type { VolumeState } from '../drain/volumes/volume-pace.ts';
import type { OfferingShortage } from '../machine/calls/capacity.ts';
import type { Rechecks } from '../machine/calls/node-actions.ts';
import type { SuspectCounts } from '../safety/orphans/orphans.ts';
import { type Controllers, createControllers } from './controllers.ts';
import type { MachineControllerOptions } from './options.ts';
import { createParts, type Parts, type Wake } from './parts.ts';
import { startOverAfterRestore, watchCaches } from './watches.ts';

/** The machine controller of one provider, with all controllers of its process. */
export interface MachineController {
  readonly caches: Caches;
  readonly informers: readonly Informer<KubeObject>[];
  /**
   * The informers of objects that only some machines need. The start of the controller does not wait for these
   * informers.
   */
  readonly spares: readonly Informer<KubeObject>[];
  readonly controllers: readonly Controller[];
  /**
   * Returns true if the controller is frozen, because it could not reach an API server for too long. A frozen
   * controller skips health checks.
   */
  readonly frozen: () => boolean;
  readonly suspects: () => SuspectCounts;
  readonly shortages: () => Iterable<OfferingShortage>;
  readonly volumeLimits: () => Iterable<VolumeState>;
  readonly rechecks: () => Rechecks;
  readonly yields: () => number;
  run(signal: AbortSignal): Promise<void>;
  /** Runs the controllers until the signal aborts; the caller must run the informers. */
  runControllers(signal: AbortSignal): Promise<void>;
  /** Returns true if no reconcile and no driver call is in progress or due within `withinMs`. */
  idle(withinMs?: number): boolean;
  /** Returns true if the controller is idle, all machines are Running, and no Node is being drained. */
  quiet(): boolean;
}

/** Builds a machine controller around a driver. The controller does not start before the call of `run`. */
export function buildMachineController<Spec, Credentials>(
  options: MachineControllerOptions<Spec, Credentials>,
): MachineController {
  const { control, target, namespace, clock, random, log } = options;
  const runtime: InformerRuntime = { clock, random, log, ...options.runtime };
  const caches = createCaches({
    control,
    target,
    namespace,
    runtime,
    region: options.region,
    onDemand: options.onDemand,
  });
  const wake: Wake = {
    machine: (key, afterMs) => controllers.machine.enqueue(key, afterMs),
    orphans: (key) => controllers.orphan.enqueue(key),
    reachability: () => controllers.reachability.enqueue(parts.reachability.key),
  };
  const parts: Parts = createParts(options, caches, wake);
  const controllers: Controllers = createControllers(options, parts);
  startOverAfterRestore(controllers, parts);
  watchCaches(controllers, parts);
  return assembled(controllers, parts, { hasTarget: target !== undefined });
}

function assembled(
  controllers: Controllers,
  parts: Parts,
  { hasTarget }: { readonly hasTarget: boolean },
): MachineController {
  const { caches, calls, capacity, evidence, keptVms, performer, reachability, inherited, stop } = parts;
  const { machine, machineClass, secret, orphan, orphans, volumeLimits } = controllers;
  const hooks = [...controllers.hooks, ...(volumeLimits ? [volumeLimits] : [])];
  const all = [machine, machineClass, secret, orphan, ...hooks, ...(hasTarget ? [controllers.reachability] : [])];
  const informers = informersOf(caches);
  const runControllers = async (signal: AbortSignal): Promise<void> => {
    if (signal.aborted) stop.abort(signal.reason);
    signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true });
    inherited.lead();
    for (const key of orphans.firstKeys) orphan.enqueue(key);
    if (hasTarget) controllers.reachability.enqueue(reachability.key, reachability.begin());
    await Promise.all([...all.map((each) => each.run(signal)), parts.interruptions?.run(signal)]);
  };
  const idle = (withinMs?: number): boolean =>
    calls.running === 0 &&
    evidence.running === 0 &&
    keptVms.running === 0 &&
    [machine, machineClass, secret, ...hooks].every((each) => each.idle(withinMs));
  return {
    caches,
    informers,
    spares: informers.filter((informer) => informer.resource !== caches.machines.resource),
    controllers: all,
    frozen: reachability.frozen,
    suspects: () => orphans.suspects(),
    shortages: () => capacity.shortages(),
    volumeLimits: () => parts.pace?.states() ?? [],
    rechecks: () => performer.rechecks,
    yields: () => performer.yields,
    runControllers,
    run: async (signal) => {
      await Promise.all([...informers.map((informer) => informer.run(signal)), runControllers(signal)]);
    },
    idle,
    quiet: () => idle() && !caches.drains?.open && caches.machines.store.countByIndex(BY_UNREST, '') === 0,
  };
}
