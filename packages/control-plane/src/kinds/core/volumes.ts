import type { ApiObject } from '../../object.ts';
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../../registry/errors.ts';
import { copyJson, jsonEquals } from '../../registry/object-text.ts';
import type { StatusCause } from '../../status.ts';
import { internalDiff } from '../internal/diff.ts';
import { child, isPlain, look, type Plain, preset, strings, text } from '../plain.ts';
import { quantityNanos } from '../quantity.ts';
import { strategy } from '../workloads/apps.ts';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const NANO = 1_000_000_000n;

/** Fields of a volume's spec that are no source. */
const PLAIN_FIELDS = new Set([
  'capacity',
  'accessModes',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
  'volumeAttributesClassName',
]);

const sourceOf = (spec: Plain): Plain =>
  Object.fromEntries(Object.entries(spec).filter(([field]) => !PLAIN_FIELDS.has(field)));

const modeCauses = (spec: Plain): StatusCause[] =>
  strings(spec, 'accessModes')
    .filter((mode) => !ACCESS_MODES.includes(mode))
    .map((mode) => unsupportedValue('spec.accessModes', mode, ACCESS_MODES));

function volumeCauses(volume: ApiObject): StatusCause[] {
  const spec = look(volume, 'spec');
  const causes: StatusCause[] = [];
  if (strings(spec, 'accessModes').length === 0) causes.push(requiredValue('spec.accessModes'));
  causes.push(...modeCauses(spec));
  const capacity = look(spec, 'capacity');
  if (Object.keys(capacity).length === 0) causes.push(requiredValue('spec.capacity'));
  if (capacity.storage === undefined || Object.keys(capacity).length > 1) {
    causes.push(unsupportedValue('spec.capacity', spec.capacity ?? null, ['storage']));
  }
  for (const [resource, quantity] of Object.entries(capacity)) {
    const nanos = quantityNanos(quantity);
    const field = `spec.capacity[${resource}]`;
    if (nanos < 0n) causes.push(invalidValue(field, Number(nanos / NANO), 'must be a valid resource quantity'));
    if (nanos <= 0n) causes.push(invalidValue(field, quantity, 'must be greater than zero'));
  }
  const sources = Object.keys(sourceOf(spec));
  if (sources.length === 0) causes.push(requiredValue('spec', 'must specify a volume type'));
  for (const extra of sources.slice(1)) {
    causes.push(forbiddenValue(`spec.${extra}`, 'may not specify more than 1 volume type'));
  }
  return causes;
}

export const volumeStrategy = strategy({
  setDefaults(volume) {
    const spec = child(volume, 'spec');
    preset(spec, 'persistentVolumeReclaimPolicy', 'Retain');
    preset(spec, 'volumeMode', 'Filesystem');
    const hostPath = spec.hostPath as Plain | undefined;
    if (hostPath !== undefined) hostPath.type ??= '';
    preset(child(volume, 'status'), 'phase', 'Pending');
  },
  prepareForCreate(volume, { now }) {
    volume.status = {
      phase: 'Pending',
      lastPhaseTransitionTime: `${now.toISOString().slice(0, 19)}Z`,
    };
  },
  prepareForUpdate(volume, old, { subresource, now }) {
    if (subresource !== 'status') return;
    const status = child(volume, 'status');
    if (status.phase === look(old, 'status').phase) return;
    status.lastPhaseTransitionTime = `${now.toISOString().slice(0, 19)}Z`;
  },
  causes: volumeCauses,
  change(volume, old) {
    const spec = look(volume, 'spec');
    const before = look(old, 'spec');
    const causes: StatusCause[] = [];
    if (!jsonEquals(sourceOf(spec), sourceOf(before))) {
      causes.push(
        forbiddenValue(
          'spec.persistentvolumesource',
          `spec.persistentvolumesource is immutable after creation\n${internalDiff('PersistentVolumeSource', sourceOf(before), sourceOf(spec))}`,
        ),
      );
    }
    if (!jsonEquals(spec.volumeMode, before.volumeMode)) {
      causes.push(invalidValue('volumeMode', spec.volumeMode, 'field is immutable'));
    }
    return causes;
  },
});

function claimCauses(claim: ApiObject): StatusCause[] {
  const spec = look(claim, 'spec');
  const causes: StatusCause[] = [];
  if (strings(spec, 'accessModes').length === 0) {
    causes.push(requiredValue('spec.accessModes', 'at least 1 access mode is required'));
  }
  causes.push(...modeCauses(spec));
  const storage = look(spec, 'resources', 'requests').storage;
  if (storage === undefined) causes.push(requiredValue('spec.resources[storage]'));
  else if (quantityNanos(storage) <= 0n) {
    causes.push(invalidValue('spec.resources[storage]', storage, 'must be greater than zero'));
  }
  return causes;
}

/** What of a claim may not change (`ValidatePersistentVolumeClaimUpdate`). */
function claimChange(claim: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(claim, 'spec');
  const before = copyJson(look(old, 'spec'));
  const bound = look(claim, 'status').phase === 'Bound';
  const frozen = copyJson(spec);
  // The binder names the volume once, and a class may be given to a claim that has none.
  if (text(before, 'volumeName') === '') carry(before, 'volumeName', frozen.volumeName);
  if (before.storageClassName === undefined && spec.storageClassName !== undefined) {
    delete frozen.storageClassName;
  }
  const [storage, storageBefore] = [storageOf(spec), storageOf(before)];
  if (bound) {
    const { requests } = look(frozen, 'resources');
    if (isPlain(requests)) carry(requests, 'storage', storageBefore);
    carry(frozen, 'volumeAttributesClassName', before.volumeAttributesClassName);
  }
  const causes: StatusCause[] = [];
  if (!jsonEquals(frozen, before)) {
    const why =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
    const diff = internalDiff('PersistentVolumeClaimSpec', before, frozen);
    causes.push(forbiddenValue('spec', `${why}\n${diff}`));
  }
  if (quantityNanos(storage) < quantityNanos(storageBefore)) {
    const capacity = look(old, 'status', 'capacity').storage;
    if (quantityNanos(storage) <= quantityNanos(capacity)) {
      causes.push(forbiddenValue('spec.resources.requests.storage', 'field can not be less than status.capacity'));
    }
  }
  if (!jsonEquals(spec.volumeMode, before.volumeMode)) {
    causes.push(invalidValue('volumeMode', spec.volumeMode, 'field is immutable'));
  }
  return [...causes, ...attributesClassCauses(spec, look(old, 'status'))];
}

const storageOf = (spec: Plain): unknown => look(spec, 'resources', 'requests').storage;

/** Sets a field, or takes it away. */
function carry(target: Plain, field: string, value: unknown): void {
  if (value === undefined) delete target[field];
  else target[field] = value;
}

/** A class of attributes that is in effect may be changed and not taken away. */
function attributesClassCauses(spec: Plain, status: Plain): StatusCause[] {
  if (status.currentVolumeAttributesClassName === undefined) return [];
  const field = 'spec.volumeAttributesClassName';
  const why = 'is forbidden when status.currentVolumeAttributesClassName is not nil';
  if (spec.volumeAttributesClassName === undefined) return [forbiddenValue(field, `update to nil ${why}`)];
  return spec.volumeAttributesClassName === '' ? [forbiddenValue(field, `update to empty string ${why}`)] : [];
}

export const claimStrategy = strategy({
  setDefaults(claim) {
    preset(child(claim, 'spec'), 'volumeMode', 'Filesystem');
    preset(child(claim, 'status'), 'phase', 'Pending');
  },
  prepareForCreate(claim) {
    claim.status = { phase: 'Pending' };
  },
  causes: claimCauses,
  change: claimChange,
});
