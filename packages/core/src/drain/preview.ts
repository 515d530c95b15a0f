import { Labels, type Machine, type MachineClass } from '@mcm/api';
import {
  type Informer,
  type InformerRuntime,
  isForbidden,
  type KubeClient,
  type KubeError,
  type KubeObject,
} from '@mcm/kube';
import { type DrainCaches, targetCaches } from '../cluster/caches.ts';
import { timesOf } from '../interruption/deadlines.ts';
import { interruptionOf } from '../interruption/notice.ts';
import { MACHINE_DEFAULTS, type MachineDefaults, settingsOf } from '../settings/settings.ts';
import { FORCED, undrainablePolicyOf } from '../settings/undrainable.ts';
import { type DrainExplanation, explainDrain } from './explain.ts';
import { type DrainObservation, NO_DRAIN_MEMORY } from './model/observation.ts';
import { observeDrain } from './observe.ts';
import { VolumeFinder } from './volumes/volume-finder.ts';

/** Options of a drain preview. */
export interface PreviewOptions {
  /** The cluster of the nodes. */
  readonly target: KubeClient;
  readonly machine: Machine;
  readonly machineClass?: MachineClass | undefined;
  readonly runtime: InformerRuntime;
  readonly signal: AbortSignal;
  /** Defaults from the flags of the machine controller, if known. */
  readonly defaults?: MachineDefaults;
  /** Receives each kind that may not be read. The preview then omits it. Absent: the preview rejects. */
  readonly onRefused?: ((refusal: KubeError) => void) | undefined;
}

/** A drain that is being watched. */
export interface FollowedDrain {
  /** Resolves when all its input has been read once. */
  readonly synced: Promise<void>;
  /**
   * Explains the present state from the caches; undefined if the machine has no Node. It sends no request.
   * @param defaults Defaults from the flags of the machine controller, if known
   */
  explain(
    machine: Machine,
    machineClass: MachineClass | undefined,
    defaults?: MachineDefaults,
  ): DrainExplanation | undefined;
  /** Kinds that may not be read. */
  refused(): readonly Pick<Informer<KubeObject>, 'resource' | 'refused'>[];
  /** Resolves when the watch has ended, after the signal has aborted. */
  readonly ended: Promise<void>;
}

/** Options for watching a drain. */
export type FollowOptions = Omit<PreviewOptions, 'machine' | 'machineClass' | 'onRefused'> & {
  readonly nodeName: string;
  /** Called after a change of its input. */
  readonly onChange?: () => void;
};

/**
 * Watches the input of a drain of one node until the signal aborts, and explains it with the controller's own decision.
 * For a machine that is not being deleted, the drain begins now. Durations come from the machine's spec, or from
 * `defaults`, or from the default flags. Volumes come from their VolumeAttachments.
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
 * Explains the drain of the machine's node from one reading of the cluster, see `followDrain`.
 *
 * @returns undefined if the machine has no Node, or if its Node or its pods may not be read.
 */
export async function previewDrain(options: PreviewOptions): Promise<DrainExplanation | undefined> {
  const { target, machine, machineClass, runtime, signal, defaults = MACHINE_DEFAULTS, onRefused } = options;
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
  return explained({ caches, nodeName, machine, machineClass, defaults, now: runtime.clock.now() });
}

/** Caches of one node only, so that a preview does not read the pods of the whole cluster. */
function cachesOf(target: KubeClient, nodeName: string, runtime: InformerRuntime): DrainCaches {
  // A window of one needs no attach limits.
  const { csiNodes: _, ...needed } = targetCaches(target, runtime, {
    nodes: `metadata.name=${nodeName}`,
    pods: `spec.nodeName=${nodeName}`,
  });
  return needed;
}

/** The controller's decision on the content of the caches; undefined without a Node. */
function explained({
  caches,
  nodeName,
  machine,
  machineClass,
  defaults,
  now,
}: {
  readonly caches: DrainCaches;
  readonly nodeName: string;
  readonly machine: Machine;
  readonly machineClass: MachineClass | undefined;
  readonly defaults: MachineDefaults;
  readonly now: Date;
}): DrainExplanation | undefined {
  const node = caches.nodes.store.get(nodeName);
  if (!node) return undefined;
  const under = machine.metadata.deletionTimestamp !== undefined;
  const interruption = interruptionOf(machine);
  const settings = settingsOf(machine, defaults);
  const observation = observeDrain({
    machine: under ? machine : beginningAt(machine, now),
    settings,
    node,
    caches,
    volumeIdOf: () => undefined,
    memory: NO_DRAIN_MEMORY,
    volumeWindow: 1,
    now,
    choice: defaults.undrainablePolicy && !interruption ? undrainablePolicyOf(machine, machineClass) : FORCED,
    interrupted: interruption && timesOf(interruption, settings.drainTimeoutMs),
  });
  return explainDrain(observation, now, under ? leftBehind(observation, caches) : []);
}

/** Volumes on the node whose pods are deleted. */
function leftBehind({ nodeName, attachments }: DrainObservation, caches: DrainCaches): readonly string[] {
  const finder = new VolumeFinder(caches, () => undefined);
  const used = new Set(caches.pods.store.byIndex('node', nodeName).flatMap((pod) => finder.of(pod)));
  return [...new Set(attachments.map(({ volume }) => volume).filter((volume) => !used.has(volume)))].sort();
}

const beginningAt = (machine: Machine, now: Date): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, deletionTimestamp: now.toISOString() },
});
