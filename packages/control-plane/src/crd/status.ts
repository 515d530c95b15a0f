import { equalJson } from '../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { type Fields, record, records, text, texts } from './schema/fields.ts';

type CrdCondition = {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  lastTransitionTime: string;
  reason: string;
  message: string;
};

export interface CrdStatus {
  conditions: Fields[] | null;
  acceptedNames: Fields;
  storedVersions: string[];
  [field: string]: unknown;
}

const acceptedNamesOf = (crd: ApiObject): Fields => record(record(crd.status).acceptedNames);

interface Taken {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

function taken(crd: ApiObject, others: readonly ApiObject[]): Taken {
  const group = record(crd.spec).group;
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const other of others) {
    if (other.metadata.name === crd.metadata.name || record(other.spec).group !== group) continue;
    const names = acceptedNamesOf(other);
    for (const name of [text(names.plural), text(names.singular), ...texts(names.shortNames)]) {
      if (name !== '') resources.add(name);
    }
    for (const name of [text(names.kind), text(names.listKind)]) if (name !== '') kinds.add(name);
  }
  return { resources, kinds };
}

interface NameVerdict {
  readonly accepted: Fields;
  readonly reason: string;
  readonly message: string;
}

/** Assesses the names of a CRD. */
function assessNames(crd: ApiObject, others: readonly ApiObject[]): NameVerdict {
  const names = record(record(crd.spec).names);
  const inUse = taken(crd, others);
  const accepted: Fields = { ...acceptedNamesOf(crd) };
  let reason = '';
  let message = '';
  const grant = (field: string, set: ReadonlySet<string>, conflict: string): void => {
    const name = text(names[field]);
    if (name !== '' && set.has(name)) {
      reason = conflict;
      message = `"${name}" is already in use`;
    } else if (name === '') delete accepted[field];
    else accepted[field] = name;
  };
  grant('plural', inUse.resources, 'PluralConflict');
  grant('singular', inUse.resources, 'SingularConflict');
  const shortNames = texts(names.shortNames);
  const clash = shortNames.filter((name) => inUse.resources.has(name));
  if (clash.length > 0) {
    reason = 'ShortNamesConflict';
    message = clash.map((name) => `"${name}" is already in use`).join(', ');
  } else if (shortNames.length > 0) accepted.shortNames = shortNames;
  else delete accepted.shortNames;
  grant('kind', inUse.kinds, 'KindConflict');
  grant('listKind', inUse.kinds, 'ListKindConflict');
  const categories = texts(names.categories);
  if (categories.length > 0) accepted.categories = categories;
  else delete accepted.categories;
  return { accepted: ordered(accepted), reason, message };
}

const ordered = (names: Fields): Fields => {
  const result: Fields = { plural: names.plural ?? '' };
  if (names.singular !== undefined) result.singular = names.singular;
  if (names.shortNames !== undefined) result.shortNames = names.shortNames;
  result.kind = names.kind ?? '';
  if (names.listKind !== undefined) result.listKind = names.listKind;
  if (names.categories !== undefined) result.categories = names.categories;
  return result;
};

/** Sets a condition of a CRD. */
function put(conditions: Fields[], next: CrdCondition): void {
  const at = conditions.findIndex((condition) => condition.type === next.type);
  const old = conditions[at];
  if (old === undefined) conditions.push(next);
  else conditions[at] = old.status === next.status ? { ...next, lastTransitionTime: old.lastTransitionTime } : next;
}

const timeOf = (now: Date): string => now.toISOString().replace(/\.\d+Z$/, 'Z');

const isTrue = (crd: ApiObject, wanted: string): boolean =>
  records(record(crd.status).conditions).some(({ type, status }) => type === wanted && status === 'True');

export const isEstablished = (crd: ApiObject): boolean => isTrue(crd, 'Established');

export const isTerminating = (crd: ApiObject): boolean => isTrue(crd, 'Terminating');

const TERMINATION = {
  InstanceDeletionPending: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  InstanceDeletionInProgress: 'CustomResource deletion is in progress',
  InstanceDeletionCompleted: 'removed all instances',
  NeverEstablished: 'resource was never established',
} as const;

export function terminatingStatus(crd: ApiObject, reason: keyof typeof TERMINATION, now: Date): CrdStatus {
  const old = record(crd.status) as CrdStatus;
  const conditions = records(old.conditions).map((condition) => ({ ...condition }));
  const isOver = reason === 'InstanceDeletionCompleted' || reason === 'NeverEstablished';
  put(conditions, {
    type: 'Terminating',
    status: isOver ? 'False' : 'True',
    lastTransitionTime: timeOf(now),
    reason,
    message: TERMINATION[reason],
  });
  return { ...old, conditions };
}

function storedVersions(crd: ApiObject): string[] {
  const stored = texts(record(crd.status).storedVersions);
  const storage = records(record(crd.spec).versions).find((version) => version.storage === true);
  const name = text(storage?.name);
  return storage === undefined || stored.includes(name) ? stored : [...stored, name];
}

/** Returns the status of a new CRD: the storage version, but no accepted names. */
export function initialCrdStatus(crd: ApiObject): CrdStatus {
  return { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: storedVersions(crd) };
}

/**
 * Computes the status of a CRD like the naming and establishing controllers of Kubernetes.
 * @param others all CRDs of the server
 */
export function crdStatus(crd: ApiObject, others: readonly ApiObject[], now: Date): CrdStatus {
  const old = record(crd.status);
  const { accepted, reason, message } = assessNames(crd, others);
  const conditions = records(old.conditions).map((condition) => ({ ...condition }));
  const time = timeOf(now);
  const ok = reason === '';
  const established = conditions.some((condition) => condition.type === 'Established' && condition.status === 'True');
  put(conditions, {
    type: 'NamesAccepted',
    status: ok ? 'True' : 'False',
    lastTransitionTime: time,
    reason: ok ? 'NoConflicts' : reason,
    message: ok ? 'no conflicts found' : message,
  });
  if (!established) {
    put(conditions, {
      type: 'Established',
      status: ok ? 'True' : 'False',
      lastTransitionTime: time,
      reason: ok ? 'InitialNamesAccepted' : 'NotAccepted',
      message: ok ? 'the initial names have been accepted' : 'not all names are accepted',
    });
  }
  const status: CrdStatus = { ...old, conditions, acceptedNames: accepted, storedVersions: storedVersions(crd) };
  return equalJson(status, old) ? (old as CrdStatus) : status;
}
