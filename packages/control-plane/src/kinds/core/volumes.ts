import { posix } from 'node:path';
import { forbiddenValue, invalidValue, unsupportedValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems, qualifiedNameProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { copyWithEmpties, given } from '../../apimachinery/objects/empties.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { copyJson, formatTime, jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { child, look, type Plain, preset, strings, text } from '../../apimachinery/objects/plain.ts';
import { quantityNanos, quantityValue, roundAmounts } from '../../apimachinery/objects/quantity.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { backstepProblems } from '../base/formats.ts';
import { strategy } from '../base/strategy.ts';
import { internalDiff } from '../internal/diff.ts';
import { defaultSources } from '../pod/defaults.ts';
import { accessModeFindings, claimLeniency, claimSpecFindings, VOLUME_MODES } from '../pod/rules/claim.ts';
import { nodeSelectorFindings } from '../pod/rules/scheduling.ts';
import { driverFindings, sourceFindings } from '../pod/rules/volume-sources.ts';
import { ONE_TYPE, SECOND_NAMES } from '../pod/rules/volumes.ts';
import { affinityChange } from './volume-affinity.ts';

const BASIC_AMOUNT = 'must be a valid resource quantity';

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

const SOURCES = [
  ...[
    'hostPath',
    'gcePersistentDisk',
    'awsElasticBlockStore',
    'glusterfs',
    'flocker',
    'nfs',
    'rbd',
    'quobyte',
    'cephfs',
  ],
  ...['iscsi', 'cinder', 'fc', 'flexVolume', 'azureFile', 'vsphereVolume', 'photonPersistentDisk', 'portworxVolume'],
  ...['azureDisk', 'scaleIO', 'local', 'storageos', 'csi'],
];

const RECLAIM = ['Delete', 'Recycle', 'Retain'];

function secretFindings(findings: Findings, ref: unknown, at: string): void {
  if (!isRecord(ref)) return;
  for (const field of ['name', 'namespace']) {
    const value = text(ref, field);
    if (value === '') findings.required(`${at}.${field}`);
    else findings.problems(`${at}.${field}`, value, (field === 'name' ? subdomainProblems : labelProblems)(value));
  }
}

const SECRET_REFS = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
];

function csiFindings(findings: Findings, source: Plain, at: string): void {
  driverFindings(findings, text(source, 'driver'), `${at}.driver`);
  if (text(source, 'volumeHandle') === '') findings.required(`${at}.volumeHandle`);
  for (const field of SECRET_REFS) secretFindings(findings, source[field], `${at}.${field}`);
}

function volumeCauses(volume: ApiObject): StatusCause[] {
  const findings = new Findings();
  volumeSpecFindings(findings, look(volume, 'spec'), 'spec', volume.metadata.name ?? '');
  return findings.causes;
}

const INLINE = 'in the context of inline volumes';

function capacityFindings(findings: Findings, spec: Plain, at: string): void {
  const capacity = look(spec, 'capacity');
  if (Object.keys(capacity).length === 0) findings.required(`${at}.capacity`);
  if (capacity.storage === undefined || Object.keys(capacity).length > 1) {
    findings.oneOf(`${at}.capacity`, given(spec, 'capacity'), ['storage']);
  }
  for (const [resource, quantity] of Object.entries(capacity)) {
    const nanos = quantityNanos(quantity);
    const field = `${at}.capacity[${resource}]`;
    if (quantityValue(quantity) < 0n) findings.invalid(field, quantityValue(quantity), BASIC_AMOUNT);
    if (nanos <= 0n) findings.invalid(field, quantity, 'must be greater than zero');
  }
}

/**
 * Validates the spec of a volume (`ValidatePersistentVolumeSpec`).
 * @param volumeName The name of the volume.
 */
export function volumeSpecFindings(findings: Findings, spec: Plain, at: string, volumeName: string | undefined): void {
  const inline = volumeName === undefined;
  if (inline) {
    if (spec.claimRef !== undefined) findings.forbidden(`${at}.claimRef`, `may not be specified ${INLINE}`);
    if (Object.keys(look(spec, 'capacity')).length > 0) {
      findings.forbidden(`${at}.capacity`, `may not be specified ${INLINE}`);
    }
    if (spec.csi === undefined) findings.required(`${at}.csi`, `has to be specified ${INLINE}`);
  }
  if (strings(spec, 'accessModes').length === 0) findings.required(`${at}.accessModes`);
  accessModeFindings(findings, spec, at);
  if (!inline) capacityFindings(findings, spec, at);
  const policy = text(spec, 'persistentVolumeReclaimPolicy');
  if (policy !== '' && !inline) findings.oneOf(`${at}.persistentVolumeReclaimPolicy`, policy, RECLAIM);
  if (policy !== '' && inline && policy !== 'Retain') {
    findings.forbidden(`${at}.persistentVolumeReclaimPolicy`, `may only be Retain ${INLINE}`);
  }
  const affinity = spec.nodeAffinity;
  if (isRecord(affinity)) {
    if (inline) findings.forbidden(`${at}.nodeAffinity`, `may not be specified ${INLINE}`);
    else if (affinity.required === undefined) {
      findings.required(`${at}.nodeAffinity.required`, 'must specify required node constraints');
    } else nodeSelectorFindings(findings, affinity.required, `${at}.nodeAffinity.required`);
  }
  sourceRules(findings, spec, at, volumeName ?? '');
  const storageClass = text(spec, 'storageClassName');
  if (storageClass !== '' && inline) findings.forbidden(`${at}.storageClassName`, `may not be specified ${INLINE}`);
  else if (storageClass !== '') {
    findings.problems(`${at}.storageClassName`, storageClass, subdomainProblems(storageClass));
  }
  if (spec.volumeMode !== undefined && !inline) findings.oneOf(`${at}.volumeMode`, spec.volumeMode, VOLUME_MODES);
  if (spec.volumeMode !== undefined && inline && spec.volumeMode !== 'Filesystem') {
    findings.forbidden(`${at}.volumeMode`, `may not specify volumeMode other than Filesystem ${INLINE}`);
  }
  if (spec.volumeAttributesClassName !== undefined && !inline) {
    const name = text(spec, 'volumeAttributesClassName');
    const field = `${at}.volumeAttributesClassName`;
    if (name === '') findings.required(field, 'an empty string is disallowed');
    else findings.problems(field, name, subdomainProblems(name));
    if (spec.csi === undefined) {
      findings.required(`${at}.csi`, 'has to be specified when using volumeAttributesClassName');
    }
  }
}

function oneSource(
  findings: Findings,
  spec: Plain,
  name: string,
  source: unknown,
  at: string,
  volumeName: string,
): void {
  if (name === 'csi' && isRecord(source)) csiFindings(findings, source, `${at}.csi`);
  else if (name === 'local' && isRecord(source)) {
    const path = text(source, 'path');
    if (path === '') findings.required(`${at}.local.path`);
    else findings.problems(`${at}.local.path`, path, backstepProblems(path));
    if (spec.nodeAffinity === undefined) findings.required(`${at}.nodeAffinity`, 'Local volume requires node affinity');
  } else sourceFindings(findings, name, source, at, { name: volumeName, of: 'persistentVolume' });
}

function sourceRules(findings: Findings, spec: Plain, at: string, volumeName: string): void {
  const sources = Object.entries(sourceOf(spec)).sort(([a], [b]) => SOURCES.indexOf(a) - SOURCES.indexOf(b));
  let count = 0;
  for (const [name, source] of sources) {
    const isSecond = count > 0;
    count++;
    if (isSecond && name !== 'flexVolume') findings.forbidden(`${at}.${SECOND_NAMES.get(name) ?? name}`, ONE_TYPE);
    else oneSource(findings, spec, name, source, at, volumeName);
  }
  if (count === 0) findings.required(at, 'must specify a volume type');
  if (
    posix.normalize(text(look(spec, 'hostPath'), 'path')) === '/' &&
    spec.persistentVolumeReclaimPolicy === 'Recycle'
  ) {
    findings.forbidden(`${at}.persistentVolumeReclaimPolicy`, "may not be 'recycle' for a hostPath mount of '/'");
  }
}

/**
 * Returns the new volume source for the comparison with the old source. An update may add `controllerExpandSecretRef`
 * to a CSI source once.
 */
function comparedSource(source: Plain, before: Plain): Plain {
  const [csi, old] = [source.csi, before.csi];
  if (!isRecord(csi) || !isRecord(old) || old.controllerExpandSecretRef !== undefined) return source;
  const { controllerExpandSecretRef: _, ...rest } = csi;
  return { ...source, csi: rest };
}

export const volumeStrategy = strategy({
  setDefaults(volume) {
    const spec = child(volume, 'spec');
    preset(spec, 'persistentVolumeReclaimPolicy', 'Retain');
    spec.volumeMode ??= 'Filesystem';
    roundAmounts(spec.capacity);
    defaultSources(spec);
    preset(child(volume, 'status'), 'phase', 'Pending');
  },
  prepareForCreate(volume, { now }) {
    volume.status = {
      phase: 'Pending',
      lastPhaseTransitionTime: formatTime(now),
    };
  },
  prepareForUpdate(volume, old, { subresource, now }) {
    if (subresource !== 'status') return;
    const status = child(volume, 'status');
    const before = look(old, 'status');
    const time = status.lastPhaseTransitionTime ?? before.lastPhaseTransitionTime;
    if (status.phase === before.phase) {
      if (time !== undefined) status.lastPhaseTransitionTime = time;
    } else if (time === before.lastPhaseTransitionTime) {
      status.lastPhaseTransitionTime = formatTime(now);
    }
  },
  causes: volumeCauses,
  change(volume, old) {
    const spec = look(volume, 'spec');
    const before = look(old, 'spec');
    // As in kube-apiserver, the server validates an updated volume twice.
    const causes = volumeCauses(volume);
    const [source, oldSource] = [comparedSource(sourceOf(spec), sourceOf(before)), sourceOf(before)];
    if (!jsonEquals(source, oldSource)) {
      causes.push(
        forbiddenValue(
          'spec.persistentvolumesource',
          `spec.persistentvolumesource is immutable after creation\n${internalDiff('PersistentVolumeSource', oldSource, source)}`,
        ),
      );
    }
    if (!jsonEquals(spec.volumeMode, before.volumeMode)) {
      causes.push(invalidValue('volumeMode', spec.volumeMode, 'field is immutable'));
    }
    causes.push(...affinityChange(spec.nodeAffinity, before.nodeAffinity));
    return causes;
  },
});

function claimCauses(claim: ApiObject, old?: ApiObject): StatusCause[] {
  const findings = new Findings();
  const leniency = old === undefined ? undefined : claimLeniency(look(old, 'spec'));
  claimSpecFindings(findings, look(claim, 'spec'), 'spec', leniency);
  return findings.causes;
}

/** Validates an update of a claim, as `ValidatePersistentVolumeClaimUpdate` in Kubernetes. */
function claimChange(claim: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(claim, 'spec');
  const before = copyJson(look(old, 'spec'));
  const bound = look(claim, 'status').phase === 'Bound';
  const frozen = copyWithEmpties(spec);
  // The volume binder may set the volume name of a claim once. A claim without a class may get a class later.
  if (text(before, 'volumeName') === '') carry(before, 'volumeName', frozen.volumeName);
  if (before.storageClassName === undefined && spec.storageClassName !== undefined) {
    delete frozen.storageClassName;
  }
  const [storage, storageBefore] = [storageOf(spec), storageOf(before)];
  if (bound) {
    const { requests } = look(frozen, 'resources');
    if (isRecord(requests)) carry(requests, 'storage', storageBefore);
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
  const keepsClass = jsonEquals(spec.volumeAttributesClassName, before.volumeAttributesClassName);
  return [...causes, ...(keepsClass ? [] : attributesClassCauses(spec, look(old, 'status')))];
}

const storageOf = (spec: Plain): unknown => look(spec, 'resources', 'requests').storage;

function carry(target: Plain, field: string, value: unknown): void {
  if (value === undefined) delete target[field];
  else target[field] = value;
}

/** Validates the attributes class of a claim. The current class may change, but must not be removed. */
function attributesClassCauses(spec: Plain, status: Plain): StatusCause[] {
  if (status.currentVolumeAttributesClassName === undefined) return [];
  const field = 'spec.volumeAttributesClassName';
  const why = 'is forbidden when status.currentVolumeAttributesClassName is not nil';
  if (spec.volumeAttributesClassName === undefined) return [forbiddenValue(field, `update to nil ${why}`)];
  return spec.volumeAttributesClassName === '' ? [forbiddenValue(field, `update to empty string ${why}`)] : [];
}

/** Removes a data source if the field `dataSource` does not support its kind. */
function dropSource(spec: Plain): void {
  const { dataSource, dataSourceRef } = spec;
  if (!isRecord(dataSource) || dataSourceRef !== undefined) return;
  const group = text(dataSource, 'apiGroup');
  const isKnown =
    (dataSource.kind === 'PersistentVolumeClaim' && group === '') ||
    (dataSource.kind === 'VolumeSnapshot' && group === 'snapshot.storage.k8s.io');
  if (!isKnown) delete spec.dataSource;
}

/** Removes a data source in another namespace, because the feature gate for such data sources is disabled. */
function dropForeignSource(spec: Plain): void {
  if (text(spec.dataSourceRef, 'namespace') !== '') delete spec.dataSourceRef;
}

function mirrorSource(spec: Plain): void {
  const { dataSource, dataSourceRef } = spec;
  if (isRecord(dataSource) && dataSourceRef === undefined) spec.dataSourceRef = { ...dataSource };
  else if (isRecord(dataSourceRef) && dataSource === undefined && text(dataSourceRef, 'namespace') === '') {
    spec.dataSource = { ...dataSourceRef };
  }
}

const RESIZES = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizePending',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
].sort();

/** Validates a resource name in the status of a claim: `storage`, or a resource of a driver. */
function resizableFindings(findings: Findings, name: string, at: string): boolean {
  const problems = qualifiedNameProblems(name);
  findings.problems(at, name, problems);
  if (problems.length > 0) return false;
  if ((name.includes('/') && !name.includes('kubernetes.io/')) || name === 'storage') return true;
  findings.oneOf(at, name, ['storage']);
  return false;
}

function claimStatusCauses(claim: ApiObject): StatusCause[] {
  const findings = new Findings();
  const status = look(claim, 'status');
  const quantity = (at: string, amount: unknown): boolean => {
    if (quantityValue(amount) >= 0n) return true;
    findings.invalid(at, quantityValue(amount), BASIC_AMOUNT);
    return false;
  };
  for (const [name, amount] of Object.entries(look(status, 'capacity'))) quantity(`status.capacity[${name}]`, amount);
  for (const [name, state] of Object.entries(look(status, 'allocatedResourceStatuses'))) {
    const at = 'status.allocatedResourceStatuses';
    resizableFindings(findings, name, at);
    if (!RESIZES.includes(String(state))) findings.add([unsupportedValue(at, name, RESIZES)]);
  }
  for (const [name, amount] of Object.entries(look(status, 'allocatedResources'))) {
    if (!resizableFindings(findings, name, 'status.allocatedResources')) continue;
    quantity(`status.allocatedResources[${name}]`, amount);
  }
  return findings.causes;
}

/** Sets the defaults of a claim. */
export function defaultClaim(claim: Plain | ApiObject): void {
  const spec = child(claim, 'spec');
  const status = child(claim, 'status');
  spec.volumeMode ??= 'Filesystem';
  for (const list of ['requests', 'limits']) roundAmounts(look(spec, 'resources')[list]);
  for (const list of ['capacity', 'allocatedResources']) roundAmounts(status[list]);
  preset(status, 'phase', 'Pending');
}

export const claimStrategy = strategy({
  setDefaults: defaultClaim,
  prepareForCreate(claim) {
    const spec = child(claim, 'spec');
    dropForeignSource(spec);
    dropSource(spec);
    mirrorSource(spec);
    claim.status = { phase: 'Pending' };
  },
  prepareForUpdate(claim, old, { subresource }) {
    if (subresource !== '') return;
    const spec = child(claim, 'spec');
    if (look(old, 'spec').dataSourceRef === undefined) dropForeignSource(spec);
    if (look(old, 'spec').dataSource === undefined) dropSource(spec);
    mirrorSource(spec);
  },
  causes: claimCauses,
  change: claimChange,
  statusCauses: claimStatusCauses,
});
