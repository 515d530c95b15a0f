import { forbiddenValue, invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings, NOT_NEGATIVE } from '../../apimachinery/errors/findings.ts';
import { labelValueProblems, qualifiedNameProblems } from '../../apimachinery/errors/names.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { child, isPlain, items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { quantityNanos, roundAmounts } from '../../apimachinery/objects/quantity.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { cidrProblems } from '../base/addresses.ts';
import type { Strategy } from '../base/strategy.ts';
import { internalForm } from '../internal/form.ts';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const NANO = 1_000_000_000n;

/** The pod CIDR of a node is stored twice: as a single value, and as the first of a list. */
function followCidr(node: ApiObject): void {
  const { spec } = node;
  if (!isPlain(spec)) return;
  const [first] = strings(spec, 'podCIDRs');
  const one = text(spec, 'podCIDR');
  if (one !== '' && first !== one) spec.podCIDRs = [one];
  else if (one === '' && first !== undefined) spec.podCIDR = first;
}

function cidrCauses(spec: Plain): StatusCause[] {
  const findings = new Findings();
  const ranges = strings(spec, 'podCIDRs');
  for (const [index, range] of ranges.entries()) {
    findings.problems(`spec.podCIDRs[${index}]`, range, cidrProblems(range));
  }
  if (findings.causes.length > 0 || ranges.length < 2) return findings.causes;
  const six = ranges.map((range) => range.includes(':'));
  if (ranges.length > 2 || six[0] === six[1]) {
    findings.invalid('spec.podCIDRs', ranges, 'may specify no more than one CIDR for each IP family');
  }
  return findings.causes;
}

/** Without `allocatable` from the kubelet, the capacity is allocatable. */
function defaultAllocatable(node: ApiObject): void {
  const status = child(node, 'status');
  const { capacity } = status;
  roundAmounts(capacity);
  roundAmounts(status.allocatable);
  followCidr(node);
  if (isPlain(capacity) && status.allocatable === undefined) status.allocatable = { ...capacity };
}

/** Extended resources (`example.dev/gpu`) are integers. */
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
      if (quantityNanos(quantity) < 0n) causes.push(invalidValue(field, quantity, NOT_NEGATIVE));
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
    const path = `metadata.taints[${index}]`;
    const key = text(taint, 'key');
    const value = text(taint, 'value');
    const effect = text(taint, 'effect');
    const findings = new Findings();
    findings.qualifiedName(`${path}.key`, key);
    findings.problems(`${path}.value`, value, labelValueProblems(value));
    findings.oneOf(`${path}.effect`, effect, EFFECTS, true);
    const { causes } = findings;
    const id = `${key}:${effect}`;
    if (seen.has(id)) {
      causes.push({
        reason: 'FieldValueDuplicate',
        message: `Duplicate value: ${JSON.stringify(internalForm('Taint', taint))}: taints must be unique by key and effect pair`,
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
  if (before.podCIDR !== undefined && !jsonEquals(spec.podCIDR, before.podCIDR)) {
    causes.push(forbiddenValue('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  }
  if (text(before, 'providerID') !== '' && !jsonEquals(spec.providerID, before.providerID)) {
    causes.push(forbiddenValue('spec.providerID', 'node updates may not change providerID except from "" to valid'));
  }
  return causes;
}

/** Removes the field of dynamic kubelet configuration, which no longer exists. */
function dropConfig(node: ApiObject): void {
  delete look(node, 'spec').configSource;
  delete look(node, 'status').config;
}

export const nodeStrategy: Strategy = {
  setDefaults: defaultAllocatable,
  prepareForCreate: dropConfig,
  prepareForUpdate: dropConfig,
  validate: (node) => [
    ...taintCauses(look(node, 'spec')),
    ...quantityCauses(look(node, 'status')),
    ...cidrCauses(look(node, 'spec')),
  ],
  validateUpdate: (node, old) => [
    ...taintCauses(look(node, 'spec')),
    ...quantityCauses(look(node, 'status')),
    ...cidrCauses(look(node, 'spec')),
    // The real server validates the taints of an updated node twice.
    ...taintCauses(look(node, 'spec')),
    ...changeCauses(node, old),
  ],
};
