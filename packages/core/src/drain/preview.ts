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
import { MACHINE_DEFAULTS, type MachineDefaults, settingsOf } from '../settings/settings.ts';
import { FORCED, undrainablePolicyOf } from '../settings/undrainable.ts';
import { type DrainExplanation, explainDrain } from './explain.ts';
import { type DrainObservation, NO_DRAIN_MEMORY } from './model/observation.ts';
import { observeDrain } from './observe.ts';
import { VolumeFinder } from './volumes/volume-finder.ts';

/** What a drain that is only looked at needs. */
export interface PreviewOptions {
  /** The cluster of the nodes. */
  readonly target: KubeClient;
  readonly machine: Machine;
  readonly machineClass?: MachineClass;
  readonly runtime: InformerRuntime;
  readonly signal: AbortSignal;
  /** Of the machine controller's flags, where they are known. */
  readonly defaults?: MachineDefaults;
  /** Hears of each kind that may not be read; the drain is told without it. Absent: the preview rejects. */
  readonly onRefused?: (refusal: KubeError) => void;
}

/** A drain that is watched. */
export interface FollowedDrain {
  /** Resolves when everything that it is told from has been read once. */
  readonly synced: Promise<void>;
  /**
   * As it stands now, from what the watches told; undefined when the machine has no Node. Costs no request.
   * @param defaults of the machine controller's flags, where they are known by now
   */
  explain(
    machine: Machine,
    machineClass: MachineClass | undefined,
    defaults?: MachineDefaults,
  ): DrainExplanation | undefined;
  /** Kinds that may not be read, of which nothing is known. */
  refused(): readonly Pick<Informer<KubeObject>, 'resource' | 'refused'>[];
  /** Resolves when it is watched no more: after the signal has aborted. */
  readonly ended: Promise<void>;
}

/** What a drain that is watched needs. */
export type FollowOptions = Omit<PreviewOptions, 'machine' | 'machineClass' | 'onRefused'> & {
  readonly nodeName: string;
  /** Something that it is told from has changed. */
  readonly onChange?: () => void;
};

/**
 * Watches what a drain of one node is told from until the signal aborts: the decision is the controller's own. The drain
 * of a machine that is not being deleted is told as if it began now. Durations are those of the machine's spec, else of
 * `defaults`, else of the default flags. Volumes are known by their VolumeAttachments.
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
    explain: (machine, machineClass, told = defaults) =>
      explained({ caches: needed, nodeName, machine, machineClass, defaults: told, now: runtime.clock.now() }),
  };
}

/**
 * What a drain of the machine's node would do, or does, read from the cluster once; see `followDrain`.
 *
 * @returns undefined when the machine has no Node, or when its Node or its pods may not be read.
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

/** Of one node only: to look at a drain must not mean to read the pods of a whole cluster. */
function cachesOf(target: KubeClient, nodeName: string, runtime: InformerRuntime): DrainCaches {
  // A window of one knows no attach limits.
  const { csiNodes: _, ...needed } = targetCaches(target, runtime, {
    nodes: `metadata.name=${nodeName}`,
    pods: `spec.nodeName=${nodeName}`,
  });
  return needed;
}

/** The decision of the controller on what the caches hold; undefined when the Node is not there. */
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
  const observation = observeDrain({
    machine: under ? machine : beginningAt(machine, now),
    settings: settingsOf(machine, defaults),
    node,
    caches,
    volumeIdOf: () => undefined,
    memory: NO_DRAIN_MEMORY,
    volumeWindow: 1,
    now,
    choice: defaults.undrainablePolicy ? undrainablePolicyOf(machine, machineClass) : FORCED,
  });
  return explainDrain(observation, now, under ? leftBehind(observation, caches) : []);
}

/** Volumes on the node that none of its pods uses any more: those whose pods have gone. */
function leftBehind({ nodeName, attachments }: DrainObservation, caches: DrainCaches): readonly string[] {
  const finder = new VolumeFinder(caches, () => undefined);
  const used = new Set(caches.pods.store.byIndex('node', nodeName).flatMap((pod) => finder.of(pod)));
  return [...new Set(attachments.map(({ volume }) => volume).filter((volume) => !used.has(volume)))].sort();
}

const beginningAt = (machine: Machine, now: Date): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, deletionTimestamp: now.toISOString() },
});
