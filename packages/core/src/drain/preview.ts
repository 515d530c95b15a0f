import { Labels, type Machine, type MachineClass } from '@mcm/api';
import type { InformerRuntime, KubeClient } from '@mcm/kube';
import { targetCaches } from '../machine/caches.ts';
import { MACHINE_DEFAULTS, settingsOf } from '../machine/settings.ts';
import { type DrainExplanation, explainDrain } from './explain.ts';
import { NO_DRAIN_MEMORY } from './observation.ts';
import { observeDrain } from './observe.ts';
import { undrainablePolicyOf } from './undrainable.ts';

/** What a drain that is only looked at needs. */
export interface PreviewOptions {
  /** The cluster of the nodes. */
  readonly target: KubeClient;
  readonly machine: Machine;
  readonly machineClass?: MachineClass;
  readonly runtime: InformerRuntime;
  readonly signal: AbortSignal;
}

/**
 * What a drain of the machine's node would do, or does, read from the cluster once: the decision is the controller's own.
 * The drain of a machine that is not being deleted is told as if it began now. Durations are those of the machine's
 * spec, else of the default flags. Volumes are known by their VolumeAttachments.
 *
 * @returns undefined when the machine has no Node.
 */
export async function previewDrain(options: PreviewOptions): Promise<DrainExplanation | undefined> {
  const { target, machine, machineClass, runtime, signal } = options;
  const name = machine.metadata.labels?.[Labels.Node];
  if (!name) return undefined;
  const now = runtime.clock.now();
  const end = new AbortController();
  const running = AbortSignal.any([end.signal, signal]);
  // Of one node only: a preview must not read the pods of a whole cluster.
  // A window of one knows no attach limits.
  const { csiNodes: _, ...needed } = targetCaches(target, runtime, {
    nodes: `metadata.name=${name}`,
    pods: `spec.nodeName=${name}`,
  });
  const informers = Object.values(needed);
  const runs = informers.map((informer) => informer.run(running));
  try {
    await Promise.all(informers.map((informer) => informer.whenSynced(running)));
    const node = needed.nodes.store.get(name);
    if (!node) return undefined;
    const observation = observeDrain({
      machine: machine.metadata.deletionTimestamp ? machine : beginningAt(machine, now),
      settings: settingsOf(machine, MACHINE_DEFAULTS),
      node,
      caches: needed,
      volumeIdOf: () => undefined,
      memory: NO_DRAIN_MEMORY,
      volumeWindow: 1,
      now,
      choice: undrainablePolicyOf(machine, machineClass),
    });
    return explainDrain(observation, now);
  } finally {
    end.abort(new Error('the preview is over'));
    await Promise.all(runs);
  }
}

const beginningAt = (machine: Machine, now: Date): Machine => ({
  ...machine,
  metadata: { ...machine.metadata, deletionTimestamp: now.toISOString() },
});
