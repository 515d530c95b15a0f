import type { KubeObject } from '@mcm/kube';
import { isByHand, removedBySets } from './recordings/deletions.ts';
import { type Condition, conditionsOf, type Fields, isFields } from './recordings/fields.ts';
import { KINDS, placeOf } from './recordings/kinds.ts';
import { type Recorded, type State, sectionsOf } from './recordings/recording.ts';
import { rolledBackTo } from './rollback.ts';

interface Target {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
}

export type Action =
  | { readonly do: 'create'; readonly object: Recorded }
  | (Target & {
      readonly do: 'merge';
      readonly body: object;
      readonly awaits?: string | undefined;
    })
  | (Target & { readonly do: 'conditions'; readonly conditions: readonly Condition[] })
  /** With `now`, the deletion has no grace period, as when a kubelet deletes a pod that has ended. */
  | (Target & { readonly do: 'delete'; readonly now?: true });

export interface Step {
  readonly at: number;
  readonly actions: readonly Action[];
}

const OF_USERS = new Set(['MachineClass', 'Secret', 'Pod', 'PodDisruptionBudget']);
const OF_BOTH = new Set(['MachineDeployment', 'MachineSet', 'Machine']);
/** Matches the keys that controllers write to objects of users. */
const BY_CONTROLLERS =
  /^deployment\.kubernetes\.io\/|last-deployment-replica-change-by-scaler-time$|^deployment\.machine\.sapcloud\.io\/|^freeze$/;
const BY_USERS: Readonly<Record<string, RegExp>> = {
  MachineSet: /\/unfreeze$/,
  Machine: /^force-deletion$|^force-drain$|\/preserve$|^machinepriority\.|\/effective-creation-timeout$/,
  Node: /\/preserve$|\/update-result$|\/update-failed-reason$/,
};
const SELECTED = 'node.machine.sapcloud.io/selected-for-update';
const PRIORITY = 'machinepriority.machine.sapcloud.io';
const MARKED = 'machine.sapcloud.io/marked-for-deletion-time';
/** The types of node conditions that the controllers write. */
const SAID_BY_CONTROLLERS = new Set(['Terminating', 'InPlaceUpdate', 'Preserved', 'NodeTermination']);

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
function mergePatch(before: unknown, after: unknown): unknown {
  if (!isFields(before) || !isFields(after)) return after;
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...keys]
      .filter((key) => !same(before[key], after[key]))
      .map((key) => [key, key in after ? mergePatch(before[key], after[key]) : null]),
  );
}

/** Returns the external actions after the state `from`. */
export function stepsAfter(states: readonly State[], from: number | undefined): readonly Step[] {
  const removed = removedBySets(states);
  const sections = sectionsOf(states);
  const start = from === undefined ? 0 : from + 1;
  return states.slice(start).map((state, offset) => {
    const index = start + offset;
    const before = index === 0 ? undefined : states[index - 1];
    const section = sections.find(({ first, last }) => first <= index && index <= last);
    const context = { removed, begins: section?.first === index, soon: states[section?.last ?? index] ?? state };
    return { at: state.at, actions: actionsBetween(before, state, context) };
  });
}

/**
 * Returns the reason why a recording cannot be replayed from a state. Either a kind is unknown, or a section contains
 * no action of a user, an agent or a kubelet.
 */
export function unplayable(states: readonly State[], from = -1): string | undefined {
  const kinds = new Set(states.flatMap(({ objects }) => [...objects.values()].map(({ kind }) => kind)));
  const unknown = [...kinds].find((kind) => placeOf(kind) < 0);
  if (unknown)
    return `the recording has an object of kind ${unknown}; known: ${KINDS.map(({ kind }) => kind).join(', ')}`;
  const steps = stepsAfter(states, undefined);
  const section = sectionsOf(states).find(
    ({ first, last }) => first > from && steps.slice(first, last + 1).every(({ actions }) => actions.length === 0),
  );
  return (
    section &&
    `unknown action: after ${states[section.first]?.at} s, the recording contains ${JSON.stringify(section.after)}. ` +
      'No object of the recording contains the action of a user, an agent or a kubelet'
  );
}

interface Context {
  readonly removed: ReadonlySet<string>;
  readonly begins: boolean;
  readonly soon: State;
}

function actionsBetween(before: State | undefined, state: State, context: Context): readonly Action[] {
  const { removed, begins, soon } = context;
  const actions: Action[] = [];
  for (const [key, object] of state.objects) {
    const old = before?.objects.get(key);
    const known = old?.metadata.uid === object.metadata.uid ? old : undefined;
    if (!known) {
      if (isMadeByUser(object)) actions.push({ do: 'create', object: asMade(object) });
    } else if (known !== object) actions.push(...changes(known, object, before, soon));
    if (
      object.metadata.deletionTimestamp &&
      !known?.metadata.deletionTimestamp &&
      isByHand(object, before, state, removed)
    )
      actions.push({ do: 'delete', ...targetOf(object) });
  }
  for (const [key, object] of before?.objects ?? []) {
    if (state.objects.has(key)) continue;
    if (object.kind === 'Pod') actions.push({ do: 'delete', ...targetOf(object), now: true });
    else if (!object.metadata.deletionTimestamp && isByHand(object, before, state, removed))
      actions.push({ do: 'delete', ...targetOf(object) });
  }
  if (actions.length === 0 && begins && before) return withdrawals(before, state);
  // Creations are first, because other objects refer to created objects.
  const isMade = (action: Action): boolean => action.do === 'create';
  return [...actions.filter(isMade), ...actions.filter((action) => !isMade(action))];
}

const targetOf = ({ kind, metadata: { name, namespace } }: Recorded): Target => ({ kind, name, namespace });

const isMadeByUser = ({ kind, metadata }: Recorded): boolean =>
  OF_USERS.has(kind) ||
  kind === 'MachineDeployment' ||
  (OF_BOTH.has(kind) && (metadata.ownerReferences ?? []).length === 0);

/** Returns an object as the user has created it, without fields that controllers wrote. */
function asMade(object: Recorded): Recorded {
  const { metadata } = object;
  const ofUser = (entries: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(
      Object.entries(entries).filter(
        ([key, value]) =>
          !BY_CONTROLLERS.test(key) && (object.kind !== 'Machine' || !isOfMachineController(key, value)),
      ),
    );
  const made: Record<string, unknown> = {
    ...object,
    metadata: {
      ...metadata,
      labels: ofUser(metadata.labels),
      annotations: ofUser(metadata.annotations),
      finalizers: (metadata.finalizers ?? []).filter((name) => !name.startsWith('machine.sapcloud.io/')),
    },
  };
  if (object.kind === 'Machine' && isFields(made.spec)) made.spec = { ...made.spec, providerID: undefined };
  return made as Recorded;
}

const isOfMachineController = (key: string, value: string): boolean =>
  key === 'node' || (key === PRIORITY && value === '3');

function changes(old: Recorded, object: Recorded, before: State | undefined, soon: State): readonly Action[] {
  const { kind, metadata } = object;
  const target = targetOf(object);
  const body: Record<string, unknown> = {};
  if (kind === 'MachineDeployment')
    Object.assign(body, rolledBackTo(old, object, before, soon) ?? fieldsOf(old, object));
  else if (isMadeByUser(object) && kind !== 'Pod' && kind !== 'Machine') Object.assign(body, fieldsOf(old, object));
  const meta = Object.fromEntries(
    (['labels', 'annotations'] as const)
      .map((field) => [field, said(object, old.metadata[field] ?? {}, metadata[field] ?? {}, soon)] as const)
      .filter(([, entries]) => Object.keys(entries).length > 0),
  );
  if (Object.keys(meta).length > 0) body.metadata = meta;
  const actions: Action[] = [];
  const awaits = kind === 'Node' ? updateReasonOf(old) : undefined;
  if (Object.keys(body).length > 0) actions.push({ do: 'merge', ...target, body, awaits: awaits || undefined });
  const conditions = kind === 'Node' ? heartbeat(old, object) : undefined;
  if (conditions) actions.push({ do: 'conditions', ...target, conditions });
  return actions;
}

/** Returns the changes that a user made to an object, as a merge patch. */
function fieldsOf(old: Recorded, object: Recorded): Fields {
  const fields = [...new Set([...Object.keys(old), ...Object.keys(object)])].filter(
    (field) => !['metadata', 'status'].includes(field) && !same(old[field], object[field]),
  );
  return Object.fromEntries(
    fields.map((field) => [field, field in object ? mergePatch(old[field], object[field]) : null]),
  );
}

type Entries = Readonly<Record<string, string>>;

/** Returns the labels or annotations that were added or changed by users and agents. */
function said(object: Recorded, old: Entries, now: Entries, state: State): Fields {
  return Object.fromEntries(
    Object.entries(now).filter(([key, value]) => old[key] !== value && isUsers(object, key, value, now, state)),
  );
}

function isUsers(object: Recorded, key: string, value: string, all: Entries, { objects }: State): boolean {
  const { kind } = object;
  if (kind === 'MachineDeployment') return !BY_CONTROLLERS.test(key);
  if (kind === 'Machine' && key === PRIORITY && (value === '3' || MARKED in all)) return false;
  if (value === 'auto-preserved') return false;
  if (kind === 'Node' && key === SELECTED) return isSelectedByHand(objects);
  return BY_USERS[kind]?.test(key) ?? false;
}

/** Returns true if users select the nodes for in-place updates (orchestration `Manual`). */
const isSelectedByHand = (objects: State['objects']): boolean =>
  [...objects.values()].some(({ kind, spec }) => {
    const strategy = kind === 'MachineDeployment' && isFields(spec) ? spec.strategy : undefined;
    const inPlace = isFields(strategy) ? strategy.inPlaceUpdate : undefined;
    return isFields(inPlace) && inPlace.orchestrationType === 'Manual';
  });

/** Returns the labels and annotations that a user removed. */
function withdrawals(before: State, state: State): readonly Action[] {
  return [...state.objects].flatMap(([key, object]): readonly Action[] => {
    const old = before.objects.get(key);
    if (!old || old === object || old.metadata.uid !== object.metadata.uid) return [];
    const meta = (['labels', 'annotations'] as const).map((field) => {
      const was = old.metadata[field] ?? {};
      const lost = Object.keys(was).filter(
        (name) => !(name in (object.metadata[field] ?? {})) && isUsers(object, name, was[name] ?? '', was, state),
      );
      return [field, Object.fromEntries(lost.map((name) => [name, null]))] as const;
    });
    if (meta.every(([, entries]) => Object.keys(entries).length === 0)) return [];
    return [{ do: 'merge', ...targetOf(object), body: { metadata: Object.fromEntries(meta) } }];
  });
}

export const updateReasonOf = (node: KubeObject): string | undefined =>
  conditionsOf(node).find(({ type }) => type === 'InPlaceUpdate')?.reason;

/** Returns the new conditions that a kubelet has written, or undefined. */
function heartbeat(old: Recorded, node: Recorded): readonly Condition[] | undefined {
  const ofKubelet = (object: Recorded): readonly Condition[] =>
    conditionsOf(object).filter(({ type }) => !SAID_BY_CONTROLLERS.has(type));
  const brief = (object: Recorded) => ofKubelet(object).map(({ type, status, reason }) => [type, status, reason]);
  return same(brief(old), brief(node)) ? undefined : ofKubelet(node);
}
