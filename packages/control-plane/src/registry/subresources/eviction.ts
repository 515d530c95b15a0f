import {
  badRequest,
  forbidden,
  internal,
  invalid,
  invalidValue,
  methodNotAllowed,
  notFound,
} from '../../apimachinery/errors/errors.ts';
import type { ApiObject, ObjectMeta } from '../../apimachinery/objects/object.ts';
import { formatTime, jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { goPlain } from '../../patch/index.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import { checkDeleteTypes, type DeleteOptions, readDeleteOptions, type WriteOptions } from '../../resources/options.ts';
import type { Registry } from '../../resources/registry.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../../resources/subresource.ts';
import { type LabelSelector, type SelectorObject, selectorOf } from '../../selectors/label-selector.ts';
import { wordsOfLabels, wordsOfSelector } from '../../selectors/selector-words.ts';
import type { StoredRecord } from '../../store/record.ts';
import type { Words } from '../../store/word-index.ts';
import { CARRIED_EVICTION, carried } from '../bodies/carried.ts';
import { checkFields } from '../bodies/decode.ts';
import { checkType } from '../bodies/type-meta.ts';
import { putStatus, receive, track } from '../writes/create.ts';
import { checkPreconditions, deleteObject } from '../writes/delete.ts';

const BUDGETS = 'policy/poddisruptionbudgets';
/**
 * The maximum number of entries in `disruptedPods`. If a budget has more, the disruption controller probably does not
 * work.
 */
const MAX_DISRUPTED_PODS = 2000;
const TOO_MANY = "Cannot evict pod as it would violate the pod's disruption budget.";
const TWO_BUDGETS = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly [field: string]: unknown;
}

interface Budget extends ApiObject {
  readonly spec?: {
    readonly selector?: SelectorObject | null;
    readonly unhealthyPodEvictionPolicy?: 'IfHealthyBudget' | 'AlwaysAllow';
  };
  status?: {
    observedGeneration?: number;
    disruptionsAllowed?: number;
    currentHealthy?: number;
    desiredHealthy?: number;
    disruptedPods?: Record<string, string>;
    conditions?: Condition[];
  };
}

interface Pod extends ApiObject {
  status?: { phase?: string; conditions?: Condition[] };
}

interface Eviction {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly deleteOptions?: Record<string, unknown>;
}

const tooMany = (message: string, retryAfterSeconds?: number): StatusError =>
  new StatusError({
    message: TOO_MANY,
    reason: 'TooManyRequests',
    details: defined({
      causes: [{ reason: 'DisruptionBudget', message }],
      retryAfterSeconds,
    }),
    code: 429,
  });

/** Returns true if the disruption budget does not apply, because the pod does not run or is being deleted. */
const isExempt = (pod: Pod): boolean =>
  pod.metadata.deletionTimestamp !== undefined || ['Succeeded', 'Failed', 'Pending'].includes(pod.status?.phase ?? '');

const isReady = (pod: Pod): boolean =>
  (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');

/** Handles requests to evict a pod (`pods/NAME/eviction`): deletes the pod, unless its disruption budget refuses. */
export async function evictPod(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const { registry, target, call } = request;
  if (request.method !== 'POST') throw methodNotAllowed();
  const writing = request.options('CreateOptions');
  const sent = await request.readBody('Eviction');
  // kube-apiserver still converts an Eviction of `policy/v1beta1`, although it no longer serves this version.
  if (sent.plain.apiVersion === 'policy/v1beta1') sent.plain.apiVersion = 'policy/v1';
  checkType(sent.plain, CARRIED_EVICTION, registry.kinds, sent.bytes);
  const eviction = sent.plain as Eviction;
  checkDeleteTypes(eviction.deleteOptions ?? {}, IN_EVICTION);
  checkFields(sent, CARRIED_EVICTION, writing, call.warn);
  const object: ApiObject = {
    ...eviction,
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { ...eviction.metadata },
  };
  receive(object, target, call);
  track(registry, CARRIED_EVICTION, undefined, object, writing, target.subresource);
  const attributes = registry.attributes(call, target, {
    operation: 'CREATE',
    object,
    old: undefined,
    carries: carried(CARRIED_EVICTION),
    dryRun: writing.dryRun,
    options: writing.given,
  });
  const admitted = ((await registry.admission.admit(attributes)) ?? object) as Eviction & ApiObject;
  if (admitted.metadata.name !== target.name) {
    throw badRequest('name in URL does not match name in Eviction object');
  }
  checkOptions(admitted, target.name, writing);
  const { options: asked, check } = readDeleteOptions(new URLSearchParams(), admitted.deleteOptions ?? {});
  const options: DeleteOptions = { ...asked, dryRun: writing.dryRun || asked.dryRun };
  await registry.admission.validate({ ...attributes, object: admitted });

  // No `await` separates the read and the change of the budget, so two evictions never use the same allowed disruption.
  const pod = readPod(registry, target.served, target.namespace, target.name);
  if (!isExempt(pod)) chargeBudget(registry, pod, options.dryRun);
  if (!options.dryRun) {
    checkPreconditions(target.served.kind, pod, options);
    markDisrupted(registry, target.served, pod);
  }
  // As in kube-apiserver, the server writes the budget and the pod before it reports invalid options.
  check();
  // The deletion has no preconditions. The server has already checked them, and the write of the condition has changed
  // the resourceVersion.
  const unconditional = { ...options, preconditions: undefined };
  await deleteObject(
    registry,
    call,
    { ...target, subresource: '' },
    options.dryRun ? options : unconditional,
    'admitted',
  );
  return { status: 201, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } };
}

const IN_EVICTION = { text: 'Eviction in version "v1" cannot be handled as a Eviction: ', path: 'deleteOptions.' };
const UNSAFE = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/**
 * Checks the options of an eviction before any write.
 * @throws StatusError 422 or 500 for invalid options
 */
function checkOptions({ deleteOptions = {} }: Eviction, name: string, { given }: WriteOptions): void {
  if (deleteOptions[UNSAFE] === true) {
    const why = 'can not be set for pod eviction, try after removing the option';
    throw invalid({ group: 'policy', kind: 'Eviction' }, name, [invalidValue(`deleteOptions.${UNSAFE}`, true, why)]);
  }
  const [own, asked] = [deleteOptions.dryRun ?? [], given?.dryRun ?? []] as string[][];
  if (own === undefined || asked === undefined || own.length === 0 || asked.length === 0) return;
  if (jsonEquals(own, asked)) return;
  throw internal(`Non-matching dry-run options in request and content: ${goPlain(asked)} and ${goPlain(own)}`);
}

function readPod(registry: Registry, served: ServedKind, namespace: string, name: string): Pod {
  const record = registry.store.get(served.resource, namespace, name);
  if (record === undefined) throw notFound(served.kind, name);
  return registry.parse(served, record);
}

/** The server parses a selector once for each version of its budget. */
const selectors = new WeakMap<StoredRecord, LabelSelector>();

function selectorIn(registry: Registry, served: ServedKind, record: StoredRecord): LabelSelector {
  let selector = selectors.get(record);
  if (selector === undefined) {
    selector = selectorOf((registry.parse(served, record) as Budget).spec?.selector);
    selectors.set(record, selector);
  }
  return selector;
}

/** An index of disruption budgets, for all API versions. */
const BY_SELECTOR: Words = {
  of: ({ namespace, json }) => wordsOfSelector(namespace, (JSON.parse(json) as Budget).spec?.selector),
};

function budgetsOf(registry: Registry, pod: Pod): { served: ServedKind; budgets: Budget[] } | undefined {
  const served = registry.kinds.find('policy', 'v1', 'poddisruptionbudgets');
  if (served === undefined) return undefined;
  const { namespace = '', labels } = pod.metadata;
  const budgets = registry.store
    .find(BUDGETS, BY_SELECTOR, wordsOfLabels(namespace, labels))
    .filter((record) => selectorIn(registry, served, record)(pod.metadata.labels))
    .map((record) => registry.parse(served, record) as Budget);
  return { served, budgets };
}

/**
 * Takes one allowed disruption from the budget of a pod.
 * @throws StatusError 403, 429 or 500 if no disruption is
 * allowed
 */
function chargeBudget(registry: Registry, pod: Pod, dryRun: boolean): void {
  const found = budgetsOf(registry, pod);
  if (found === undefined) return;
  const { served, budgets } = found;
  if (budgets.length > 1) throw internal(TWO_BUDGETS);
  const [budget] = budgets;
  if (budget === undefined || mayGoUnhealthy(budget, pod)) return;
  const { metadata, status = {} } = budget;
  const name = metadata.name ?? '';
  const allowed = status.disruptionsAllowed ?? 0;
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    throw tooMany(`The disruption budget ${name} is still being processed by the server.`, 10);
  }
  if (allowed < 0) throw forbidden(served.kind, name, 'pdb disruptions allowed is negative');
  const disrupted = status.disruptedPods ?? {};
  if (Object.keys(disrupted).length > MAX_DISRUPTED_PODS) {
    throw forbidden(
      served.kind,
      name,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    );
  }
  if (allowed === 0) throw tooMany(refusalOf(budget));
  if (dryRun) return;
  const left = allowed - 1;
  const disruptedPods = { ...disrupted, [pod.metadata.name ?? '']: formatTime(registry.now()) };
  const counted = { ...status, disruptionsAllowed: left, disruptedPods };
  if (left === 0) counted.conditions = exhausted(budget, registry.now());
  putStatus(registry, served, budget, counted);
}

/**
 * Returns whether an unready pod may be evicted. Either the policy of the budget must allow the eviction, or enough
 * other pods must be ready.
 */
function mayGoUnhealthy({ spec, status = {} }: Budget, pod: Pod): boolean {
  if (isReady(pod)) return false;
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status;
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

function refusalOf({ metadata: { name }, status = {} }: Budget): string {
  const refused = (status.conditions ?? []).find(
    ({ type, status: state, message }) => type === 'DisruptionAllowed' && state === 'False' && (message ?? '') !== '',
  );
  if (refused?.reason === 'SyncFailed') {
    return `The disruption budget ${name} does not allow evicting pods currently because it failed sync: ${refused.message}`;
  }
  const { currentHealthy = 0, desiredHealthy = 0 } = status;
  if (currentHealthy <= desiredHealthy) {
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  }
  const why = refused === undefined ? '' : ` (${refused.reason}): ${refused.message}`;
  return `The disruption budget ${name} does not allow evicting pods currently${why}`;
}

function exhausted({ metadata, status }: Budget, now: Date): Condition[] {
  const conditions = (status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionAllowed');
  return [
    ...conditions,
    {
      type: 'DisruptionAllowed',
      status: 'False',
      observedGeneration: metadata.generation ?? 0,
      lastTransitionTime: formatTime(now),
      reason: 'InsufficientPods',
      message: '',
    },
  ];
}

/** Writes the reason of the deletion to the status of a pod, before the pod is deleted. */
function markDisrupted(registry: Registry, served: ServedKind, pod: Pod): void {
  const conditions = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
  conditions.push({
    type: 'DisruptionTarget',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: formatTime(registry.now()),
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  });
  pod.status = { ...pod.status, conditions };
  registry.put(served, pod);
}
