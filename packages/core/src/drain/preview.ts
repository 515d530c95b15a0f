import { Annotations, Labels, type Machine, type MachineClass } from '@mcm/api';
import {
  type Informer,
  type InformerRuntime,
  isForbidden,
  isNotFound,
  type KubeClient,
  type KubeError,
  type KubeObject,
} from '@mcm/kube';
import { type DrainCaches, targetCaches } from '../cluster/caches.ts';
import { timesOf } from '../interruption/deadlines.ts';
import { interruptionOf } from '../interruption/notice.ts';
import { drainRulesOf } from '../settings/drain-rules.ts';
import { causeRecord, type RecordedCause } from '../settings/drain-timeouts.ts';
import { MACHINE_DEFAULTS, type MachineDefaults, settingsOf } from '../settings/settings.ts';
import { FORCED, undrainablePolicyOf } from '../settings/undrainable.ts';
import { type DrainExplanation, explainDrain } from './explain.ts';
import { type DrainMemory, type DrainObservation, NO_DRAIN_MEMORY } from './model/observation.ts';
import { observeDrain } from './observe.ts';
import { requestedMemory } from './requests/eviction-api.ts';
import { VolumeFinder } from './volumes/volume-finder.ts';

/** The options of a drain preview. */
export interface PreviewOptions {
  readonly target: KubeClient;
  readonly machine: Machine;
  readonly machineClass?: MachineClass | undefined;
  readonly runtime: InformerRuntime;
  readonly signal: AbortSignal;
  readonly defaults?: MachineDefaults;
  /**
   * Called for each kind of object that the preview has no permission to read; without `onRefused`, the preview fails.
   */
  readonly onRefused?: ((refusal: KubeError) => void) | undefined;
  /** The cause of the planned deletion (default: a user). */
  readonly cause?: RecordedCause;
}

/** A running watch of the objects that a drain reads. */
export interface FollowedDrain {
  readonly synced: Promise<void>;
  /** Explains the drain from the caches, or returns undefined if the machine has no Node. */
  explain(
    machine: Machine,
    machineClass: MachineClass | undefined,
    defaults?: MachineDefaults,
  ): DrainExplanation | undefined;
  /** Returns the kinds of objects that the process has no permission to read. */
  refused(): readonly Pick<Informer<KubeObject>, 'resource' | 'refused'>[];
  readonly ended: Promise<void>;
}

/** The options for watching a drain. */
export type FollowOptions = Omit<PreviewOptions, 'machine' | 'machineClass' | 'onRefused'> & {
  readonly nodeName: string;
  readonly onChange?: () => void;
};

/**
 * Watches the objects that a drain of one node reads, until the signal aborts. For a machine that is not being deleted,
 * the explanation assumes that the drain starts now.
 */
export function followDrain({
  target,
  nodeName,
  runtime,
  signal,
  onChange,
  defaults = MACHINE_DEFAULTS,
}: FollowOptions): FollowedDrain {
  const needed = cachesOf(target, nodeName, runtime);
  const informers = Object.values(needed);
  for (const informer of onChange ? informers : []) {
    informer.onChange(() => onChange?.());
    informer.onRefused(() => onChange?.());
  }
  const runs = informers.map((informer) => informer.run(signal));
  return {
    synced: Promise.all(informers.map((informer) => informer.whenSynced(signal))).then(() => undefined),
    ended: Promise.all(runs).then(() => undefined),
    refused: () => informers.filter(({ refused }) => refused !== undefined),
    explain: (machine, machineClass, reported = defaults) =>
      explained({ caches: needed, nodeName, machine, machineClass, defaults: reported, now: runtime.clock.now() }),
  };
}

/**
 * Explains the drain of the machine's Node from objects that are read once.
 * @returns undefined if the machine has no Node, or if the process has no permission to read its Node or pods
 */
export async function previewDrain(options: PreviewOptions): Promise<DrainExplanation | undefined> {
  const { target, machine, machineClass, runtime, signal, defaults = MACHINE_DEFAULTS, onRefused, cause } = options;
  const nodeName = machine.metadata.labels?.[Labels.Node];
  if (!nodeName) return undefined;
  const caches = cachesOf(target, nodeName, runtime);
  const isRead = async (informer: Pick<Informer<KubeObject>, 'readOnce'>): Promise<boolean> => {
    try {
      await informer.readOnce(signal);
      return true;
    } catch (error) {
      if (onRefused === undefined || !isForbidden(error)) throw error;
      onRefused(error);
      return false;
    }
  };
  const { pods, ...others } = caches;
  const [seen] = await Promise.all([isRead(pods), ...Object.values(others).map(isRead)]);
  if (!seen) return undefined;
  const memory = await memoryOf(options);
  return explained({ caches, nodeName, machine, machineClass, defaults, now: runtime.clock.now(), memory, cause });
}

async function memoryOf({ target, machine, runtime, signal, onRefused }: PreviewOptions): Promise<DrainMemory> {
  if (machine.metadata.annotations?.[Annotations.EvictionRequests] === undefined) return NO_DRAIN_MEMORY;
  try {
    return await requestedMemory(target, signal, runtime.clock.now());
  } catch (error) {
    if (isNotFound(error)) return NO_DRAIN_MEMORY;
    if (onRefused === undefined || !isForbidden(error)) throw error;
    onRefused(error);
    return NO_DRAIN_MEMORY;
  }
}

/** A preview must not read all pods of the cluster, so the caches contain only the objects of one node. */
function cachesOf(target: KubeClient, nodeName: string, runtime: InformerRuntime): DrainCaches {
  const { csiNodes: _, ...needed } = targetCaches(target, runtime, {
    nodes: `metadata.name=${nodeName}`,
    pods: `spec.nodeName=${nodeName}`,
  });
  return needed;
}

function explained({
  caches,
  nodeName,
  machine,
  machineClass,
  defaults,
  now,
  memory = NO_DRAIN_MEMORY,
  cause,
}: {
  readonly caches: DrainCaches;
  readonly nodeName: string;
  readonly machine: Machine;
  readonly machineClass: MachineClass | undefined;
  readonly defaults: MachineDefaults;
  readonly now: Date;
  readonly memory?: DrainMemory;
  readonly cause?: RecordedCause | undefined;
}): DrainExplanation | undefined {
  const node = caches.nodes.store.get(nodeName);
  if (!node) return undefined;
  const under = machine.metadata.deletionTimestamp !== undefined;
  const interruption = interruptionOf(machine);
  const doomed = under ? machine : beginningAt(machine, now, cause);
  const settings = settingsOf(doomed, defaults, machineClass);
  const observation = observeDrain({
    machine: doomed,
    settings,
    node,
    caches,
    volumeIdOf: () => undefined,
    memory,
    volumeWindow: 1,
    now,
    rules: drainRulesOf(machine, machineClass).rules,
    choice: defaults.undrainablePolicy && !interruption ? undrainablePolicyOf(machine, machineClass) : FORCED,
    interrupted: interruption && timesOf(interruption, settings.drainTimeoutMs),
  });
  return explainDrain(observation, now, under ? leftBehind(observation, caches) : []);
}

function leftBehind({ nodeName, attachments }: DrainObservation, caches: DrainCaches): readonly string[] {
  const finder = new VolumeFinder(caches, () => undefined);
  const used = new Set(caches.pods.store.byIndex('node', nodeName).flatMap((pod) => finder.of(pod)));
  return [...new Set(attachments.map(({ volume }) => volume).filter((volume) => !used.has(volume)))].sort();
}

function beginningAt({ metadata, ...machine }: Machine, now: Date, cause: RecordedCause | undefined): Machine {
  const record = cause && { [Annotations.DeletionCause]: causeRecord(cause, now) };
  const annotations = { ...metadata.annotations, ...record };
  return { ...machine, metadata: { ...metadata, annotations, deletionTimestamp: now.toISOString() } };
}
