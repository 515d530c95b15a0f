import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { formatTime, jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { conditionOf, isDying, isTerminal } from '../objects/fields.ts';

/** The default responder calls the subresource `eviction` of the pod. */
const EVICTOR = 'imperative-eviction.k8s.io/evictor';

const EVICTOR_PRIORITY = 100;

const HEARTBEAT_MS = 20_000;

const MAX_REQUESTERS = 100;

type State = 'Active' | 'Canceled' | 'Completed';

export interface TargetState {
  readonly pod: ApiObject | undefined;
  readonly requests: readonly ApiObject[];
  readonly now: Date;
}

/** Returns whether an EvictionRequest still requests the eviction. A deleted EvictionRequest counts as withdrawn. */
const asks = (request: ApiObject): boolean => !isDying(request) && look(request, 'spec').intent === 'Eviction';

export const isRequested = ({ requests }: TargetState): boolean => requests.some(asks);

export const isOver = (eviction: ApiObject): boolean =>
  ['TargetEvicted', 'Failed'].some((type) => conditionOf(eviction, type)?.status === 'True');

interface Outcome {
  readonly state: State;
  readonly evicted: readonly [isTrue: boolean, reason: string, message: string];
  readonly failed: readonly [isTrue: boolean, reason: string, message: string];
}

function outcomeOf(target: TargetState): Outcome {
  const { pod } = target;
  if (pod === undefined || isTerminal(pod)) {
    const evicted =
      pod === undefined
        ? ([true, 'PodDeleted', 'Target pod has been deleted'] as const)
        : ([true, 'PodTerminal', 'Pod has reached terminal state'] as const);
    return { state: 'Completed', evicted, failed: [false, 'Succeeded', ''] };
  }
  if (!isRequested(target)) {
    const failed = [true, 'CanceledDueToNoRequesters', 'No active requesters with eviction intent'] as const;
    return { state: 'Canceled', evicted: [false, 'EvictionFailed', ''], failed };
  }
  return { state: 'Active', evicted: [false, 'AwaitingEviction', ''], failed: [false, 'AwaitingEviction', ''] };
}

/** Returns the conditions of an Eviction. */
function withConditions(object: ApiObject, { evicted, failed }: Omit<Outcome, 'state'>, now: Date): Plain[] {
  const wanted = { TargetEvicted: evicted, Failed: failed };
  const others = items(look(object, 'status'), 'conditions').filter(({ type }) => !(String(type) in wanted));
  const own = Object.entries(wanted).map(([type, [isTrue, reason, message]]) => {
    const known = conditionOf(object, type);
    const status = isTrue ? 'True' : 'False';
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : formatTime(now);
    return { type, status, lastTransitionTime, reason, message };
  });
  return [...others, ...own];
}

/** Returns the requesters for the status of an Eviction. */
function requestersOf(eviction: ApiObject, requests: readonly ApiObject[]): Plain[] {
  const intents = new Map<string, string>();
  for (const request of requests.filter(asks)) intents.set(text(look(request, 'spec'), 'requester'), 'Eviction');
  const former = items(look(eviction, 'status'), 'requesters').map((requester) => text(requester, 'name'));
  for (const name of [...requests.map((request) => text(look(request, 'spec'), 'requester')), ...former]) {
    if (!intents.has(name)) intents.set(name, 'Withdrawn');
  }
  return [...intents].slice(0, MAX_REQUESTERS).map(([name, intent]) => ({ name, intent }));
}

const evictorOf = (eviction: ApiObject): Plain | undefined =>
  items(look(eviction, 'status'), 'responders').find(({ name }) => name === EVICTOR);

export function nextAttemptAt(eviction: ApiObject): Date {
  const last = text(evictorOf(eviction), 'heartbeatTime');
  return new Date(last === '' ? 0 : new Date(last).getTime() + HEARTBEAT_MS);
}

export function evictionStatus(eviction: ApiObject, target: TargetState, report?: string): Plain {
  const outcome = outcomeOf(target);
  const { state } = outcome;
  const time = formatTime(target.now);
  const known: Plain = evictorOf(eviction) ?? { name: EVICTOR, startTime: time };
  const responder: Plain = { ...known };
  if (report !== undefined) {
    responder.heartbeatTime = time;
    responder.message = report.slice(0, 4000);
  }
  if (state === 'Completed') responder.completionTime ??= time;
  return {
    observedGeneration: eviction.metadata.generation,
    conditions: withConditions(eviction, outcome, target.now),
    requesters: requestersOf(eviction, target.requests),
    targetResponders: [{ name: EVICTOR, priority: EVICTOR_PRIORITY, state }],
    responders: [responder],
  };
}

/** Returns the status of an EvictionRequest. */
export function requestStatus(request: ApiObject, eviction: ApiObject | undefined, target: TargetState): Plain {
  const { generation } = request.metadata;
  const outcome: Omit<Outcome, 'state'> =
    eviction === undefined && target.pod === undefined
      ? { evicted: [false, 'EvictionFailed', ''], failed: [true, 'EvictionInvalid', 'Target pod not found.'] }
      : { evicted: mirrored(eviction, 'TargetEvicted'), failed: mirrored(eviction, 'Failed') };
  return { observedGeneration: generation, conditions: withConditions(request, outcome, target.now) };
}

function mirrored(eviction: ApiObject | undefined, type: string): Outcome['evicted'] {
  const condition = eviction && conditionOf(eviction, type);
  if (condition === undefined) return [false, 'AwaitingEviction', ''];
  return [condition.status === 'True', text(condition, 'reason'), text(condition, 'message')];
}

/** Requesters and responders find the Eviction by its labels. */
export function labelsOf(requests: readonly ApiObject[]): Record<string, string> {
  const requesters = requests.map((request) => [text(look(request, 'spec'), 'requester'), 'requester'] as const);
  return { ...Object.fromEntries(requesters), [EVICTOR]: 'responder' };
}

/** The owners of an Eviction are its EvictionRequests, so the Eviction exists until all of them are deleted. */
export const ownersOf = (requests: readonly ApiObject[]): Plain[] =>
  requests
    .filter((request) => !isDying(request))
    .map(({ apiVersion, kind, metadata: { name, uid } }) => ({ apiVersion, kind, name, uid }));

export const statusDiffers = (object: ApiObject, status: Plain): boolean => !jsonEquals(object['status'] ?? {}, status);
