import { Annotations, type EventReason, type Machine, type MachineClass } from '@mcm/api';
import {
  type Change,
  type Clock,
  type Controller,
  createController,
  type EventRecorder,
  type Fence,
  type Informer,
  type InformerRuntime,
  type Key,
  type KubeClient,
  type KubeObject,
  keyOf,
  type Logger,
  makeKey,
  type ObserveLedger,
  type QueueMetrics,
  type Random,
} from '@mcm/kube';
import { secretKeysOf } from '../driver/credentials.ts';
import type { DriverDefinition } from '../driver/define-driver.ts';
import type { ObserveApi } from '../driver/driver.ts';
import { fallbackClasses } from '../driver/fallback.ts';
import { createInvoker } from '../driver/invoker.ts';
import type { DriverTimeouts, ObserveCall } from '../driver/invoker-api.ts';
import { observingDriver } from '../driver/observing.ts';
import type { DriverTracer } from '../driver/tracing.ts';
import { EVIDENCE_PER_CLASS, EvidenceKeeper } from '../evidence/keeper.ts';
import { KEPT_VM_DEFAULTS, type KeptVmOptions, KeptVms } from '../evidence/kept-vms.ts';
import { type Caches, createCaches, informersOf } from '../machine/caches.ts';
import { DriverCalls, FAULT_AFTER_FAILURES } from '../machine/calls.ts';
import { CapacityGate } from '../machine/capacity.ts';
import { MachineMemories } from '../machine/memory.ts';
import { Performer } from '../machine/perform.ts';
import { MachineReconciler } from '../machine/reconciler.ts';
import { MACHINE_DEFAULTS, type MachineDefaults } from '../machine/settings.ts';
import { createTokenIssuer, imaginedTokens } from '../machine/tokens.ts';
import { Wakes } from '../machine/wakes.ts';
import { FormerSpecs } from '../machine-class/former-spec.ts';
import { createClassReconcile, createSecretReconcile } from '../machine-class/reconciler.ts';
import { ClassTroubles } from '../machine-class/troubles.ts';
import { ORPHAN_DEFAULTS, OrphanCollector, type OrphanOptions, orphanKeysOf } from '../safety/orphans.ts';
import { createReachability, REACHABILITY_DEFAULTS, type ReachabilityTimings } from '../safety/reachability.ts';

/** What a machine controller is made of: its driver, its clusters, its clock and its settings. */
export interface MachineControllerOptions<Spec, Credentials> {
  readonly driver: DriverDefinition<Spec, Credentials>;
  /** The cluster of the machine objects. */
  readonly control: KubeClient;
  /** The cluster of the nodes; undefined: machines without nodes. */
  readonly target: KubeClient | undefined;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  /** A source fit for secrets, for bootstrap tokens. */
  readonly secretRandom: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder<EventReason>;
  /** For events of the target cluster's Nodes. */
  readonly targetRecorder?: EventRecorder<EventReason> | undefined;
  readonly runtime?: Partial<InformerRuntime>;
  readonly defaults?: MachineDefaults;
  /** Keys that each controller works on at once; default 50. */
  readonly concurrency?: number;
  /** The same for single controllers, by name. */
  readonly concurrencyByController?: Readonly<Record<string, number>>;
  readonly bootstrapTokenExtraGroups?: string;
  /** Nothing is changed in the cloud and no token made: what would be is noted here. Its clients note their own. */
  readonly observe?: ObserveLedger | undefined;
  readonly timeouts?: DriverTimeouts;
  readonly orphans?: OrphanOptions;
  readonly reachability?: ReachabilityTimings;
  /** Pods with volumes of one node on their way at once; default 1. */
  readonly volumeWindow?: number;
  /** Evidence of failed machines kept of a class at most; default 10, 0 for none. */
  readonly evidencePerClass?: number;
  /** VMs of failed machines that outlive them; default none. */
  readonly keptVms?: KeptVmOptions;
  readonly queueMetrics?: QueueMetrics;
  readonly observeCall?: ObserveCall;
  readonly observeApi?: ObserveApi;
  /** The control cluster of this process, see `OWNER_TAG`; absent, or undefined: VMs bear no mark of it. */
  readonly owner?: (() => string | undefined) | undefined;
  /** Asked before each call that changes something in the cloud; absent: nobody else can lead. */
  readonly fence?: Fence | undefined;
  /** Whether VMs whose class has credentials that are refused are deleted with those of another; default true. */
  readonly siblingCredentials?: boolean;
  /** Where each call of the driver leaves a span; absent: none is made. */
  readonly tracer?: DriverTracer | undefined;
}

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
  readonly suspects: () => { readonly vms: number; readonly nodes: number };
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
  const former = new FormerSpecs();
  const troubles = new ClassTroubles(recorder);
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
    ...(options.fence ? { fence: options.fence } : {}),
    observeClass: troubles.observe,
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
    reconcile: Parameters<typeof createController>[0]['reconcile'],
    urgent?: (key: Key) => boolean,
  ): Controller =>
    createController({
      ...(urgent ? { urgent } : {}),
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
  const reachability = createReachability({
    caches,
    control,
    target,
    namespace,
    clock,
    log,
    timings: options.reachability ?? REACHABILITY_DEFAULTS,
    wake: (key) => machineController.enqueue(key),
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
  const machineController = controller('machine', reconciler.reconcile, (key) =>
    awaitsVm(caches.machines.store.get(key)),
  );
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
      forget: (key) => troubles.forget(key),
      keptVms,
    }),
  );
  const secretController = controller('secret', createSecretReconcile({ client: control, caches }));
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
  });
  const orphanController: Controller = controller('machinesafetyorphanvms', orphans.reconcile);
  const safetyController = controller('machinesafetyapiserver', reachability.reconcile);

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
    for (const key of orphans.firstKeys) orphanController.enqueue(key);
    if (target) safetyController.enqueue(reachability.key, reachability.firstAfterMs);
    await Promise.all(controllers.map((each) => each.run(signal)));
  };
  return {
    caches,
    informers,
    spares: informers.filter((informer) => informer.resource !== caches.machines.resource),
    controllers,
    frozen: reachability.frozen,
    suspects: () => orphans.suspects(),
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

/** New capacity is what somebody waits for: a thousand drains that begin at once come after it. */
const awaitsVm = (machine: Machine | undefined): boolean =>
  machine !== undefined && !machine.spec.providerID && machine.metadata.deletionTimestamp === undefined;

/** A class's finalizer is no news to its machines. */
const classMatters = (change: Change<MachineClass>): boolean =>
  change.type !== 'updated' ||
  change.old.metadata.generation !== change.object.metadata.generation ||
  undrainable(change.old) !== undrainable(change.object);

/** What a class that goes kept for study goes before it. */
const isNewOrGoes = (change: Change<MachineClass>): boolean =>
  change.type !== 'updated' ||
  (change.object.metadata.deletionTimestamp !== undefined && change.old.metadata.deletionTimestamp === undefined);

const undrainable = ({ metadata }: MachineClass): string | undefined =>
  metadata.annotations?.[Annotations.UndrainablePolicy];

/** Machines come and go: only then does a class's number of users change. */
function classOfMachine(change: Change<Machine>): readonly Key[] {
  const keyOfClass = ({ metadata, spec }: Machine): Key => makeKey(metadata.namespace, spec.class.name ?? '');
  if (change.type !== 'updated') return [keyOfClass(change.object)];
  const [before, now] = [keyOfClass(change.old), keyOfClass(change.object)];
  return before === now ? [] : [before, now];
}

function secretsOfClass(change: Change<MachineClass>): readonly Key[] {
  const before = change.type === 'updated' ? secretKeysOf(change.old) : [];
  return [...new Set([...before, ...secretKeysOf(change.object)])];
}
