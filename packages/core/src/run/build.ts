import type { Machine, MachineClass } from '@mcm/api';
import {
  type Controller,
  type ControllerOptions,
  createController,
  type Informer,
  type InformerRuntime,
  type Key,
  type KubeObject,
  keyOf,
} from '@mcm/kube';
import { createTokenIssuer, imaginedTokens } from '../bootstrap/tokens.ts';
import { type Caches, createCaches, informersOf } from '../cluster/caches.ts';
import { observingDriver } from '../driver/cloud/observing.ts';
import { fallbackClasses } from '../driver/invoker/fallback.ts';
import { createInvoker } from '../driver/invoker/invoker.ts';
import { EVIDENCE_PER_CLASS, EvidenceKeeper } from '../evidence/keeper.ts';
import { KEPT_VM_DEFAULTS, KeptVms } from '../evidence/kept-vms.ts';
import { DriverCalls, FAULT_AFTER_FAILURES } from '../machine/calls/calls.ts';
import { CapacityGate } from '../machine/calls/capacity.ts';
import type { Rechecks } from '../machine/calls/node-actions.ts';
import { Performer } from '../machine/calls/perform.ts';
import { InheritedMachines } from '../machine/creation/inherited.ts';
import { REACHABILITY_DEFAULTS, ReachabilityCheck } from '../machine/health/reachability.ts';
import { MachineMemories } from '../machine/model/memory.ts';
import { MachineReconciler } from '../machine/reconciler.ts';
import { Wakes } from '../machine/wakes.ts';
import { ClassProblems } from '../machine-class/class-problems.ts';
import { FormerSpecs } from '../machine-class/former-spec.ts';
import { createClassReconcile, createSecretReconcile } from '../machine-class/reconciler.ts';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { OrphanCollector, orphanKeysOf } from '../safety/orphans/orphans.ts';
import { MACHINE_DEFAULTS } from '../settings/settings.ts';
import type { MachineControllerOptions } from './options.ts';
import { awaitsVm, classMatters, classOfMachine, isNewOrGoes, secretsOfClass } from './relevance.ts';

/** The machine controller of one provider: every controller of its process. */
export interface MachineController {
  readonly caches: Caches;
  readonly informers: readonly Informer<KubeObject>[];
  /** Those that it goes on without: only what needs them waits. */
  readonly spares: readonly Informer<KubeObject>[];
  readonly controllers: readonly Controller[];
  /** Whether API servers were out of reach for so long that nothing is judged. */
  readonly frozen: () => boolean;
  /** VMs and Nodes that stood for no machine when it was last looked. */
  readonly suspects: () => { readonly vms: number; readonly nodes: number; readonly quarantined: number };
  /** Reads of Nodes whose machines' health changes often. */
  readonly rechecks: () => Rechecks;
  /** Runs informers and controllers until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Runs the controllers only, for a host that runs the informers. */
  runControllers(signal: AbortSignal): Promise<void>;
  /** True when no key and no driver call is under way or due within `withinMs`. */
  idle(withinMs?: number): boolean;
}

/** Puts a machine controller together around a driver. Nothing runs before its `run`. */
export function buildMachineController<Spec, Credentials>(
  options: MachineControllerOptions<Spec, Credentials>,
): MachineController {
  const { control, target, namespace, clock, random, log, recorder } = options;
  const runtime: InformerRuntime = { clock, random, log, ...options.runtime };
  const caches = createCaches({ control, target, namespace, runtime });
  const stop = new AbortController();
  const inherited = new InheritedMachines(caches.machines);
  const former = new FormerSpecs();
  const problems = new ClassProblems(recorder);
  const invoker = createInvoker({
    former: (machineClass) => former.of(machineClass),
    driver: options.observe ? observingDriver(options.driver, options.observe) : options.driver,
    caches,
    clock,
    log,
    stop: stop.signal,
    ...(options.siblingCredentials === false
      ? {}
      : { fallback: (machine: Machine, own: MachineClass) => fallbackClasses(machine, own, caches) }),
    ...(options.timeouts ? { timeouts: options.timeouts } : {}),
    ...(options.observeCall ? { observe: options.observeCall } : {}),
    ...(options.observeApi ? { observeApi: options.observeApi } : {}),
    tracer: options.tracer,
    owner: options.owner,
    formerOwners: options.orphans?.formerOwners,
    ...(options.fence ? { fence: options.fence } : {}),
    observeClass: problems.observe,
  });
  const extraGroups = options.bootstrapTokenExtraGroups ?? '';
  const tokens =
    target &&
    (options.observe
      ? imaginedTokens()
      : createTokenIssuer({ client: target, extraGroups, clock, random: options.secretRandom, log }));
  const memories = new MachineMemories();
  const wakes = new Wakes(caches, memories, namespace);
  const defaults = options.defaults ?? MACHINE_DEFAULTS;
  const controller = (
    name: string,
    reconcile: ControllerOptions['reconcile'],
    parts: Pick<ControllerOptions, 'of' | 'urgent'> = {},
  ): Controller =>
    createController({
      ...parts,
      name,
      concurrency: options.concurrencyByController?.[name] ?? options.concurrency ?? 50,
      reconcile,
      clock,
      random,
      log,
      ...(options.queueMetrics ? { metrics: options.queueMetrics } : {}),
    });

  const calls: DriverCalls = new DriverCalls({
    clock,
    log,
    wake: (machine) => machineController.enqueue(keyOf(machine)),
    onFault: (machine, kind, error) =>
      recorder.event(
        machine,
        'Warning',
        'DriverFault',
        `${kind} has failed ${FAULT_AFTER_FAILURES} times in a row with what is no answer of the cloud: ${error.message}; it is tried again, but driver ${options.driver.name} has to be mended`,
      ),
    observer: {
      began: (machine, kind, inputs) => kind === 'create' && capacity.began(machine, inputs),
      ended: (machine, kind, inputs, outcome) => kind === 'create' && capacity.ended(machine, inputs, outcome),
    },
  });
  const capacity = new CapacityGate({
    clock,
    random,
    firstMs: defaults.resourceExhaustedRetryMs,
    wake: (key) => machineController.enqueue(key),
  });
  const reachability = new ReachabilityCheck({
    caches,
    control,
    target,
    probes: options.probes ?? { control, target },
    namespace,
    clock,
    log,
    timings: options.reachability ?? REACHABILITY_DEFAULTS,
    wake: (key) => machineController.enqueue(key),
    check: () => safetyController.enqueue(reachability.key),
  });
  const evidence = new EvidenceKeeper({
    control,
    invoker,
    tokens,
    log,
    perClass: options.evidencePerClass ?? EVIDENCE_PER_CLASS,
    wake: (machine) => machineController.enqueue(keyOf(machine)),
  });
  const keptVms = new KeptVms({
    ...(options.keptVms ?? KEPT_VM_DEFAULTS),
    control,
    namespace,
    log,
    collected: invoker.can.list && options.orphans?.policy !== 'report',
    wake: (machine) => machineController.enqueue(keyOf(machine)),
  });
  const performer = new Performer({
    ...{ control, target, caches, invoker, calls, tokens, evidence, keptVms, recorder, log },
  });
  const reconciler = new MachineReconciler({
    caches,
    invoker,
    calls,
    capacity,
    defaults: () => defaults,
    tokens,
    frozen: reachability.frozen,
    inherited: (uid) => inherited.has(uid),
    doubt: reachability.doubt,
    volumeWindow: options.volumeWindow ?? 1,
    keepsEvidence: evidence.enabled,
    keepsVms: keptVms.enabled,
    memories,
    performer,
    clock,
    log,
    waitFor: (key, budgets, volumes) => wakes.waitFor(key, budgets, volumes),
    wake: (key, afterMs) => machineController.enqueue(key, afterMs),
  });
  const machineController = controller('machine', reconciler.reconcile, {
    of: caches.machines,
    urgent: (key) => awaitsVm(caches.machines.store.get(key)),
  });
  const classController = controller(
    'machineclass',
    createClassReconcile({
      client: control,
      caches,
      clock,
      log,
      recorder,
      check: invoker.check,
      unknownFields: invoker.unknownFields,
      former,
      forget: (key) => problems.forget(key),
      keptVms,
    }),
    { of: caches.classes },
  );
  const secretController = controller('secret', createSecretReconcile({ client: control, caches }), {
    of: caches.secrets,
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
    targetRecorder: options.targetRecorder,
    defaults,
    keptVms,
    options: options.orphans ?? ORPHAN_DEFAULTS,
    owner: options.owner,
    frozen: reachability.frozen,
    wake: (key) => orphanController.enqueue(key),
    stop: stop.signal,
  });
  const orphanController: Controller = controller('machinesafetyorphanvms', orphans.reconcile);
  const safetyController: Controller = controller('machinesafetyapiserver', reachability.reconcile);

  caches.machines.onDoubt(() => {
    if (caches.machines.doubted) return;
    const known = caches.machines.store.list();
    inherited.takeAll(known.map(({ metadata }) => metadata.uid));
    calls.startOver();
    memories.startOver();
    for (const machine of known) machineController.enqueue(keyOf(machine));
  });
  machineController.watch(caches.machines, (change) => {
    if (change.type === 'deleted') forget(change.object);
    return wakes.machine(change);
  });
  // Its own observations tell what of these it cannot see.
  const all = (): readonly Key[] => caches.machines.store.list().map(keyOf);
  machineController.watch(
    caches.classes,
    (change) => (classMatters(change) ? wakes.ofClass(change.object.metadata.name) : []),
    all,
  );
  machineController.watch(
    caches.secrets,
    (change) =>
      caches.classes.store.byIndex('secret', change.key).flatMap(({ metadata }) => wakes.ofClass(metadata.name)),
    all,
  );
  if (caches.target) {
    machineController.watch(caches.target.nodes, wakes.node, all);
    machineController.watch(caches.target.pods, wakes.pod, all);
    machineController.watch(caches.target.budgets, wakes.budget, all);
    machineController.watch(caches.target.attachments, wakes.attachment, all);
    machineController.watch(caches.target.claims, () => [], all);
    machineController.watch(caches.target.volumes, () => [], all);
  }
  classController.watch(caches.classes, (change) => [change.key]);
  classController.watch(caches.machines, classOfMachine);
  classController.watch(caches.secrets, (change) => caches.classes.store.byIndex('secret', change.key).map(keyOf));
  secretController.watch(caches.secrets, (change) => [change.key]);
  secretController.watch(caches.classes, secretsOfClass);
  orphanController.watch(caches.secrets, () => []);
  if (caches.target) orphanController.watch(caches.target.nodes, () => []);
  orphanController.watch(caches.machines, orphanKeysOf);
  orphanController.watch(caches.classes, (change) => (isNewOrGoes(change) ? [change.key] : []));

  function forget({ metadata }: Machine): void {
    calls.forget(metadata.uid);
    memories.forget(metadata.uid);
  }

  const controllers = [
    machineController,
    classController,
    secretController,
    orphanController,
    ...(target ? [safetyController] : []),
  ];
  const informers = informersOf(caches);
  const runControllers = async (signal: AbortSignal): Promise<void> => {
    if (signal.aborted) stop.abort(signal.reason);
    signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true });
    inherited.lead();
    for (const key of orphans.firstKeys) orphanController.enqueue(key);
    if (target) safetyController.enqueue(reachability.key, reachability.begin());
    await Promise.all(controllers.map((each) => each.run(signal)));
  };
  return {
    caches,
    informers,
    spares: informers.filter((informer) => informer.resource !== caches.machines.resource),
    controllers,
    frozen: reachability.frozen,
    suspects: () => orphans.suspects(),
    rechecks: () => performer.rechecks,
    runControllers,
    run: async (signal) => {
      await Promise.all([...informers.map((informer) => informer.run(signal)), runControllers(signal)]);
    },
    idle: (withinMs) =>
      calls.running === 0 &&
      evidence.running === 0 &&
      keptVms.running === 0 &&
      [machineController, classController, secretController].every((each) => each.idle(withinMs)),
  };
}
