import { forbiddenValue, invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { pathSegmentProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { labels, look, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { parseCidr, strictCidrProblems, strictIpProblems } from '../base/addresses.ts';
import type { Strategy } from '../base/strategy.ts';
import { internalForm } from '../internal/form.ts';
import { driverFindings } from '../pod/rules/volume-sources.ts';

const RANGES = 'spec.cidrs';
const IMMUTABLE = 'field is immutable';
const rangesOf = (object: ApiObject): string[] => strings(look(object, 'spec'), 'cidrs');

function rangeCauses(ranges: readonly string[]): StatusCause[] {
  const findings = new Findings();
  if (ranges.length === 0) findings.required(RANGES, 'at least one CIDR required');
  else if (ranges.length > 2) findings.invalid(RANGES, { CIDRs: ranges }, 'may only hold up to 2 values');
  else {
    for (const [index, range] of ranges.entries()) {
      findings.problems(`${RANGES}[${index}]`, range, strictCidrProblems(range));
    }
    // An invalid range belongs to no address family.
    const [family, other] = ranges.map((range) => parseCidr(range)?.address.bytes.length);
    if (other !== undefined && family === other) {
      const why = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64';
      findings.invalid(RANGES, ranges, why);
    }
  }
  return findings.causes;
}

/**
 * A ServiceCIDR with one CIDR may get a second CIDR of the other address family. In a ServiceCIDR, all fields except
 * the list of CIDRs are immutable (`ValidateServiceCIDR`).
 */
export const serviceCidrStrategy: Strategy = {
  prepareForCreate(object) {
    object.status = {};
  },
  validate: (object) => rangeCauses(rangesOf(object)),
  validateUpdate(object, old, { subresource }) {
    if (subresource === 'status') return [];
    const [ranges, before] = [rangesOf(object), rangesOf(old)];
    const grows = before.length === 1 && ranges.length === 2;
    if (ranges.length !== before.length && !grows) return [invalidValue(RANGES, ranges, IMMUTABLE)];
    const causes = before.flatMap((range, index) =>
      range === ranges[index] ? [] : [invalidValue(`${RANGES}[${index}]`, ranges[index], IMMUTABLE)],
    );
    return grows ? [...causes, ...rangeCauses(ranges)] : causes;
  },
};

function parentCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  const { parentRef } = look(object, 'spec');
  if (parentRef === undefined) {
    findings.required('spec.parentRef');
    return findings.causes;
  }
  const group = text(parentRef, 'group');
  if (group !== '') findings.problems('spec.parentRef.group', group, subdomainProblems(group));
  for (const field of ['resource', 'name']) {
    const value = text(parentRef, field);
    if (value === '') findings.required(`spec.parentRef.${field}`);
    else findings.problems(`spec.parentRef.${field}`, value, pathSegmentProblems(value));
  }
  const namespace = text(parentRef, 'namespace');
  if (namespace !== '') findings.problems('spec.parentRef.namespace', namespace, pathSegmentProblems(namespace));
  return findings.causes;
}

/** Validates an IPAddress, whose parent reference is immutable (`ValidateIPAddress`). */
export const ipAddressStrategy: Strategy = {
  validateName: strictIpProblems,
  validate: parentCauses,
  validateUpdate(object, old) {
    const own = parentCauses(object);
    const { parentRef } = look(object, 'spec');
    if (jsonEquals(parentRef ?? null, look(old, 'spec').parentRef ?? null)) return own;
    const shown = parentRef === undefined ? null : internalForm('ParentReference', look(object, 'spec', 'parentRef'));
    return [...own, invalidValue('spec.parentRef', shown, IMMUTABLE)];
  },
};

const MOST_PARAMETERS = 512;
const MOST_BYTES = 256 * 1024;

function attributeCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  driverFindings(findings, text(object, 'driverName'), 'driverName');
  const parameters = Object.entries(labels(object, 'parameters'));
  if (parameters.length === 0) findings.required('parameters', 'must contain at least one key/value pair');
  if (parameters.length > MOST_PARAMETERS) findings.tooLong('parameters', MOST_PARAMETERS);
  let size = 0;
  for (const [key, value] of parameters) {
    if (key === '') findings.invalid('parameters', key, 'field can not be empty.');
    size += key.length + value.length;
  }
  if (size > MOST_BYTES) findings.tooLong('parameters', MOST_BYTES);
  return findings.causes;
}

/** All fields of a VolumeAttributesClass are immutable (`ValidateVolumeAttributesClass`). */
export const attributesClassStrategy: Strategy = {
  validate: attributeCauses,
  validateUpdate(object, old) {
    const causes = ['driverName', 'parameters'].flatMap((field) =>
      jsonEquals(object[field] ?? null, old[field] ?? null)
        ? []
        : [forbiddenValue(field, `updates to ${field} are forbidden.`)],
    );
    return [...causes, ...attributeCauses(object)];
  },
};
