import { Annotations, type MachineDeployment, machineDeployments } from '@mcm/api';
import { lastRevision, revisionOf, sameTemplate } from '@mcm/core';
import { type Clock, isConflict, type KubeClient } from '@mcm/kube';
import { getDeployment, readDeployment } from '../cluster/deployment-reading.ts';
import { UserError } from '../command/errors.ts';

/** Annotation of the template that `mcm rollout restart` sets: another template, so every machine is replaced. */
export const RESTARTED_AT = 'machine.sapcloud.io/restarted-at';

/** A deployment of a cluster, and the clock for what carries a time. */
export interface Target {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
}

/** What was asked for, for a program, and in words. */
export interface Done {
  readonly namespace: string;
  readonly name: string;
  readonly action: 'paused' | 'resumed' | 'restarted' | 'rolled back';
  /** That an undo goes back to. */
  readonly revision?: number;
  /** An undo that ended a pause. */
  readonly resumed?: true;
  readonly text: string;
}

const done = ({ namespace, name }: Target, action: Done['action']): Done => ({
  namespace,
  name,
  action,
  text: `machinedeployment ${name} ${action}`,
});

/** In the middle of a rollout the controller writes the deployment about once a second. */
const TRIES = 20;

/** Looks and acts again for as long as somebody else was faster: an operator who wants to pause is not sent away. */
async function onLatest(act: () => Promise<Done>): Promise<Done> {
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      if (!isConflict(error) || tries === TRIES) throw error;
    }
  }
}

/** The patch is bound to the state that was looked at: what changed meanwhile is a conflict and no surprise. */
async function patch({ client, namespace, name }: Target, seen: MachineDeployment, spec: object): Promise<void> {
  const { uid, resourceVersion } = seen.metadata;
  await client
    .resource<MachineDeployment>(machineDeployments, namespace)
    .patch(name, { type: 'merge', body: { metadata: { uid, resourceVersion }, spec } });
}

const get = ({ client, namespace, name }: Target): Promise<MachineDeployment> => getDeployment(client, namespace, name);

/** Stops the rollout where it is; scaling continues. Throws `UserError` when it is paused already. */
export function pause(target: Target): Promise<Done> {
  return onLatest(async () => {
    const deployment = await get(target);
    if (deployment.spec.paused) throw new UserError(`machinedeployment ${target.name} is paused already`);
    await patch(target, deployment, { paused: true });
    return done(target, 'paused');
  });
}

/** Lets the rollout continue. Throws `UserError` when it is not paused. */
export function resume(target: Target): Promise<Done> {
  return onLatest(async () => {
    const deployment = await get(target);
    if (!deployment.spec.paused) throw new UserError(`machinedeployment ${target.name} is not paused`);
    await patch(target, deployment, { paused: null });
    return done(target, 'resumed');
  });
}

/** Replaces every machine by the rules of the strategy. Throws `UserError` for a paused deployment. */
export function restart(target: Target): Promise<Done> {
  return onLatest(async () => {
    const deployment = await get(target);
    refusePaused(deployment, 'restart');
    const annotations = { [RESTARTED_AT]: target.clock.now().toISOString() };
    await patch(target, deployment, { template: { metadata: { annotations } } });
    return done(target, 'restarted');
  });
}

/**
 * Goes back to a revision, 0 being the one before the present. The controller carries it out and says in an event what
 * came of it. The same write resumes a paused deployment: in two writes, the controller could first continue the rollout.
 * @throws UserError for a revision that is not there, and for the present one.
 */
export function undo(target: Target, revision: number): Promise<Done> {
  return onLatest(async () => {
    const { deployment, sets } = await readDeployment(target.client, target.namespace, target.name);
    const wanted = revision === 0 ? lastRevision(sets) : revision;
    const set = sets.find((candidate) => revisionOf(candidate) === wanted);
    if (wanted === 0 || set === undefined) {
      const known = sets.flatMap((candidate) => revisionOf(candidate) ?? []).sort((a, b) => a - b);
      const what = revision === 0 ? 'no revision before the present one' : `no revision ${revision}`;
      throw new UserError(`machinedeployment ${target.name} has ${what}; there is ${known.join(', ') || 'none'}`);
    }
    if (sameTemplate(set.spec.template, deployment.spec.template)) {
      throw new UserError(`machinedeployment ${target.name} is at revision ${wanted} already`);
    }
    const resumed = deployment.spec.paused === true;
    await patch(target, deployment, { rollbackTo: { revision: wanted }, ...(resumed ? { paused: null } : {}) });
    const text = `machinedeployment ${target.name} is rolled back to revision ${wanted} (class ${set.spec.template.spec.class.name ?? '?'})${resumed ? ' and resumed' : ''}`;
    return { ...done(target, 'rolled back'), revision: wanted, ...(resumed ? { resumed } : {}), text };
  });
}

function refusePaused({ metadata, spec }: MachineDeployment, what: string): void {
  if (!spec.paused) return;
  throw new UserError(
    `machinedeployment ${metadata.name} is paused and cannot ${what}; first: mcm rollout resume ${metadata.name}`,
  );
}

/** Annotations that say why a revision came. */
export const changeCause = (annotations: Readonly<Record<string, string>> | undefined): string =>
  annotations?.[CHANGE_CAUSE] ?? (annotations?.[Annotations.Revision] === undefined ? '' : '<none>');

const CHANGE_CAUSE = 'kubernetes.io/change-cause';
