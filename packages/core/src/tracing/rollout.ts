import {
  Annotations,
  ConditionReasons,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  phaseOf,
} from '@mcm/api';
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
} from '@mcm/kube';
import { isLastRolloutComplete } from '../rollout/rollout-completion.ts';
import { rolloutTraceId } from './ids.ts';
import { failureIn } from './machine-change.ts';

/** The caches from which the spans of rollouts are computed. */
export interface RolloutSources {
  readonly deployments: Pick<Informer<MachineDeployment>, 'store' | 'onChange'>;
  readonly sets: Pick<Informer<MachineSet>, 'store'>;
  readonly machines: Pick<Informer<Machine>, 'onChange'>;
}

interface Rollout {
  readonly deployment: MachineDeployment;
  readonly revision: string;
}

const revisionOf = ({ metadata }: MachineDeployment | MachineSet): string =>
  metadata.annotations?.[Annotations.Revision] ?? '';

const progressReason = ({ status }: MachineDeployment): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Progressing')?.reason;

/** Stored times are rounded to seconds. */
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

interface Reported {
  readonly name: string;
  readonly startMs: number;
  readonly more?: Record<string, SpanValue>;
  readonly error?: string | undefined;
}

const traceOf = ({ deployment, revision }: Rollout): string => rolloutTraceId(deployment.metadata.uid, revision);
const rootOf = ({ deployment, revision }: Rollout): string => spanIdOf('rollout', deployment.metadata.uid, revision);

class RolloutTracer {
  readonly #exporter: SpanExporter;
  readonly #clock: Clock;
  readonly #sources: RolloutSources;
  /**
   * The start times of rollouts, by the UID of the deployment. The map does not contain rollouts that began before the
   * start of mcm.
   */
  readonly #began = new Map<string, number>();
  readonly #pausedSince = new Map<string, number>();

  constructor(exporter: SpanExporter, clock: Clock, sources: RolloutSources) {
    this.#exporter = exporter;
    this.#clock = clock;
    this.#sources = sources;
  }

  onDeployment(change: Change<MachineDeployment>): void {
    const { object } = change;
    const { uid } = object.metadata;
    if (change.type === 'deleted') {
      this.#began.delete(uid);
      this.#pausedSince.delete(uid);
      return;
    }
    const rollout: Rollout = { deployment: object, revision: revisionOf(object) };
    const before = change.type === 'updated' ? change.old : undefined;
    const wasUnderWay = before !== undefined && !isLastRolloutComplete(before);
    if (!isLastRolloutComplete(object) && before !== undefined && !wasUnderWay) this.#began.set(uid, this.#now());
    this.#onPause(rollout, before, wasUnderWay);
    if (wasUnderWay && isLastRolloutComplete(object)) this.#exportRoot(rollout);
    if (wasUnderWay) this.#onDeadline(rollout, before);
  }

  onMachine(change: Change<Machine>): void {
    const { object } = change;
    const { name, uid, creationTimestamp, deletionTimestamp } = object.metadata;
    const before = change.type === 'updated' ? (phaseOf(change.old) ?? '') : '';
    const runs = change.type === 'updated' && phaseOf(object) === 'Running' && ['', 'Pending'].includes(before);
    const failure = failureIn(change);
    const goes = change.type === 'deleted';
    if (!runs && failure === undefined && !goes) return;
    const rollout = this.#rolloutOf(object);
    if (rollout === undefined) return;
    const now = this.#now();
    const more = { 'machine.name': name, 'machine.uid': uid, 'machine.class': object.spec.class.name ?? '' };
    if (runs)
      this.#export(rollout, { name: `machine ${name} is created`, startMs: timeOf(creationTimestamp, now), more });
    if (goes)
      this.#export(rollout, { name: `machine ${name} is deleted`, startMs: timeOf(deletionTimestamp, now), more });
    if (failure !== undefined)
      this.#export(rollout, { name: `machine ${name} fails`, startMs: now, more, error: failure });
  }

  #onPause(rollout: Rollout, before: MachineDeployment | undefined, wasUnderWay: boolean): void {
    const { metadata, spec } = rollout.deployment;
    const { uid } = metadata;
    if (spec.paused && !before?.spec.paused && before !== undefined) this.#pausedSince.set(uid, this.#now());
    const startMs = this.#pausedSince.get(uid);
    if (spec.paused || startMs === undefined) return;
    this.#pausedSince.delete(uid);
    if (wasUnderWay) this.#export(rollout, { name: 'paused', startMs });
  }

  #onDeadline(rollout: Rollout, before: MachineDeployment): void {
    const { deployment } = rollout;
    const stuck = ConditionReasons.ProgressDeadlineExceeded;
    if (progressReason(deployment) !== stuck || progressReason(before) === stuck) return;
    const error = deployment.status?.conditions?.find(({ type }) => type === 'Progressing')?.message ?? stuck;
    this.#export(rollout, { name: 'stuck', startMs: this.#now(), error });
  }

  #now(): number {
    return this.#clock.now().getTime();
  }

  #export(rollout: Rollout, { name, startMs, more = {}, error }: Reported): void {
    const span: Span = {
      traceId: traceOf(rollout),
      spanId: spanIdOf(rootOf(rollout), name, String(startMs)),
      parentId: rootOf(rollout),
      name,
      kind: 'internal',
      startMs,
      endMs: this.#now(),
      attributes: { ...attributesOf(rollout), ...more },
      error,
    };
    this.#exporter.export(span);
  }

  #exportRoot(rollout: Rollout): void {
    const { name, uid } = rollout.deployment.metadata;
    const startMs = this.#startOf(rollout);
    this.#began.delete(uid);
    this.#exporter.export({
      traceId: traceOf(rollout),
      spanId: rootOf(rollout),
      name: `rollout ${name}`,
      kind: 'internal',
      startMs,
      endMs: this.#now(),
      attributes: attributesOf(rollout),
    });
  }

  /** Returns the rollout of a machine, or undefined if no rollout is in progress. */
  #rolloutOf(machine: Machine): Rollout | undefined {
    const { deployments, sets } = this.#sources;
    const namespace = machine.metadata.namespace ?? '';
    const set = sets.store.get(makeKey(namespace, controllerOf(machine)?.name ?? ''));
    const deployment = set && deployments.store.get(makeKey(namespace, controllerOf(set)?.name ?? ''));
    return deployment && !isLastRolloutComplete(deployment)
      ? { deployment, revision: revisionOf(deployment) }
      : undefined;
  }

  #startOf({ deployment, revision }: Rollout): number {
    const { uid } = deployment.metadata;
    const all = this.#sources.sets.store.list();
    const set = all.find((one) => controllerOf(one)?.uid === uid && revisionOf(one) === revision);
    return this.#began.get(uid) ?? timeOf(set?.metadata.creationTimestamp, this.#now());
  }
}

/**
 * Sends one trace for each rollout, computed from the caches. The trace ID is computed from the UID of the deployment
 * and the revision, so the next leader continues the trace.
 * The root span of a rollout has these children:
 * - a span for each machine that was created and is Running
 * - a span for each machine that was deleted or failed
 * - spans for pauses
 * - a span for the time at which the progress deadline expired
 */
export function traceRollouts(exporter: SpanExporter, clock: Clock, sources: RolloutSources): void {
  const tracer = new RolloutTracer(exporter, clock, sources);
  sources.deployments.onChange((change) => tracer.onDeployment(change));
  sources.machines.onChange((change) => tracer.onMachine(change));
}
