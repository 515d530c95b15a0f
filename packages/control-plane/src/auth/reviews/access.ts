import { invalidValue, requiredValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelValueProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { tidyMeta } from '../../apimachinery/objects/object-text.ts';
import { defined, items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import { type StatusCause, StatusError } from '../../apimachinery/objects/status.ts';
import type { Access, Authorizer, FieldDemand } from '../../apimachinery/users/authorizer.ts';
import type { UserInfo } from '../../apimachinery/users/user.ts';
import type { ReviewHandler } from '../../resources/registry.ts';
import { fieldDemands, parseTerms } from '../../selectors/field-selector.ts';
import { labelDemands } from '../../selectors/label-selector.ts';
import { answered, invalidReview } from './answer.ts';

/** Formats the attributes of a non-resource request with the field names of the Go structure. */
const shownPath = (attributes: Plain): Plain => ({ Path: text(attributes, 'path'), Verb: text(attributes, 'verb') });

function attributeCauses(spec: Plain): StatusCause[] {
  const resource = spec['resourceAttributes'];
  const path = spec['nonResourceAttributes'];
  if (isRecord(resource) && isRecord(path)) {
    const why = 'cannot be specified in combination with resourceAttributes';
    return [invalidValue('spec.nonResourceAttributes', shownPath(path), why)];
  }
  if (isRecord(resource) || isRecord(path)) return [];
  const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [invalidValue('spec.resourceAttributes', null, why)];
}

function selectorCauses(attributes: Plain): StatusCause[] {
  return ['fieldSelector', 'labelSelector'].flatMap((field) => {
    const selector = look(attributes, field);
    if (!isRecord(attributes[field])) return [];
    const raw = text(selector, 'rawSelector');
    const path = `spec.resourceAttributes.${field}`;
    const asks = items(selector, 'requirements').length > 0;
    if (raw === '' && !asks) {
      return [
        requiredValue(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`),
      ];
    }
    const both =
      raw !== '' && asks
        ? [invalidValue(`${path}.rawSelector`, raw, 'may not specified at the same time as requirements')]
        : [];
    return [
      ...both,
      ...items(selector, 'requirements').flatMap((requirement, index) =>
        requirementCauses(requirement, `${path}.requirements[${index}]`, field),
      ),
    ];
  });
}

const WITH_VALUES = ['In', 'NotIn'];
const WITHOUT_VALUES = ['Exists', 'DoesNotExist'];

/**
 * Validates a requirement of a selector in an access review. Unknown operators are valid, because a newer client may
 * know more operators.
 */
function requirementCauses(requirement: Plain, at: string, field: string): StatusCause[] {
  const findings = new Findings();
  const operator = text(requirement, 'operator');
  const values = strings(requirement, 'values');
  if (WITH_VALUES.includes(operator) && values.length === 0) {
    findings.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  }
  if (WITHOUT_VALUES.includes(operator) && values.length > 0) {
    findings.forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  }
  const key = text(requirement, 'key');
  if (field === 'fieldSelector') {
    if (key === '') findings.required(`${at}.key`, 'must be specified');
    return findings.causes;
  }
  findings.qualifiedName(`${at}.key`, key);
  for (const [index, value] of values.entries())
    findings.problems(`${at}.values[${index}]`, value, labelValueProblems(value));
  return findings.causes;
}

function subjectCauses(spec: Plain): StatusCause[] {
  if (text(spec, 'user') !== '' || strings(spec, 'groups').length > 0) return [];
  return [invalidValue('spec.user', '', 'at least one of user or group must be specified')];
}

/**
 * In the metadata of an access review, only managed fields are allowed. A LocalSubjectAccessReview may have a namespace
 * too.
 */
function metadataCauses({ metadata }: ApiObject, namespaced: boolean): StatusCause[] {
  const { managedFields: _managed, ...own } = metadata;
  const { namespace: _namespace, ...rest } = own;
  const others = tidyMeta(namespaced ? rest : own);
  if (Object.keys(others).length === 0) return [];
  return [
    invalidValue('metadata', tidyMeta(metadata), namespaced ? 'must be empty except for namespace' : 'must be empty'),
  ];
}

function localCauses({ metadata }: ApiObject, spec: Plain): StatusCause[] {
  const causes: StatusCause[] = [];
  const namespace = text(look(spec, 'resourceAttributes'), 'namespace');
  if (isRecord(spec['resourceAttributes']) && namespace !== metadata.namespace) {
    causes.push(invalidValue('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace'));
  }
  const path = spec['nonResourceAttributes'];
  if (isRecord(path)) {
    causes.push(invalidValue('spec.nonResourceAttributes', shownPath(path), 'disallowed on this kind of request'));
  }
  return causes;
}

/** Returns the field selector of an access review. */
function fieldsOf(selector: Plain): { fields?: readonly FieldDemand[] } {
  const raw = text(selector, 'rawSelector');
  const fields =
    raw !== ''
      ? fieldDemands(raw)
      : items(selector, 'requirements').flatMap((requirement): FieldDemand[] => {
          const operator = text(requirement, 'operator');
          const [value, ...others] = strings(requirement, 'values');
          if (value === undefined || others.length > 0 || (operator !== 'In' && operator !== 'NotIn')) return [];
          return [{ field: text(requirement, 'key'), equal: operator === 'In', value }];
        });
  return fields.length === 0 ? {} : { fields };
}

function accessOf(user: UserInfo, spec: Plain): Access {
  const resource = look(spec, 'resourceAttributes');
  const isPath = isRecord(spec['nonResourceAttributes']);
  const attributes = isPath ? look(spec, 'nonResourceAttributes') : resource;
  return {
    user,
    verb: text(attributes, 'verb'),
    path: isPath ? text(attributes, 'path') : '',
    group: text(resource, 'group'),
    version: text(resource, 'version'),
    resource: text(resource, 'resource'),
    subresource: text(resource, 'subresource'),
    namespace: text(resource, 'namespace'),
    name: text(resource, 'name'),
    ...(isPath ? {} : fieldsOf(look(resource, 'fieldSelector'))),
  };
}

const subjectOf = (spec: Plain): UserInfo => ({
  name: text(spec, 'user'),
  uid: text(spec, 'uid'),
  groups: strings(spec, 'groups'),
  extra: look(spec, 'extra') as Record<string, string[]>,
});

const KNOWN_OPERATORS: Readonly<Record<string, readonly string[]>> = {
  fieldSelector: WITH_VALUES,
  labelSelector: [...WITH_VALUES, ...WITHOUT_VALUES],
};

/**
 * Returns whether the server can evaluate at least one requirement (`some`) or every requirement (`all`) of the
 * selector.
 */
function readable(selector: Plain, field: string): { readonly some: boolean; readonly all: boolean } {
  const raw = text(selector, 'rawSelector');
  if (raw !== '') {
    const parsed = parses(raw, field);
    return { some: parsed, all: parsed };
  }
  const requirements = items(selector, 'requirements');
  const isReadable = (requirement: Plain): boolean => {
    const values = strings(requirement, 'values');
    const isKnown = (KNOWN_OPERATORS[field] ?? []).includes(text(requirement, 'operator'));
    return isKnown && (field === 'labelSelector' || values.length === 1);
  };
  return { some: requirements.some(isReadable), all: requirements.every(isReadable) };
}

function parses(raw: string, field: string): boolean {
  try {
    if (field === 'fieldSelector') parseTerms(raw);
    else labelDemands(raw);
    return true;
  } catch (error) {
    if (error instanceof StatusError) return false;
    throw error;
  }
}

function selectorProblems(attributes: Plain): string[] {
  return ['fieldSelector', 'labelSelector'].flatMap((field) => {
    if (!isRecord(attributes[field])) return [];
    const { some, all } = readable(look(attributes, field), field);
    if (all) return [];
    return [`spec.resourceAttributes.${field} ${some ? 'partially ' : ''}ignored due to parse error`];
  });
}

export function accessReview(authorize: Authorizer, about: 'self' | 'subject' | 'local'): ReviewHandler {
  return ({ object, call }) => {
    const spec = look(object, 'spec');
    const causes = [
      ...attributeCauses(spec),
      ...(about === 'self' ? [] : subjectCauses(spec)),
      ...selectorCauses(look(spec, 'resourceAttributes')),
      ...metadataCauses(object, about === 'local'),
      ...(about === 'local' ? localCauses(object, spec) : []),
    ];
    if (causes.length > 0) throw invalidReview(causes);
    const { allowed, reason } = authorize(accessOf(about === 'self' ? call.user : subjectOf(spec), spec));
    const evaluationError = selectorProblems(look(spec, 'resourceAttributes')).join('; ');
    const status = defined({
      allowed,
      reason: reason || undefined,
      evaluationError: evaluationError || undefined,
    });
    return answered(object, { spec, status });
  };
}
