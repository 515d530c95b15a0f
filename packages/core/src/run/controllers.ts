import { type Controller, type ControllerOptions, createController } from '@mcm/kube';
import { createVolumeLimitStore } from '../drain/volumes/limit-store.ts';
import { hookControllers } from '../hooks/webhooks/controllers.ts';
import { VmSamples } from '../machine/health/vm-state.ts';
import { MachineReconciler } from '../machine/reconciler.ts';
import { createClassReconcile, createSecretReconcile } from '../machine-class/reconciler.ts';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { OrphanCollector } from '../safety/orphans/orphans.ts';
import type { Parts, Settings } from './parts.ts';
import { awaitsVm } from './relevance.ts';

export interface Controllers {
  readonly machine: Controller;
  readonly machineClass: Controller;
  readonly secret: Controller;
  readonly orphan: Controller;
  readonly reachability: Controller;
  readonly orphans: OrphanCollector;
  readonly hooks: readonly Controller[];
  readonly volumeLimits: Controller | undefined;
}

export function createControllers(options: Settings, parts: Parts): Controllers {
  const { control, target, namespace, clock, random, log, recorder } = options;
  const { caches, invoker, former, problems, keptVms, defaults, reachability, wake, stop } = parts;
  const controller = (
    name: string,
    reconcile: ControllerOptions['reconcile'],
    more: Pick<ControllerOptions, 'of' | 'urgent'> = {},
  ): Controller =>
    createController({
      ...more,
      name,
      reconcile,
      clock,
      random,
      log,
      concurrency: options.concurrencyByController?.[name] ?? options.concurrency ?? 50,
      metrics: options.queueMetrics,
    });
  const classReconcile = createClassReconcile({
    client: control,
    caches,
    clock,
    log,
    recorder,
    former,
    keptVms,
    check: invoker.check,
    unknownFields: invoker.unknownFields,
    alternativeProblems: invoker.alternativeProblems,
    forget: (key) => problems.forget(key),
  });
  const orphans = new OrphanCollector({
    caches,
    invoker,
    control,
    target,
    namespace,
    clock,
    log,
    recorder,
    defaults,
    keptVms,
    targetRecorder: options.targetRecorder,
    options: options.orphans ?? ORPHAN_DEFAULTS,
    owner: options.owner,
    frozen: reachability.frozen,
    doubt: reachability.doubt,
    wake: wake.orphans,
    stop: stop.signal,
    journal: options.journal,
  });
  return {
    machine: controller('machine', machineReconciler(options, parts).reconcile, {
      of: caches.machines,
      urgent: (key) => awaitsVm(caches.machines.store.get(key)),
    }),
    machineClass: controller('machineclass', classReconcile, { of: caches.classes }),
    secret: controller('secret', createSecretReconcile({ client: control, caches }), { of: caches.secrets }),
    orphan: controller('machinesafetyorphanvms', orphans.reconcile),
    reachability: controller('machinesafetyapiserver', reachability.reconcile),
    orphans,
    hooks: hooksOf(options, parts),
    volumeLimits: parts.pace && createVolumeLimitStore(parts.pace, options),
  };
}

/** In observe mode, the process calls no webhooks, because the active process calls them. */
function hooksOf(
  { hookWebhooks, observe, control, interruptions, fence, clock, random, log, recorder, queueMetrics }: Settings,
  { caches, invoker }: Parts,
): readonly Controller[] {
  if (!hookWebhooks || observe) return [];
  return hookControllers(hookWebhooks, {
    caches,
    classOf: (machine) => invoker.classOf(machine),
    control,
    interruptions: interruptions !== undefined,
    fence,
    clock,
    random,
    log,
    recorder,
    metrics: queueMetrics,
  });
}

function machineReconciler(
  {
    clock,
    log,
    journal,
    traceIdOf,
    traceDrain,
    interruptions,
    readyCondition = false,
    blockedBy = false,
    volumeWindow = 1,
    recordVmStates = false,
  }: Settings,
  parts: Parts,
): MachineReconciler {
  const { caches, invoker, calls, capacity, tokens, memories, performer, evictions, reachability, wake } = parts;
  return new MachineReconciler({
    caches,
    invoker,
    calls,
    capacity,
    tokens,
    memories,
    performer,
    evictions,
    clock,
    log,
    journal,
    traceIdOf,
    traceDrain,
    volumeWindow,
    defaults: () => parts.defaults,
    frozen: reachability.frozen,
    inherited: (uid) => parts.inherited.has(uid),
    doubt: reachability.doubt,
    keepsEvidence: parts.evidence.enabled,
    keepsVms: parts.keptVms.enabled,
    interruptions: interruptions !== undefined,
    readyCondition,
    blockedBy: () => blockedBy && parts.blockedBy.stored,
    pace: parts.pace,
    samples: recordVmStates ? new VmSamples() : undefined,
    waitFor: (key, budgets, volumes) => parts.wakes.waitFor(key, budgets, volumes),
    wake: wake.machine,
  });
}
