import { invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings, NOT_NEGATIVE } from '../../apimachinery/errors/findings.ts';
import { subdomainProblems } from '../../apimachinery/errors/names.ts';
import { given } from '../../apimachinery/objects/empties.ts';
import { isNumber, isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { child, items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { quantityNanos, roundAmounts } from '../../apimachinery/objects/quantity.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { selectorCauses } from '../base/selector.ts';
import { type Strategy, strategy } from '../base/strategy.ts';
import { volumeSpecFindings } from '../core/volumes.ts';
import { defaultSources } from '../pod/defaults.ts';
import { driverFindings } from '../pod/rules/volume-sources.ts';

const unchanged = (object: Plain, old: Plain, fields: readonly string[]): StatusCause[] =>
  fields
    .filter((field) => !jsonEquals(object[field], old[field]))
    .map((field) => invalidValue(field, given(object, field), 'field is immutable'));

const RECLAIM = ['Delete', 'Retain'];
const BINDING = ['Immediate', 'WaitForFirstConsumer'];

function topologyFindings(findings: Findings, object: ApiObject): void {
  // As in kube-apiserver, each term causes an entry in the error, even an empty term.
  const terms = items(object, 'allowedTopologies').map(() => '[]');
  for (const [index, term] of items(object, 'allowedTopologies').entries()) {
    const at = `allowedTopologies[${index}].matchLabelExpressions`;
    const keys = new Set<string>();
    const expressions = items(term, 'matchLabelExpressions');
    for (const [position, expression] of expressions.entries()) {
      const here = `${at}[${position}]`;
      const values = strings(expression, 'values');
      if (values.length === 0) findings.required(`${here}.values`);
      for (const [at_, value] of values.entries()) {
        if (values.indexOf(value) < at_) findings.duplicate(`${here}.values[${at_}]`, value);
      }
      const key = text(expression, 'key');
      findings.qualifiedName(`${here}.key`, key);
      if (keys.has(key)) findings.duplicate(`${here}.key`, key);
      keys.add(key);
    }
    const shown = JSON.stringify(expressions.map(({ key, values }) => [key, values]).sort());
    for (const known of terms) if (known === shown) findings.duplicate(at, '');
    terms.push(shown);
  }
}

function classCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  const provisioner = text(object, 'provisioner').toLowerCase();
  if (provisioner === '') findings.required('provisioner');
  else findings.qualifiedName('provisioner', provisioner);
  for (const key of Object.keys(look(object, 'parameters'))) {
    if (key === '') findings.invalid('parameters', key, 'field can not be empty.');
  }
  const reclaim = text(object, 'reclaimPolicy');
  if (reclaim !== '') findings.oneOf('reclaimPolicy', reclaim, RECLAIM);
  findings.oneOf('volumeBindingMode', object.volumeBindingMode, BINDING);
  topologyFindings(findings, object);
  return findings.causes;
}

export const storageClassStrategy = strategy({
  setDefaults(object) {
    object.reclaimPolicy ??= 'Delete';
    object.volumeBindingMode ??= 'Immediate';
  },
  causes: classCauses,
  change: (object, old) => unchanged(object, old, ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode']),
});

/** Formats the spec of a VolumeAttachment for errors, like a Go structure. */
const shownAttachment = (spec: Plain): Plain => {
  const source = look(spec, 'source');
  return {
    Attacher: text(spec, 'attacher'),
    Source: {
      PersistentVolumeName: source.persistentVolumeName ?? null,
      InlineVolumeSpec: source.inlineVolumeSpec ?? null,
    },
    NodeName: text(spec, 'nodeName'),
  };
};

const LONGEST_ERROR = 1024;
const LARGEST_METADATA = 256 * 1024;

/** Validates the results of the attacher in the status of a VolumeAttachment (`validateVolumeAttachmentStatus`). */
function attachmentStatusFindings(findings: Findings, status: Plain): void {
  const size = Object.entries(look(status, 'attachmentMetadata')).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  if (size > LARGEST_METADATA) findings.tooLong('status.attachmentMetadata', LARGEST_METADATA);
  for (const name of ['attachError', 'detachError']) {
    const { message, errorCode } = look(status, name);
    if (typeof message === 'string' && Buffer.byteLength(message) > LONGEST_ERROR) {
      // As in kube-apiserver, the error about the length of the message quotes the limit for the metadata.
      findings.tooLong(`status.${name}.message`, LARGEST_METADATA);
    }
    if (typeof errorCode === 'number' && errorCode < 0) {
      findings.invalid(`status.${name}.errorCode`, errorCode, 'must be between 0 and 2147483647, inclusive');
    }
  }
}

function attachmentCauses(object: ApiObject): StatusCause[] {
  const spec = look(object, 'spec');
  const source = look(spec, 'source');
  const findings = new Findings();
  driverFindings(findings, text(spec, 'attacher'), 'spec.attacher');
  const { causes } = findings;
  const inline = source.inlineVolumeSpec !== undefined;
  const named = source.persistentVolumeName !== undefined;
  const one = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  const volume = text(source, 'persistentVolumeName');
  const field = 'spec.source.persistentVolumeName';
  if (!inline && !named) findings.required('spec.source', one);
  else if (inline && named) findings.forbidden('spec.source', one);
  else if (inline) {
    volumeSpecFindings(findings, look(source, 'inlineVolumeSpec'), 'spec.source.inlineVolumeSpec', undefined);
  } else if (volume === '') findings.required(field, 'must specify non empty persistentVolumeName');
  const node = text(spec, 'nodeName');
  for (const problem of subdomainProblems(node)) causes.push(invalidValue('spec.nodeName', node, problem));
  attachmentStatusFindings(findings, look(object, 'status'));
  if (named) findings.problems(field, volume, subdomainProblems(volume));
  return causes;
}

export const volumeAttachmentStrategy = strategy({
  setDefaults(object) {
    const spec = look(object, 'spec', 'source').inlineVolumeSpec;
    if (!isRecord(spec)) return;
    roundAmounts(spec.capacity);
    defaultSources(spec);
  },
  prepareForCreate(object) {
    object.status = { attached: false };
  },
  causes: attachmentCauses,
  statusCauses: attachmentCauses,
  change: (object, old) =>
    jsonEquals(object.spec, old.spec)
      ? []
      : [invalidValue('spec', shownAttachment(look(object, 'spec')), 'field is immutable')],
});

const LONGEST_ID = 256;

const shownDriver = (driver: Plain): Plain => ({
  Name: text(driver, 'name'),
  NodeID: text(driver, 'nodeID'),
  TopologyKeys: driver.topologyKeys ?? null,
  Allocatable: driver.allocatable ?? null,
});

const withoutCount = ({ allocatable: _allocatable, ...driver }: Plain): Plain => driver;

export const csiNodeStrategy = strategy({
  causes(object) {
    const findings = new Findings();
    const seen = new Set<string>();
    for (const [index, driver] of items(look(object, 'spec'), 'drivers').entries()) {
      const at = `spec.drivers[${index}]`;
      driverFindings(findings, text(driver, 'name'), `${at}.name`);
      const id = text(driver, 'nodeID');
      if (id === '') findings.required(`${at}.nodeID`);
      if (id.length > LONGEST_ID) {
        findings.invalid(`${at}.nodeID`, id, `must be ${LONGEST_ID} characters or less`);
      }
      findings.notNegative(`${at}.allocatable.count`, look(driver, 'allocatable').count);
      const keys = strings(driver, 'topologyKeys');
      for (const [position, key] of keys.entries()) {
        if (key === '') findings.required(at);
        if (keys.indexOf(key) < position) findings.duplicate(at, key);
        findings.qualifiedName(at, key);
      }
      const name = text(driver, 'name');
      if (seen.has(name)) findings.duplicate(`${at}.name`, name);
      seen.add(name);
    }
    return findings.causes;
  },
  change(object, old) {
    const before = new Map(items(look(old, 'spec'), 'drivers').map((driver) => [text(driver, 'name'), driver]));
    return items(look(object, 'spec'), 'drivers').flatMap((driver) => {
      const known = before.get(text(driver, 'name'));
      if (known === undefined || jsonEquals(withoutCount(known), withoutCount(driver))) return [];
      return [invalidValue('spec.drivers', shownDriver(withoutCount(driver)), 'field is immutable')];
    });
  },
});

export const capacityStrategy = strategy({
  causes(object) {
    const findings = new Findings();
    const name = text(object, 'storageClassName');
    if (object.nodeTopology !== undefined) findings.add(selectorCauses(object.nodeTopology, 'nodeTopology'));
    findings.problems('storageClassName', name, subdomainProblems(name));
    // kube-apiserver does not validate `maximumVolumeSize`.
    const { capacity } = object;
    if (capacity !== undefined && quantityNanos(capacity) < 0n) findings.invalid('capacity', capacity, NOT_NEGATIVE);
    return findings.causes;
  },
  change: (object, old) => unchanged(object, old, ['nodeTopology', 'storageClassName']),
});

export const csiDriverStrategy = strategy({
  setDefaults(object) {
    const spec = child(object, 'spec');
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    if (!Array.isArray(spec.volumeLifecycleModes)) spec.volumeLifecycleModes = ['Persistent'];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  // The feature gate of this field is disabled, so kube-apiserver drops the field.
  prepareForCreate: (object) => void delete child(object, 'spec').preventPodSchedulingIfMissing,
  prepareForUpdate(object, old) {
    delete child(object, 'spec').preventPodSchedulingIfMissing;
    // Each change of the spec increases the generation.
    if (!jsonEquals(object.spec, old.spec)) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  },
  causes(object) {
    const findings = new Findings();
    const spec = look(object, 'spec');
    for (const mode of strings(spec, 'volumeLifecycleModes')) {
      findings.oneOf('spec.volumeLifecycleModes', mode, ['Persistent', 'Ephemeral']);
    }
    findings.oneOf('spec.fsGroupPolicy', spec.fsGroupPolicy, ['File', 'None', 'ReadWriteOnceWithFSType']);
    const { nodeAllocatableUpdatePeriodSeconds: period } = spec;
    if (isNumber(period) && period < 10) {
      findings.invalid(
        'spec.nodeAllocatableUpdatePeriodSeconds',
        period,
        'must be greater than or equal to 10 seconds',
      );
    }
    if (spec.serviceAccountTokenInSecrets !== undefined && items(spec, 'tokenRequests').length === 0) {
      const why = 'serviceAccountTokenInSecrets is set but no tokenRequests are specified';
      findings.invalid('spec.serviceAccountTokenInSecrets', spec.serviceAccountTokenInSecrets, why);
    }
    const audiences = new Set<string>();
    for (const [index, request] of items(spec, 'tokenRequests').entries()) {
      const at = `spec.tokenRequests[${index}]`;
      const audience = text(request, 'audience');
      if (audiences.has(audience)) {
        findings.duplicate(`${at}.audience`, audience);
        continue;
      }
      audiences.add(audience);
      const { expirationSeconds: seconds } = request;
      if (!isNumber(seconds)) continue;
      if (seconds < 600) {
        findings.invalid(`${at}.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes');
      }
      if (seconds > 2 ** 32) {
        findings.invalid(`${at}.expirationSeconds`, seconds, 'may not specify a duration larger than 2^32 seconds');
      }
    }
    return findings.causes;
  },
  change(object, old) {
    const spec = look(object, 'spec');
    const before = look(old, 'spec');
    return [
      ['attachRequired', 'attachedRequired'],
      ['volumeLifecycleModes', 'volumeLifecycleModes'],
    ]
      .filter(([field = '']) => !jsonEquals(spec[field], before[field]))
      .map(([field = '', shown]) => invalidValue(`spec.${shown}`, given(spec, field), 'field is immutable'));
  },
});

const SYSTEM_PREFIX = 'system-';
const HIGHEST_USER_PRIORITY = 1_000_000_000;
export const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

export const priorityClassStrategy: Strategy = {
  // As in kube-apiserver, the generation of a PriorityClass is always 1.
  prepareForCreate(object) {
    object.metadata.generation = 1;
  },
  setDefaults(object) {
    object.preemptionPolicy ??= 'PreemptLowerPriority';
  },
  validate(object) {
    const name = object.metadata.name ?? '';
    const value = typeof object.value === 'number' ? object.value : 0;
    const system = SYSTEM_PRIORITIES[name];
    const causes: StatusCause[] = [];
    if (system === undefined && name.startsWith(SYSTEM_PREFIX)) {
      causes.push({
        reason: 'FieldValueForbidden',
        message: `Forbidden: priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: ${name} is not a known system priority class`,
        field: 'metadata.name',
      });
    }
    if (system === undefined && value > HIGHEST_USER_PRIORITY) {
      causes.push({
        reason: 'FieldValueForbidden',
        message: `Forbidden: maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`,
        field: 'value',
      });
    }
    const findings = new Findings();
    findings.oneOf('preemptionPolicy', object.preemptionPolicy, ['PreemptLowerPriority', 'Never'], true);
    return [...causes, ...findings.causes];
  },
  // An update does not validate the value of a PriorityClass again, because the value is immutable.
  validateUpdate(object, old) {
    const causes: StatusCause[] = [];
    const why = 'may not be changed in an update.';
    if (object.value !== old.value) {
      causes.push({ reason: 'FieldValueForbidden', message: `Forbidden: ${why}`, field: 'value' });
    }
    if (object.preemptionPolicy !== old.preemptionPolicy) {
      causes.push(invalidValue('preemptionPolicy', object.preemptionPolicy, 'field is immutable'));
    }
    return causes;
  },
};
