import type { Recorded, State } from './recording.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What somebody outside of the controllers did: a user, a node's agent, a kubelet. */
export type Action =
  | { readonly do: 'create'; readonly object: Recorded }
  | {
      readonly do: 'merge';
      readonly kind: string;
      readonly name: string;
      readonly body: object;
      readonly status?: true;
      /** What a node's agent waits for before it speaks: the reason of the condition `InPlaceUpdate`. */
      readonly awaits?: string;
    }
  | { readonly do: 'delete'; readonly kind: string; readonly name: string };

export interface Step {
  /** Seconds since the recording's start. */
  readonly at: number;
  readonly actions: readonly Action[];
}

/** Kinds that only users write: the controllers add nothing but a finalizer. */
const OF_USERS = new Set(['MachineClass', 'Secret', 'Pod', 'PodDisruptionBudget']);
/** What the controllers themselves write on objects of users. */
const BY_CONTROLLERS = /^deployment\.kubernetes\.io\/|last-deployment-replica-change-by-scaler-time$/;
/** Metadata by which users and agents speak to the controllers. */
const BY_USERS: Readonly<Record<string, RegExp>> = {
  Machine: /^force-deletion$|\/preserve$|^machinepriority\./,
  Node: /\/preserve$|\/update-result$|\/update-failed-reason$/,
};
const PRIORITY = 'machinepriority.machine.sapcloud.io';
const MARKED = 'machine.sapcloud.io/marked-for-deletion-time';

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A merge patch that turns `before` into `after`. */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (!isFields(before) || !isFields(after)) return after;
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...keys]
      .filter((key) => !same(before[key], after[key]))
      .map((key) => [key, key in after ? mergePatch(before[key], after[key]) : null]),
  );
}

/** What was done from outside after state `from` up to the end; all of it when `from` is undefined. */
export function stepsAfter(states: readonly State[], from: number | undefined): readonly Step[] {
  const removed = removedBySets(states);
  const first = from === undefined ? 0 : from + 1;
  return states.slice(first).map((state, index) => {
    const before = first + index === 0 ? undefined : states[first + index - 1];
    return { at: state.at, actions: actionsBetween(before?.objects ?? new Map(), state, removed) };
  });
}

/** Names of the machines that a set said it deleted. */
function removedBySets(states: readonly State[]): ReadonlySet<string> {
  const deletions = (states.at(-1)?.events ?? []).filter(({ reason }) => reason === 'SuccessfulDelete');
  return new Set(deletions.flatMap(({ message }) => String(message).match(/[a-z0-9.-]+-[a-z0-9]{5}\b/g) ?? []));
}

function actionsBetween(before: State['objects'], state: State, removed: ReadonlySet<string>): readonly Action[] {
  const actions: Action[] = [];
  for (const [key, object] of state.objects) {
    const old = before.get(key);
    const known = old?.metadata.uid === object.metadata.uid ? old : undefined;
    if (!known) {
      if (OF_USERS.has(object.kind) || object.kind === 'MachineDeployment') actions.push({ do: 'create', object });
    } else if (known !== object) actions.push(...changes(known, object));
    if (object.metadata.deletionTimestamp && !known?.metadata.deletionTimestamp && isByHand(object, state, removed))
      actions.push({ do: 'delete', kind: object.kind, name: object.metadata.name });
  }
  for (const [key, { kind, metadata }] of before) {
    if (state.objects.has(key) || metadata.deletionTimestamp) continue;
    if (kind === 'MachineDeployment' || (OF_USERS.has(kind) && kind !== 'Pod'))
      actions.push({ do: 'delete', kind, name: metadata.name });
  }
  return actions;
}

/** A deletion that nobody but a user can have asked for. */
function isByHand({ kind, metadata }: Recorded, { objects }: State, removed: ReadonlySet<string>): boolean {
  if (kind === 'MachineDeployment') return true;
  if (kind !== 'Machine' || removed.has(metadata.name)) return false;
  const owner = metadata.ownerReferences?.[0];
  if (!owner) return true;
  const set = objects.get(`MachineSet/${owner.name}`);
  return set !== undefined && set.metadata.deletionTimestamp === undefined && !wasUnhealthy(metadata.name, objects);
}

/** A machine that failed is replaced by its set. */
function wasUnhealthy(name: string, objects: State['objects']): boolean {
  const ready = conditionsOf(objects.get(`Node/${name}`)).find(({ type }) => type === 'Ready');
  return ready?.status !== 'True';
}

function changes(old: Recorded, object: Recorded): readonly Action[] {
  const { kind, metadata } = object;
  const body: Record<string, unknown> = {};
  if (kind === 'MachineDeployment' || (OF_USERS.has(kind) && kind !== 'Pod')) {
    for (const field of Object.keys({ ...old, ...object }))
      if (!['metadata', 'status'].includes(field) && !same(old[field], object[field]))
        body[field] = mergePatch(old[field], object[field]);
  }
  const meta = Object.fromEntries(
    (['labels', 'annotations'] as const)
      .map((field) => [field, said(kind, old.metadata[field] ?? {}, metadata[field] ?? {})] as const)
      .filter(([, entries]) => Object.keys(entries).length > 0),
  );
  if (Object.keys(meta).length > 0) body.metadata = meta;
  const actions: Action[] = [];
  const awaits = kind === 'Node' ? updateReasonOf(old) : undefined;
  if (Object.keys(body).length > 0)
    actions.push({ do: 'merge', kind, name: metadata.name, body, ...(awaits ? { awaits } : {}) });
  const ready = kind === 'Node' ? heartbeat(old, object) : undefined;
  if (ready) actions.push({ do: 'merge', kind, name: metadata.name, body: ready, status: true });
  return actions;
}

/** Labels or annotations that came or changed, and were not written by a controller. */
function said(kind: string, old: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>): Fields {
  const byUser = (key: string): boolean => {
    if (kind === 'MachineDeployment') return !BY_CONTROLLERS.test(key);
    if (kind === 'Machine' && key === PRIORITY && (now[key] === '3' || MARKED in now)) return false;
    return BY_USERS[kind]?.test(key) ?? false;
  };
  return Object.fromEntries(Object.entries(now).filter(([key, value]) => old[key] !== value && byUser(key)));
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

export const conditionsOf = (object: Recorded | undefined): readonly Condition[] => {
  const status = object?.status;
  return isFields(status) && Array.isArray(status.conditions) ? (status.conditions as Condition[]) : [];
};

/** What a machine's controller did last with it. */
export const operationOf = ({ status }: Recorded): Readonly<Record<string, unknown>> | undefined =>
  isFields(status) && isFields(status.lastOperation) ? status.lastOperation : undefined;

/** How far the in-place update of a node is. */
export const updateReasonOf = (node: Recorded): string | undefined =>
  conditionsOf(node).find(({ type }) => type === 'InPlaceUpdate')?.reason;

/** What the kubelet said about its node, if that changed. */
function heartbeat(old: Recorded, node: Recorded): object | undefined {
  const ofKubelet = (object: Recorded): readonly Condition[] =>
    conditionsOf(object).filter(({ type }) => !['Terminating', 'InPlaceUpdate', 'NodeTermination'].includes(type));
  const brief = (object: Recorded) => ofKubelet(object).map(({ type, status }) => [type, status]);
  return same(brief(old), brief(node)) ? undefined : { status: { conditions: ofKubelet(node) } };
}
