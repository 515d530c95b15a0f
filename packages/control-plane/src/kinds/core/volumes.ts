import type { ApiObject } from '../../object.ts';
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../../registry/errors.ts';
import { jsonEquals } from '../../registry/object-text.ts';
import type { StatusCause } from '../../status.ts';
import { child, look, type Plain, preset, strings } from '../plain.ts';
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
          `spec.persistentvolumesource is immutable after creation\n${JSON.stringify(sourceOf(spec))}`,
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

/** What of a claim stays as it is: all but requests and attributes class, and those too until it is bound. */
function claimChange(claim: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(claim, 'spec');
  const before = look(old, 'spec');
  const bound = look(old, 'status').phase === 'Bound';
  const frozen = (from: Plain): Plain => {
    const { resources, volumeAttributesClassName, volumeName, ...rest } = from;
    const free = bound ? {} : { resources, volumeAttributesClassName };
    // The binder names the volume once.
    return { ...rest, ...free, volumeName: before.volumeName === undefined ? undefined : volumeName };
  };
  if (jsonEquals(frozen(spec), frozen(before))) return [];
  return [
    forbiddenValue(
      'spec',
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${JSON.stringify(spec)}`,
    ),
  ];
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
