import { ConditionReasons, type MachineDeployment, MachineDeploymentConditions, machineDeployments } from '@mcm/api';
import { isComplete, splitSets } from '@mcm/core';
import { isGone, sleep } from '@mcm/kube';
import { ifAllowed } from '../cluster/allowed.ts';
import { getDeployment, readOwned } from '../cluster/deployment-reading.ts';
import { type ControllerHealth, controllerSentence, notActing } from '../controllers/health.ts';
import { readControllers } from '../controllers/read.ts';
import { brief } from '../explain/reasons/brief.ts';
import type { Target } from './actions.ts';
import { soakReader } from './soak.ts';

export interface RolloutState {
  readonly kind: 'complete' | 'under way' | 'failed' | 'deleted';
  readonly text: string;
  /** The end of the soak time or of the pause between batches, if the rollout waits only for this time. */
  readonly soakEndsAt?: string;
}

const BLOCKING: readonly string[] = [
  MachineDeploymentConditions.InvalidSpec,
  MachineDeploymentConditions.RolloutBlocked,
  MachineDeploymentConditions.RolloutWaiting,
];

const PERMANENT: ReadonlySet<string> = new Set([
  'ValidationFailed',
  'SelectingAll',
  'ClassNotFound',
  'PausedOnFailure',
  'InPlaceUpdateFailed',
]);

const blockerOf = ({ status }: MachineDeployment) =>
  status?.conditions?.find(({ type, status: is }) => BLOCKING.includes(type) && is === 'True');

/** Returns true if a condition describes the wait, or if the controller has not observed the spec yet. */
const isHeld = (deployment: MachineDeployment): boolean =>
  blockerOf(deployment) !== undefined || !isObserved(deployment);

function failing({ failedMachines = [] }: NonNullable<MachineDeployment['status']>): string {
  const [first] = failedMachines.toSorted((a, b) => (a.name ?? '').localeCompare(b.name ?? ''));
  if (!first) return '';
  const more = failedMachines.length > 1 ? `, and ${failedMachines.length - 1} more failed` : '';
  return `machine ${first.name}: ${brief(first.lastOperation?.description ?? '')}${more}`;
}

const isObserved = ({ metadata, status }: MachineDeployment): boolean =>
  (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);

/** Returns the condition that reports an exceeded progress deadline. The condition of an earlier spec does not count. */
const exceededDeadline = (deployment: MachineDeployment) =>
  isObserved(deployment)
    ? deployment.status?.conditions?.find(
        ({ type, reason }) =>
          type === MachineDeploymentConditions.Progressing && reason === ConditionReasons.ProgressDeadlineExceeded,
      )
    : undefined;

/**
 * Returns true if the exceeded progress deadline belongs to the MachineSet of an earlier template. If the user scales
 * the deployment just after an undo, the manager observes the new spec before it assesses the progress again.
 */
async function isDeadlineOfEarlierSet(
  { client, namespace }: Target,
  deployment: MachineDeployment,
  signal: AbortSignal,
): Promise<boolean> {
  const [, named] = /^MachineSet "(.+?)"/.exec(exceededDeadline(deployment)?.message ?? '') ?? [];
  if (named === undefined) return false;
  const reading = await ifAllowed(readOwned(client, namespace, deployment, { signal }));
  return reading !== null && splitSets(deployment, reading.sets).current?.metadata.name !== named;
}

/**
 * Returns the progress of a rollout from the status of its deployment, with the texts of `kubectl rollout status`.
 * @param isOfEarlierSet Whether the exceeded progress deadline belongs to the MachineSet of an earlier template.
 */
export function rolloutState(deployment: MachineDeployment, isOfEarlierSet = false): RolloutState {
  const { metadata, spec, status = {} } = deployment;
  const name = `machinedeployment ${metadata.name}`;
  const exceeded = isOfEarlierSet ? undefined : exceededDeadline(deployment);
  if (exceeded)
    return { kind: 'failed', text: `${name} exceeded its progress deadline: ${exceeded.message ?? ''}`.trimEnd() };
  if (isComplete(deployment, status)) return { kind: 'complete', text: `${name} successfully rolled out` };
  const paused = spec.paused ? ' (paused)' : '';
  const wait = (progress: string, cause = failing(status)): RolloutState => ({
    kind: 'under way',
    text: `Waiting for ${name} rollout to finish: ${progress}${paused}${cause === '' ? '' : `; ${cause}`}...`,
  });
  const blocked = blockerOf(deployment);
  const inPlace = spec.strategy?.type === 'InPlaceUpdate';
  const { replicas: wanted = 0 } = spec;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  if (!isObserved(deployment)) return wait('the controller has not observed the change of the deployment yet', '');
  if (blocked && PERMANENT.has(blocked.reason ?? ''))
    return { kind: 'failed', text: `the rollout of ${name} cannot continue: ${blocked.message ?? blocked.type}` };
  if (blocked) return wait(`${blocked.message ?? blocked.type}`.replace(/\.$/, ''), '');
  if (updatedReplicas < wanted) {
    const done = inPlace ? 'machines have been updated or created' : 'new machines have been created';
    return wait(`${updatedReplicas} out of ${wanted} ${done}`);
  }
  const [old, surplus] = [replicas - updatedReplicas, updatedReplicas - wanted];
  if (old > 0)
    return wait(old === 1 ? '1 old machine is pending termination' : `${old} old machines are pending termination`);
  if (surplus > 0)
    return wait(
      surplus === 1
        ? '1 surplus machine is pending termination'
        : `${surplus} surplus machines are pending termination`,
    );
  return wait(`${availableReplicas} of ${updatedReplicas} updated machines are available`);
}

const HEALTH_EVERY_MS = 10_000;

/** Returns the controllers that are necessary for the rollout but are not working. */
async function stoppedFor({ client, namespace, clock, programs }: Target, deployment: MachineDeployment) {
  const all = await readControllers({ client, namespace, clock, deployments: [deployment], programs });
  return notActing(all).filter(({ name }) => name !== 'machine-config-controller');
}

/**
 * Prints each controller that stops working, until the signal is aborted. If a controller stops, no event occurs, so
 * the controllers are assessed at an interval.
 */
async function followHealth(target: Target, say: (state: RolloutState) => void, signal: AbortSignal): Promise<void> {
  let known: readonly ControllerHealth[] = [];
  while (!signal.aborted) {
    const deployment = await getDeployment(target.client, target.namespace, target.name, { signal });
    const stopped = await stoppedFor(target, deployment);
    for (const health of stopped)
      if (!known.some(({ name }) => name === health.name) && !signal.aborted)
        say({ kind: 'under way', text: controllerSentence(health, target.clock.now()) });
    known = stopped;
    await sleep(target.clock, HEALTH_EVERY_MS, signal);
  }
}

/**
 * Prints the progress of a rollout.
 * @returns true if the rollout is complete.
 */
export async function followStatus(
  target: Target,
  say: (state: RolloutState) => void,
  { follow, signal, timeoutMs = 0 }: FollowOptions,
): Promise<boolean> {
  const ended = new AbortController();
  const late = new AbortController();
  const timer = timeoutMs > 0 && follow ? target.clock.setTimeout(() => late.abort(), timeoutMs) : undefined;
  const either = AbortSignal.any([signal, late.signal]);
  const isLate = (): boolean => late.signal.aborted && !signal.aborted;
  if (follow) void followHealth(target, say, AbortSignal.any([either, ended.signal])).catch(() => undefined);
  try {
    const well = await followDeployment(target, say, { follow, signal: either });
    if (!isLate()) return well;
  } catch (error) {
    if (!isLate()) throw error;
  } finally {
    timer?.cancel();
    ended.abort();
  }
  say({ kind: 'failed', text: `machinedeployment ${target.name} did not complete its rollout before --timeout` });
  return false;
}

interface FollowOptions {
  readonly follow: boolean;
  readonly signal: AbortSignal;
  /**
   * With `follow`, the maximum duration of the command in milliseconds. If the value is 0, the duration of the command
   * is not limited.
   */
  readonly timeoutMs?: number;
}

async function followDeployment(
  target: Target,
  say: (state: RolloutState) => void,
  { follow, signal }: { readonly follow: boolean; readonly signal: AbortSignal },
): Promise<boolean> {
  let said = '';
  let saidEnd: string | undefined;
  const soakOf = soakReader(target, signal);
  const tell = async (deployment: MachineDeployment): Promise<RolloutState> => {
    const state = rolloutState(deployment, await isDeadlineOfEarlierSet(target, deployment, signal));
    if (state.text !== said) say(state);
    said = state.text;
    const soak = state.kind === 'under way' && !isHeld(deployment) ? await soakOf(deployment) : undefined;
    // The remaining time changes with each read, so the text is repeated only for another end.
    if (soak && soak.endsAt !== saidEnd) say({ kind: 'under way', text: soak.text, soakEndsAt: soak.endsAt });
    saidEnd = soak?.endsAt;
    return state;
  };
  while (!signal.aborted) {
    const seen = await getDeployment(target.client, target.namespace, target.name, { signal });
    const state = await tell(seen);
    if (!follow) {
      const stopped = state.kind === 'under way' ? await stoppedFor(target, seen) : [];
      for (const one of stopped) say({ kind: 'under way', text: controllerSentence(one, target.clock.now()) });
      return state.kind !== 'failed';
    }
    if (state.kind !== 'under way') return state.kind === 'complete';
    const last = await nextEnd(target, seen.metadata.resourceVersion, tell, signal);
    if (last === 'deleted') say({ kind: 'deleted', text: `machinedeployment ${target.name} was deleted` });
    if (last !== 'unknown') return last === 'complete';
  }
  return false;
}

async function nextEnd(
  target: Target,
  resourceVersion: string,
  tell: (deployment: MachineDeployment) => Promise<RolloutState>,
  signal: AbortSignal,
): Promise<'complete' | 'failed' | 'deleted' | 'unknown'> {
  const resource = target.client.resource<MachineDeployment>(machineDeployments, target.namespace);
  const fieldSelector = `metadata.name=${target.name}`;
  try {
    for await (const event of resource.watch({ fieldSelector, resourceVersion, signal })) {
      if (event.type === 'BOOKMARK') continue;
      if (event.type === 'DELETED') return 'deleted';
      const { kind } = await tell(event.object);
      if (kind !== 'under way') return kind;
    }
  } catch (error) {
    if (!isGone(error)) throw error;
  }
  return 'unknown';
}
