import type { Machine, MachineClass } from '@mcm/api';
import { type Key, keyOf } from '@mcm/kube';
import { BlockedByField } from '../blocked/blocks.ts';
import { createTokenIssuer, observeOnlyTokens } from '../bootstrap/tokens.ts';
import type { Caches } from '../cluster/caches.ts';
import { EvictionApi } from '../drain/requests/eviction-api.ts';
import { VolumePace } from '../drain/volumes/volume-pace.ts';
import { observingDriver } from '../driver/cloud/observing.ts';
import type { DriverInvoker } from '../driver/invoker/api/invoker-api.ts';
import { fallbackClasses } from '../driver/invoker/fallback.ts';
import { createInvoker } from '../driver/invoker/invoker.ts';
import { type Alternative, offeringOf } from '../driver/offerings/alternative.ts';
import { EVIDENCE_PER_CLASS, EvidenceKeeper } from '../evidence/keeper.ts';
import { KEPT_VM_DEFAULTS, KeptVms } from '../evidence/kept-vms.ts';
import { InterruptionWatcher } from '../interruption/watcher.ts';
import { DriverCalls, FAULT_AFTER_FAILURES } from '../machine/calls/calls.ts';
import { CapacityGate } from '../machine/calls/capacity.ts';
import { Performer } from '../machine/calls/perform.ts';
import { InheritedMachines } from '../machine/creation/inherited.ts';
import { REACHABILITY_DEFAULTS, ReachabilityCheck } from '../machine/health/reachability.ts';
import { MachineMemories } from '../machine/model/memory.ts';
import { Wakes } from '../machine/wakes.ts';
import { ClassProblems } from '../machine-class/class-problems.ts';
import { FormerSpecs } from '../machine-class/former-spec.ts';
import { MACHINE_DEFAULTS, type MachineDefaults } from '../settings/settings.ts';
import type { MachineControllerOptions } from './options.ts';

export type Settings = Omit<MachineControllerOptions<unknown, unknown>, 'driver'>;

/**
 * Functions that start a reconcile. The process creates the shared components before the controllers, so the components
 * get these functions.
 */
export interface Wake {
  machine(key: Key, afterMs?: number): void;
  orphans(key: Key): void;
  reachability(): void;
}

type Tokens = ReturnType<typeof tokensOf>;

export interface Parts {
  readonly caches: Caches;
  readonly stop: AbortController;
  readonly former: FormerSpecs;
  readonly problems: ClassProblems;
  readonly invoker: DriverInvoker;
  readonly tokens: Tokens;
  readonly memories: MachineMemories;
  readonly defaults: MachineDefaults;
  readonly capacity: CapacityGate;
  readonly calls: DriverCalls;
  readonly reachability: ReachabilityCheck;
  readonly evidence: EvidenceKeeper;
  readonly keptVms: KeptVms;
  readonly performer: Performer;
  readonly blockedBy: BlockedByField;
  readonly evictions: EvictionApi;
  readonly inherited: InheritedMachines;
  readonly interruptions: InterruptionWatcher | undefined;
  readonly wakes: Wakes;
  readonly pace: VolumePace | undefined;
  readonly wake: Wake;
}

export function createParts<Spec, Credentials>(
  options: MachineControllerOptions<Spec, Credentials>,
  caches: Caches,
  wake: Wake,
): Parts {
  const { control, target, namespace, clock, log, recorder } = options;
  const stop = new AbortController();
  const former = new FormerSpecs();
  const problems = new ClassProblems(recorder);
  const invoker = invokerOf(options, { caches, former, problems, stop: stop.signal });
  const tokens = tokensOf(options);
  const memories = new MachineMemories();
  const defaults = options.defaults ?? MACHINE_DEFAULTS;
  const capacity = new CapacityGate({
    clock,
    random: options.random,
    firstMs: defaults.resourceExhaustedRetryMs,
    wake: wake.machine,
    choicesOf: (machine) => invoker.choicesOf(machine),
    offerings: options.offerings,
  });
  const calls = callsOf(options, { driver: options.driver.name, capacity, wake });
  const reachability = new ReachabilityCheck({
    caches,
    control,
    target,
    namespace,
    clock,
    log,
    probes: options.probes ?? { control, target },
    timings: options.reachability ?? REACHABILITY_DEFAULTS,
    wake: wake.machine,
    check: wake.reachability,
  });
  const { evidence, keptVms } = evidenceOf(options, { invoker, tokens, wake });
  const evictions = new EvictionApi(options.evictionRequests === false ? undefined : target);
  const blockedBy = new BlockedByField();
  const performer = new Performer({
    blockedBy,
    evictions,
    control,
    target,
    caches,
    invoker,
    calls,
    tokens,
    evidence,
    keptVms,
    recorder,
    log,
  });
  const inherited = new InheritedMachines(caches.machines);
  const wakes = new Wakes(caches, memories, namespace);
  return {
    caches,
    stop,
    former,
    problems,
    invoker,
    tokens,
    memories,
    defaults,
    capacity,
    calls,
    reachability,
    evidence,
    keptVms,
    performer,
    blockedBy,
    evictions,
    inherited,
    interruptions: watcherOf(options, { caches, invoker }),
    wakes,
    pace: paceOf(options, wake),
    wake,
  };
}

function paceOf({ volumeLimit, volumeWindow = 1 }: Pick<Settings, 'volumeLimit' | 'volumeWindow'>, wake: Wake) {
  if (!volumeLimit) return undefined;
  return new VolumePace({ most: volumeLimit, first: volumeWindow, wake: (key) => wake.machine(key, 1) });
}

function invokerOf<Spec, Credentials>(
  options: MachineControllerOptions<Spec, Credentials>,
  parts: Pick<Parts, 'caches' | 'former' | 'problems'> & { readonly stop: AbortSignal },
): DriverInvoker {
  const { clock, log, tracer, owner, orphans } = options;
  const { caches, former, problems, stop } = parts;
  return createInvoker({
    caches,
    clock,
    log,
    stop,
    tracer,
    owner,
    former: (machineClass) => former.of(machineClass),
    driver: options.observe ? observingDriver(options.driver, options.observe) : options.driver,
    fallback:
      options.siblingCredentials === false
        ? undefined
        : (machine: Machine, own: MachineClass) => fallbackClasses(machine, own, caches),
    timeouts: options.timeouts,
    observe: options.observeCall,
    observeApi: options.observeApi,
    observeWait: options.observeWait,
    formerOwners: orphans?.formerOwners,
    fence: options.fence,
    observeClass: problems.observe,
    recorded: (machineClass) => recordsOf(caches, machineClass),
    rates: options.rates,
  });
}

const recordsOf = ({ machines }: Pick<Caches, 'machines'>, { metadata }: MachineClass): readonly Alternative[] =>
  machines.store.byIndex('class', metadata.name).flatMap((machine) => offeringOf(machine) ?? []);

function tokensOf({ target, observe, bootstrapTokenExtraGroups, clock, secretRandom, log }: Settings) {
  if (target === undefined) return undefined;
  if (observe) return observeOnlyTokens();
  const extraGroups = bootstrapTokenExtraGroups ?? '';
  return createTokenIssuer({ client: target, extraGroups, clock, random: secretRandom, log });
}

function callsOf(
  { clock, log, recorder, traceIdOf }: Settings,
  { driver, capacity, wake }: { readonly driver: string; readonly capacity: CapacityGate; readonly wake: Wake },
): DriverCalls {
  return new DriverCalls({
    clock,
    log,
    traceIdOf,
    wake: (machine) => wake.machine(keyOf(machine)),
    onFault: (machine, kind, error) =>
      recorder.event(
        machine,
        'Warning',
        'DriverFault',
        `${kind} failed ${FAULT_AFTER_FAILURES} times with an unexpected error: ${error.message}. mcm retries; fix driver ${driver}`,
      ),
    observer: {
      began: (machine, kind, inputs) => kind === 'create' && capacity.began(machine, inputs),
      ended: (machine, kind, inputs, outcome) => kind === 'create' && capacity.ended(machine, inputs, outcome),
    },
  });
}

function watcherOf(
  { interruptions, observe, control, clock, random, log, recorder }: Settings,
  { caches, invoker }: Pick<Parts, 'caches' | 'invoker'>,
): InterruptionWatcher | undefined {
  if (!interruptions || observe) return undefined;
  return new InterruptionWatcher({ ...interruptions, caches, invoker, control, clock, random, log, recorder });
}

function evidenceOf(
  options: Settings,
  { invoker, tokens, wake }: Pick<Parts, 'invoker' | 'tokens' | 'wake'>,
): Pick<Parts, 'evidence' | 'keptVms'> {
  const { control, namespace, log } = options;
  const wakeMachine = (machine: Machine): void => wake.machine(keyOf(machine));
  const evidence = new EvidenceKeeper({
    control,
    invoker,
    tokens,
    log,
    perClass: options.evidencePerClass ?? EVIDENCE_PER_CLASS,
    wake: wakeMachine,
  });
  const keptVms = new KeptVms({
    ...(options.keptVms ?? KEPT_VM_DEFAULTS),
    control,
    namespace,
    log,
    collected: invoker.can.list && options.orphans?.policy !== 'report',
    wake: wakeMachine,
  });
  return { evidence, keptVms };
}
