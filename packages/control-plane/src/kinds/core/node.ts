import { forbiddenValue, invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings, NOT_NEGATIVE } from '../../apimachinery/errors/findings.ts';
import { labelValueProblems, qualifiedNameProblems } from '../../apimachinery/errors/names.ts';
import { isNumber, isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { child, items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { quantityNanos, roundAmounts } from '../../apimachinery/objects/quantity.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { cidrProblems } from '../base/addresses.ts';
import type { Strategy } from '../base/strategy.ts';
import { internalForm } from '../internal/form.ts';
import { isInteger, isWhole } from '../pod/rules/resources.ts';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const LONGEST_FEATURE = 253;
const FEATURE = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;
const FEATURE_RULE = [
  'must start with an UpperCamelCase segment',
  "with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature)",
  'and contain only alphanumeric characters and slashes',
].join(', ');

function followCidr(node: ApiObject): void {
  const { spec } = node;
  if (!isRecord(spec)) return;
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

/** If the kubelet reports no `allocatable`, the whole capacity of the node is allocatable. */
function defaultAllocatable(node: ApiObject): void {
  const status = child(node, 'status');
  const { capacity } = status;
  roundAmounts(capacity);
  roundAmounts(status.allocatable);
  followCidr(node);
  if (isRecord(capacity) && status.allocatable === undefined) status.allocatable = { ...capacity };
}

function quantityCauses(status: Plain): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const list of ['capacity', 'allocatable']) {
    for (const [resource, quantity] of Object.entries(look(status, list))) {
      const field = `status.${list}.${resource}`;
      for (const problem of resource === '' ? [] : qualifiedNameProblems(resource)) {
        causes.push(invalidValue(field, resource, problem));
      }
      if (quantityNanos(quantity) < 0n) causes.push(invalidValue(field, quantity, NOT_NEGATIVE));
      if (isWhole(resource) && !isInteger(quantity)) {
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

/** Validates the declared features of a node: valid names in sorted order. */
function featureCauses(status: Plain): StatusCause[] {
  const findings = new Findings();
  const features = strings(status, 'declaredFeatures');
  const field = 'status.declaredFeatures';
  for (const [index, feature] of features.entries()) {
    const name = JSON.stringify(feature);
    if (feature.length > LONGEST_FEATURE) {
      const why = `invalid feature name ${name}: must be no more than ${LONGEST_FEATURE} characters`;
      findings.invalid(`${field}[${index}]`, feature, why);
    } else if (!FEATURE.test(feature)) {
      findings.invalid(`${field}[${index}]`, feature, `invalid feature name ${name}: ${FEATURE_RULE}`);
    }
    const next = features[index + 1];
    if (next === feature) findings.duplicate(`${field}[${index + 1}]`, next);
    else if (next !== undefined && Buffer.compare(Buffer.from(feature), Buffer.from(next)) > 0) {
      findings.invalid(`${field}[${index + 1}]`, next, 'list must be sorted alphabetically');
    }
  }
  return findings.causes;
}

function swapCauses(status: Plain): StatusCause[] {
  const { capacity } = look(status, 'nodeInfo', 'swap');
  const isWrong = isNumber(capacity) && capacity <= 0;
  return isWrong ? [invalidValue('metadata.nodeSwapStatus.capacity', capacity, 'must be greater than zero')] : [];
}

function addressCauses(status: Plain): StatusCause[] {
  const findings = new Findings();
  const seen = new Set<string>();
  for (const [index, address] of items(status, 'addresses').entries()) {
    const [type, value] = [text(address, 'type'), text(address, 'address')];
    const id = JSON.stringify([type, value]);
    if (seen.has(id)) findings.duplicate(`status.addresses[${index}]`, { Type: type, Address: value });
    seen.add(id);
  }
  return findings.causes;
}

/** Validates an update of a node or of its status (`ValidateNodeUpdate`). */
function changeCauses(node: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(node, 'spec');
  const before = look(old, 'spec');
  const status = look(node, 'status');
  const causes: StatusCause[] = [...quantityCauses(status), ...featureCauses(status), ...addressCauses(status)];
  const [ranges, known] = [strings(spec, 'podCIDRs'), strings(before, 'podCIDRs')];
  const why = 'node updates may not change podCIDR except from "" to valid';
  const changed = known.length === ranges.length ? known.filter((range, index) => range !== ranges[index]).length : 1;
  for (let each = 0; known.length > 0 && each < changed; each += 1) causes.push(forbiddenValue('spec.podCIDRs', why));
  if (text(before, 'providerID') !== '' && !jsonEquals(spec.providerID, before.providerID)) {
    causes.push(forbiddenValue('spec.providerID', 'node updates may not change providerID except from "" to valid'));
  }
  causes.push(...taintCauses(spec));
  if (text(spec, 'externalID') !== text(before, 'externalID')) {
    causes.push(forbiddenValue('spec.externalID', 'may not be updated'));
  }
  return causes;
}

/** Removes the dynamic kubelet configuration from a node, because Kubernetes no longer supports it. */
function dropConfig(node: ApiObject): void {
  delete look(node, 'spec').configSource;
  delete look(node, 'status').config;
}

const nodeCauses = (node: ApiObject): StatusCause[] => {
  const status = look(node, 'status');
  return [
    ...taintCauses(look(node, 'spec')),
    ...quantityCauses(status),
    ...swapCauses(status),
    ...featureCauses(status),
    ...cidrCauses(look(node, 'spec')),
  ];
};

export const nodeStrategy: Strategy = {
  setDefaults: defaultAllocatable,
  prepareForCreate: dropConfig,
  prepareForUpdate: dropConfig,
  validate: nodeCauses,
  validateUpdate: (node, old, { subresource }) => [
    ...(subresource === 'status' ? [] : nodeCauses(node)),
    ...changeCauses(node, old),
  ],
};
