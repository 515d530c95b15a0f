import { invalidValue, requiredValue, unsupportedValue } from '../../registry/errors.ts';
import { subdomainProblems } from '../../registry/names.ts';
import { jsonEquals } from '../../registry/object-text.ts';
import type { StatusCause } from '../../status.ts';
import { child, items, look, type Plain, preset, text } from '../plain.ts';
import { strategy } from '../workloads/apps.ts';

const unchanged = (object: Plain, old: Plain, fields: readonly string[]): StatusCause[] =>
  fields
    .filter((field) => !jsonEquals(object[field], old[field]))
    .map((field) => invalidValue(field, object[field] ?? null, 'field is immutable'));

const RECLAIM = ['Delete', 'Retain'];
const BINDING = ['Immediate', 'WaitForFirstConsumer'];

export const storageClassStrategy = strategy({
  setDefaults(object) {
    preset(object, 'reclaimPolicy', 'Delete');
    preset(object, 'volumeBindingMode', 'Immediate');
  },
  causes(object) {
    const causes: StatusCause[] = [];
    if (text(object, 'provisioner') === '') causes.push(requiredValue('provisioner'));
    const reclaim = text(object, 'reclaimPolicy');
    if (!RECLAIM.includes(reclaim)) causes.push(unsupportedValue('reclaimPolicy', reclaim, RECLAIM));
    const binding = text(object, 'volumeBindingMode');
    if (!BINDING.includes(binding)) causes.push(unsupportedValue('volumeBindingMode', binding, BINDING));
    return causes;
  },
  change: (object, old) => unchanged(object, old, ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode']),
});

/** The Go structure of an attachment's spec, as the refusal shows it. */
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

export const volumeAttachmentStrategy = strategy({
  prepareForCreate(object) {
    object.status = { attached: false };
  },
  causes(object) {
    const spec = look(object, 'spec');
    const source = look(spec, 'source');
    const causes: StatusCause[] = [];
    if (text(spec, 'attacher') === '') causes.push(requiredValue('spec.attacher'));
    const inline = source.inlineVolumeSpec !== undefined;
    const named = source.persistentVolumeName !== undefined;
    if (inline === named) {
      causes.push(
        requiredValue('spec.source', 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'),
      );
    }
    const node = text(spec, 'nodeName');
    for (const problem of subdomainProblems(node)) causes.push(invalidValue('spec.nodeName', node, problem));
    return causes;
  },
  change: (object, old) =>
    jsonEquals(object.spec, old.spec)
      ? []
      : [invalidValue('spec', shownAttachment(look(object, 'spec')), 'field is immutable')],
});

const shownDriver = (driver: Plain): Plain => ({
  Name: text(driver, 'name'),
  NodeID: text(driver, 'nodeID'),
  TopologyKeys: driver.topologyKeys ?? null,
  Allocatable: driver.allocatable ?? null,
});

export const csiNodeStrategy = strategy({
  causes(object) {
    return items(look(object, 'spec'), 'drivers').flatMap((driver, index) => {
      const at = `spec.drivers[${index}]`;
      return ['name', 'nodeID']
        .filter((field) => text(driver, field) === '')
        .map((field) => requiredValue(`${at}.${field}`));
    });
  },
  change(object, old) {
    const before = new Map(items(look(old, 'spec'), 'drivers').map((driver) => [text(driver, 'name'), driver]));
    return items(look(object, 'spec'), 'drivers').flatMap((driver) => {
      const known = before.get(text(driver, 'name'));
      if (known === undefined || jsonEquals(known, driver)) return [];
      return [invalidValue('spec.drivers', shownDriver(driver), 'field is immutable')];
    });
  },
});

export const csiDriverStrategy = strategy({
  setDefaults(object) {
    const spec = child(object, 'spec');
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    preset(spec, 'fsGroupPolicy', 'ReadWriteOnceWithFSType');
    if (!Array.isArray(spec.volumeLifecycleModes)) spec.volumeLifecycleModes = ['Persistent'];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  change(object, old) {
    const spec = look(object, 'spec');
    const before = look(old, 'spec');
    return ['attachRequired', 'fsGroupPolicy', 'volumeLifecycleModes']
      .filter((field) => !jsonEquals(spec[field], before[field]))
      .map((field) => invalidValue(`spec.${field}`, spec[field] ?? null, 'field is immutable'));
  },
});

const SYSTEM_PREFIX = 'system-';
const HIGHEST_USER_PRIORITY = 1_000_000_000;
export const SYSTEM_PRIORITIES: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

export const priorityClassStrategy = strategy({
  setDefaults: (object) => preset(object, 'preemptionPolicy', 'PreemptLowerPriority'),
  causes(object) {
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
    return causes;
  },
  change(object, old) {
    const causes: StatusCause[] = [];
    const why = 'may not be changed in an update.';
    if (object.value !== old.value) {
      causes.push({ reason: 'FieldValueForbidden', message: `Forbidden: ${why}`, field: 'Value' });
    }
    if (object.preemptionPolicy !== old.preemptionPolicy) {
      causes.push(invalidValue('preemptionPolicy', object.preemptionPolicy, 'field is immutable'));
    }
    return causes;
  },
});
