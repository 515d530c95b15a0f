import type { ApiObject } from '../../object.ts';
import { forbiddenValue, invalidValue, requiredValue } from '../../registry/errors.ts';
import { qualifiedNameProblems } from '../../registry/names.ts';
import { jsonEquals } from '../../registry/object-text.ts';
import type { StatusCause } from '../../status.ts';
import { child, isPlain, items, look, type Plain, text } from '../plain.ts';
import { tolerationCauses } from '../pod/validate.ts';
import { quantityNanos } from '../quantity.ts';
import type { Strategy } from '../workloads/apps.ts';

const NANO = 1_000_000_000n;

/** What a node has, where its kubelet does not say what of it may be used. */
function defaultAllocatable(node: ApiObject): void {
  const status = child(node, 'status');
  const { capacity } = status;
  if (isPlain(capacity) && status.allocatable === undefined) status.allocatable = { ...capacity };
}

/** Extended resources (`example.dev/gpu`) are counted in whole pieces. */
const isExtended = (resource: string): boolean =>
  resource.includes('/') && !resource.startsWith('kubernetes.io/') && !resource.startsWith('requests.');

function quantityCauses(status: Plain): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const list of ['capacity', 'allocatable']) {
    for (const [resource, quantity] of Object.entries(look(status, list))) {
      const field = `status.${list}.${resource}`;
      for (const problem of resource === '' ? [] : qualifiedNameProblems(resource)) {
        causes.push(invalidValue(field, resource, problem));
      }
      if (isExtended(resource) && quantityNanos(quantity) % NANO !== 0n) {
        causes.push(invalidValue(field, quantity, 'must be an integer'));
      }
    }
  }
  return causes;
}

function taintCauses(spec: Plain): StatusCause[] {
  const seen = new Set<string>();
  return items(spec, 'taints').flatMap((taint, index) => {
    const path = `spec.taints[${index}]`;
    const key = text(taint, 'key');
    const effect = text(taint, 'effect');
    const causes: StatusCause[] = [];
    if (key === '') causes.push(requiredValue(`${path}.key`, 'name part must be non-empty'));
    else for (const problem of qualifiedNameProblems(key)) causes.push(invalidValue(`${path}.key`, key, problem));
    if (effect === '') causes.push(requiredValue(`${path}.effect`));
    else
      causes.push(
        ...tolerationCauses([{ key, operator: 'Exists', effect }], path).filter(
          ({ field }) => field === `${path}.effect`,
        ),
      );
    const id = `${key}:${effect}`;
    if (seen.has(id)) {
      causes.push({
        reason: 'FieldValueDuplicate',
        message: `Duplicate value: ${JSON.stringify({ key, value: text(taint, 'value'), effect })}: taints must be unique by key and effect pair`,
        field: path,
      });
    }
    seen.add(id);
    return causes;
  });
}

function changeCauses(node: ApiObject, old: ApiObject): StatusCause[] {
  const causes: StatusCause[] = [];
  const spec = look(node, 'spec');
  const before = look(old, 'spec');
  if (text(before, 'providerID') !== '' && !jsonEquals(spec.providerID, before.providerID)) {
    causes.push(forbiddenValue('spec.providerID', 'node updates may not change providerID except from "" to valid'));
  }
  if (before.podCIDR !== undefined && !jsonEquals(spec.podCIDR, before.podCIDR)) {
    causes.push(forbiddenValue('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  }
  return causes;
}

/** Dynamic kubelet configuration is gone: what is sent of it is dropped. */
function dropConfig(node: ApiObject): void {
  const spec = node.spec;
  if (isPlain(spec)) delete spec.configSource;
}

export const nodeStrategy: Strategy = {
  setDefaults: defaultAllocatable,
  prepareForCreate: dropConfig,
  prepareForUpdate: dropConfig,
  validate: (node) => [...taintCauses(look(node, 'spec')), ...quantityCauses(look(node, 'status'))],
  validateUpdate: (node, old) => [
    ...taintCauses(look(node, 'spec')),
    ...quantityCauses(look(node, 'status')),
    ...changeCauses(node, old),
  ],
};
