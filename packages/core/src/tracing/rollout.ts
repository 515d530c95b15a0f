import { Annotations, ConditionReasons, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import {
  type Change,
  type Clock,
  controllerOf,
  type Informer,
  makeKey,
  type Span,
  type SpanExporter,
  type SpanValue,
  spanIdOf,
  traceIdOf,
} from '@mcm/kube';
import { hasArrived } from '../rollout/arrival.ts';
import { failureIn, phaseOf } from './machine-change.ts';

/** Sources for spans of rollouts. */
export interface RolloutSources {
  readonly deployments: Pick<Informer<MachineDeployment>, 'store' | 'onChange'>;
  readonly sets: Pick<Informer<MachineSet>, 'store'>;
  readonly machines: Pick<Informer<Machine>, 'onChange'>;
}

/** A rollout in progress, or one that has just completed. */
interface Rollout {
  readonly deployment: MachineDeployment;
  readonly revision: string;
}

const revisionOf = ({ metadata }: MachineDeployment | MachineSet): string =>
  metadata.annotations?.[Annotations.Revision] ?? '';

const progressReason = ({ status }: MachineDeployment): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Progressing')?.reason;

/** Seconds on the wire. */
const timeOf = (text: string | undefined, fallback: number): number =>
  text === undefined ? fallback : Date.parse(text);

function attributesOf({ deployment: { metadata, spec }, revision }: Rollout): Record<string, SpanValue> {
  return {
    'k8s.namespace.name': metadata.namespace ?? '',
    'machine.deployment': metadata.name,
    'machine.deployment.uid': metadata.uid,
    'rollout.revision': revision,
    'rollout.strategy': spec.strategy?.type ?? 'RollingUpdate',
    'rollout.replicas': spec.replicas ?? 0,
  };
}

/**
 * Turns rollouts into spans, from what the caches tell and without a write: one trace a rollout, its ids derived from the
 * deployment's uid and revision, so that whoever leads next goes on with it. Below the root: each machine that was made
 * and runs, each that went or failed meanwhile, pauses, and the moment at which no progress was made for too long.
 */
export function traceRollouts(exporter: SpanExporter, clock: Clock, sources: RolloutSources): void {
  const { deployments, sets, machines } = sources;
  /** When a rollout was seen to begin, by the deployment's uid; who starts in its middle has not seen it. */
  const began = new Map<string, number>();
  const pausedSince = new Map<string, number>();
  const now = (): number => clock.now().getTime();
  const traceOf = ({ deployment, revision }: Rollout): string =>
    traceIdOf('rollout', deployment.metadata.uid, revision);
  const rootOf = ({ deployment, revision }: Rollout): string => spanIdOf('rollout', deployment.metadata.uid, revision);

  const tell = (
    rollout: Rollout,
    span: { name: string; startMs: number; more?: Record<string, SpanValue>; error?: string | undefined },
  ): void => {
    const { name, startMs, more = {}, error } = span;
    const told: Span = {
      traceId: traceOf(rollout),
      spanId: spanIdOf(rootOf(rollout), name, String(startMs)),
      parentId: rootOf(rollout),
      name,
      kind: 'internal',
      startMs,
      endMs: now(),
      attributes: { ...attributesOf(rollout), ...more },
      ...(error === undefined ? {} : { error }),
    };
    exporter.export(told);
  };

  /** The rollout of a machine; undefined if none is in progress. */
  const rolloutOf = (machine: Machine): Rollout | undefined => {
    const namespace = machine.metadata.namespace ?? '';
    const set = sets.store.get(makeKey(namespace, controllerOf(machine)?.name ?? ''));
    const deployment = set && deployments.store.get(makeKey(namespace, controllerOf(set)?.name ?? ''));
    return deployment && !hasArrived(deployment) ? { deployment, revision: revisionOf(deployment) } : undefined;
  };

  const startOf = ({ deployment, revision }: Rollout): number => {
    const { uid } = deployment.metadata;
    const seen = began.get(uid);
    if (seen !== undefined) return seen;
    const set = sets.store.list().find((one) => controllerOf(one)?.uid === uid && revisionOf(one) === revision);
    return timeOf(set?.metadata.creationTimestamp, now());
  };

  const arrived = (rollout: Rollout): void => {
    const startMs = startOf(rollout);
    began.delete(rollout.deployment.metadata.uid);
    exporter.export({
      traceId: traceOf(rollout),
      spanId: rootOf(rollout),
      name: `rollout ${rollout.deployment.metadata.name}`,
      kind: 'internal',
      startMs,
      endMs: now(),
      attributes: attributesOf(rollout),
    });
  };

  deployments.onChange((change: Change<MachineDeployment>) => {
    const { object } = change;
    const { uid } = object.metadata;
    const rollout: Rollout = { deployment: object, revision: revisionOf(object) };
    if (change.type === 'deleted') {
      began.delete(uid);
      pausedSince.delete(uid);
      return;
    }
    const before = change.type === 'updated' ? change.old : undefined;
    const wasUnderWay = before !== undefined && !hasArrived(before);
    if (!hasArrived(object) && before !== undefined && !wasUnderWay) began.set(uid, now());
    if (object.spec.paused && !before?.spec.paused && before !== undefined) pausedSince.set(uid, now());
    const paused = pausedSince.get(uid);
    if (!object.spec.paused && paused !== undefined) {
      pausedSince.delete(uid);
      if (wasUnderWay) tell(rollout, { name: 'paused', startMs: paused });
    }
    if (wasUnderWay && hasArrived(object)) arrived(rollout);
    const stuck = ConditionReasons.ProgressDeadlineExceeded;
    if (wasUnderWay && progressReason(object) === stuck && progressReason(before) !== stuck) {
      const error = object.status?.conditions?.find(({ type }) => type === 'Progressing')?.message ?? stuck;
      tell(rollout, { name: 'stuck', startMs: now(), error });
    }
  });

  machines.onChange((change: Change<Machine>) => {
    const { object } = change;
    const { name, uid, creationTimestamp, deletionTimestamp } = object.metadata;
    const before = change.type === 'updated' ? phaseOf(change.old) : '';
    const runs = change.type === 'updated' && phaseOf(object) === 'Running' && ['', 'Pending'].includes(before);
    const failure = failureIn(change);
    const goes = change.type === 'deleted';
    if (!runs && failure === undefined && !goes) return;
    const rollout = rolloutOf(object);
    if (rollout === undefined) return;
    const more = { 'machine.name': name, 'machine.uid': uid, 'machine.class': object.spec.class.name ?? '' };
    if (runs) tell(rollout, { name: `machine ${name} comes`, startMs: timeOf(creationTimestamp, now()), more });
    if (goes) tell(rollout, { name: `machine ${name} goes`, startMs: timeOf(deletionTimestamp, now()), more });
    if (failure !== undefined) tell(rollout, { name: `machine ${name} fails`, startMs: now(), more, error: failure });
  });
}
