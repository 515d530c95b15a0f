import { Annotations, type MachineDeployment, machineDeployments } from '@mcm/api';
import { previousRevision, revisionOf, sameTemplate, splitSets } from '@mcm/core';
import { type Clock, isConflict, type KubeClient, withoutUndefined } from '@mcm/kube';
import { getDeployment, readDeployment } from '../cluster/deployment-reading.ts';
import { UserError } from '../command/errors.ts';
import type { ControllerHealth } from '../controllers/health.ts';

export const RolloutAnnotations = {
  /**
   * On the template of a MachineDeployment, the value is the time of the last `mcm rollout restart`. The changed
   * template causes a rollout that replaces every machine.
   */
  RestartedAt: 'machine.sapcloud.io/restarted-at',
} as const;

export interface Target {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  /** Returns the programs of the local instance that do not respond. */
  readonly programs?: (() => readonly ControllerHealth[]) | undefined;
}

export interface Done {
  readonly namespace: string;
  readonly name: string;
  readonly action: 'paused' | 'resumed' | 'restarted' | 'rolled back' | 'promoted';
  readonly revision?: number;
  readonly set?: string;
  readonly resumed?: true;
  readonly text: string;
}

const done = ({ namespace, name }: Target, action: Done['action']): Done => ({
  namespace,
  name,
  action,
  text: `machinedeployment ${name} ${action}`,
});

/**
 * The maximum number of attempts. During a rollout, the manager writes the deployment about once per second, so
 * conflicts are likely.
 */
const TRIES = 20;

/** Reads and writes the deployment, and repeats both after a conflict. */
async function onLatest(act: () => Promise<Done>): Promise<Done> {
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      if (!isConflict(error) || tries === TRIES) throw error;
    }
  }
}

/**
 * Writes a patch with the resource version of the read object. If another client changes the object, the write fails
 * with a conflict.
 */
async function patch(
  { client, namespace, name }: Target,
  seen: MachineDeployment,
  spec: object,
  annotations?: Readonly<Record<string, string>>,
): Promise<void> {
  const { uid, resourceVersion } = seen.metadata;
  await client.resource<MachineDeployment>(machineDeployments, namespace).patch(name, {
    type: 'merge',
    body: { metadata: { uid, resourceVersion, annotations }, spec },
  });
}

const get = ({ client, namespace, name }: Target): Promise<MachineDeployment> => getDeployment(client, namespace, name);

/**
 * Pauses the rollout of a deployment. During the pause, scaling continues.
 * @throws UserError if the rollout is already paused
 */
export function pause(target: Target): Promise<Done> {
  return onLatest(async () => {
    const deployment = await get(target);
    if (deployment.spec.paused) throw new UserError(`machinedeployment ${target.name} is already paused`);
    await patch(target, deployment, { paused: true });
    return done(target, 'paused');
  });
}

/** @throws UserError if the rollout is not paused */
export function resume(target: Target): Promise<Done> {
  return onLatest(async () => {
    const deployment = await get(target);
    if (!deployment.spec.paused) throw new UserError(`machinedeployment ${target.name} is not paused`);
    await patch(target, deployment, { paused: null });
    return done(target, 'resumed');
  });
}

/**
 * Starts a rollout that replaces every machine of a deployment.
 * @throws UserError if the deployment is paused
 */
export function restart(target: Target): Promise<Done> {
  return onLatest(async () => {
    const deployment = await get(target);
    refusePaused(deployment, 'restart');
    const annotations = { [RolloutAnnotations.RestartedAt]: target.clock.now().toISOString() };
    await patch(target, deployment, { template: { metadata: { annotations } } });
    return done(target, 'restarted');
  });
}

/**
 * Ends the soak time of the canaries, or the pause between two batches, in the current rollout. The action records the
 * newest MachineSet as the last good set, and the manager continues immediately.
 * @throws UserError if no rollout waits for canaries or batches, or if the deployment is paused
 */
export function promote(target: Target): Promise<Done> {
  return onLatest(async () => {
    const { deployment, sets } = await readDeployment(target.client, target.namespace, target.name);
    const { annotations = {} } = deployment.metadata;
    const name = `machinedeployment ${target.name}`;
    if (
      annotations[Annotations.RolloutCanary] === undefined &&
      annotations[Annotations.RolloutBatchPause] === undefined
    )
      throw new UserError(
        `${name} has no wait to skip: set annotation ${Annotations.RolloutCanary} or ${Annotations.RolloutBatchPause} first`,
      );
    refusePaused(deployment, 'be promoted');
    const { current, old } = splitSets(deployment, sets);
    if (current === undefined)
      throw new UserError(`${name} has no MachineSet for its template yet; try again when the first canary exists`);
    const set = current.metadata.name;
    if ((current.status?.replicas ?? 0) === 0)
      throw new UserError(
        `${name} has no machine of its template yet; try again when the first machine of ${set} exists`,
      );
    if (!old.some(({ spec, status }) => (spec.replicas ?? 0) > 0 || (status?.replicas ?? 0) > 0))
      throw new UserError(`${name} has no rollout in progress, because no older set has machines`);
    if (annotations[Annotations.RolloutLastGood] === set)
      throw new UserError(`${name} is already promoted, because ${set} is the last good set`);
    await patch(target, deployment, {}, { [Annotations.RolloutLastGood]: set });
    return { ...done(target, 'promoted'), set, text: `machinedeployment ${target.name} promoted to set ${set}` };
  });
}

/**
 * Restores a revision. The revision 0 selects the previous revision. The undo resumes the deployment in the same write,
 * because the manager could continue the rollout between two writes.
 * @throws UserError if the revision is unknown or is the current revision
 */
export function undo(target: Target, revision: number): Promise<Done> {
  return onLatest(async () => {
    const { deployment, sets } = await readDeployment(target.client, target.namespace, target.name);
    const { current, old } = splitSets(deployment, sets);
    const wanted = revision === 0 ? previousRevision({ current, old }) : revision;
    const set = [...old, ...(current ? [current] : [])].find((candidate) => revisionOf(candidate) === wanted);
    if (wanted === 0 || set === undefined) {
      const known = sets.flatMap((candidate) => revisionOf(candidate) ?? []).sort((a, b) => a - b);
      const missing = revision === 0 ? 'no previous revision' : `no revision ${revision}`;
      throw new UserError(
        `machinedeployment ${target.name} has ${missing}; existing revisions: ${known.join(', ') || 'none'}`,
      );
    }
    if (sameTemplate(set.spec.template, deployment.spec.template)) {
      throw new UserError(`machinedeployment ${target.name} is already at revision ${wanted}`);
    }
    const resumed = deployment.spec.paused === true;
    await patch(target, deployment, { rollbackTo: { revision: wanted }, paused: resumed ? null : undefined });
    const text = `rolled back machinedeployment ${target.name} to revision ${wanted} (class ${set.spec.template.spec.class.name ?? '?'})${resumed ? ' and resumed' : ''}`;
    return {
      ...done(target, 'rolled back'),
      revision: wanted,
      ...withoutUndefined({ resumed: resumed || undefined }),
      text,
    };
  });
}

function refusePaused({ metadata, spec }: MachineDeployment, action: string): void {
  if (!spec.paused) return;
  throw new UserError(
    `machinedeployment ${metadata.name} is paused and cannot ${action}; first: mcm rollout resume ${metadata.name}`,
  );
}
