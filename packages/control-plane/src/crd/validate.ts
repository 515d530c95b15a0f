import { createHash } from 'node:crypto';
import { forbidden, goQuote, invalid, notSupported, required } from '../apimachinery/errors/schema-causes.ts';
import { given } from '../apimachinery/objects/empties.ts';
import { stringifyJson } from '../apimachinery/objects/json.ts';
import { equalJson, goJson, isRecord } from '../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { validateConversion } from './conversion.ts';
import { validateGivenNames, validateNames } from './names.ts';
import { type Fields, record, records, text, texts } from './schema/fields.ts';
import { validateRuleSpecs } from './schema/rules.ts';
import { validateSchema } from './schema/structural.ts';
import { labelProblems, subdomainProblems } from './schema/words.ts';
import { validateColumns, validateSelectableFields, validateSubresources } from './subresources.ts';

const APPROVAL = 'api-approved.kubernetes.io';
const APPROVAL_DOCS = 'see https://github.com/kubernetes/enhancements/pull/1111';

/**
 * If all versions of a CRD have equal values in these fields, the internal type of kube-apiserver stores the values
 * only once.
 */
const SHARED = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'];

/** Returns whether all versions have equal values in a field. */
function isShared(word: string, versions: readonly Fields[]): boolean {
  const [first] = versions;
  return first !== undefined && versions.every((version) => equalJson(version[word], first[word]));
}

function dumpVersion(version: Fields, shared: ReadonlySet<string>): string {
  const own = (word: string): string => (shared.has(word) ? 'null' : goJson(version[word] ?? null));
  return [
    `{"Name":${goQuote(text(version.name))}`,
    `"Served":${version.served === true}`,
    `"Storage":${version.storage === true}`,
    `"Deprecated":${version.deprecated === true}`,
    `"DeprecationWarning":${goJson(version.deprecationWarning ?? null)}`,
    `"Schema":${own('schema')}`,
    `"Subresources":${own('subresources')}`,
    `"AdditionalPrinterColumns":${own('additionalPrinterColumns')}`,
    `"SelectableFields":${own('selectableFields')}}`,
  ].join(',');
}

function validateGroup(group: string): StatusCause[] {
  if (group === '') return [required('spec.group')];
  const problems = subdomainProblems(group);
  if (problems.length > 0) return [invalid('spec.group', group, problems.join(','))];
  return group.includes('.') ? [] : [invalid('spec.group', group, 'should be a domain with at least one dot')];
}

function validateScope(scope: string): StatusCause[] {
  if (scope === '') return [required('spec.scope')];
  const scopes = ['Cluster', 'Namespaced'];
  return scopes.includes(scope) ? [] : [notSupported('spec.scope', scope, scopes)];
}

/** The fields have the order of the Go structure. */
const ROOT_FIELDS = [
  ...['id', '$schema', '$ref', 'type', 'nullable', 'default', 'enum', 'maxProperties', 'minProperties', 'allOf'],
  ...['oneOf', 'anyOf', 'not', 'additionalProperties', 'patternProperties', 'dependencies', 'additionalItems'],
  ...['definitions', 'x-kubernetes-embedded-resource', 'x-kubernetes-int-or-string', 'x-kubernetes-list-map-keys'],
  ...['x-kubernetes-list-type', 'x-kubernetes-map-type'],
];
const ALLOWED_AT_ROOT =
  '[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]';

/**
 * Validates the root of a schema with a status subresource. The schema of the status must not depend on fields of the
 * root. As in kube-apiserver, the function reports only the first forbidden field.
 */
function validateRoot(schema: Fields, path: string): StatusCause[] {
  const isSet = (field: string): boolean => {
    const value = given(schema, field);
    return value !== null && value !== false && value !== '';
  };
  const first = ROOT_FIELDS.find((field) => isSet(field) && !(field === 'type' && schema.type === 'object'));
  if (first === undefined) return [];
  const reason = 'of the schema if the status subresource is enabled';
  if (first === 'type') {
    return [invalid(`${path}.type`, schema.type, `only "object" is allowed as the type at the root ${reason}`)];
  }
  return [invalid(path, schema, `only ${ALLOWED_AT_ROOT} fields are allowed at the root ${reason}`)];
}

const hasStatus = (version: Fields): boolean => isRecord(record(version.subresources).status);

interface Contents {
  readonly words: readonly string[];
  readonly paths: Readonly<Record<string, string>>;
  /** Whether at least one version with the schema has a status subresource. */
  readonly hasStatus: boolean;
}

/**
 * Validates some fields of a CRD version. As in kube-apiserver, the function checks selectable fields only if the
 * schema is at the same level: spec or version.
 */
function validateContents(version: Fields, { words, paths, hasStatus }: Contents): StatusCause[] {
  const hasSchema = words.includes('schema');
  const causes: StatusCause[] = [];
  const at = (word: string): string => paths[word] ?? word;
  const schema = record(version.schema).openAPIV3Schema;
  for (const word of words) {
    if (word === 'schema' && isRecord(schema)) {
      if (hasStatus) causes.push(...validateRoot(schema, at(word)));
      if (schema.nullable === true) {
        causes.push(forbidden(`${at(word)}.nullable`, 'nullable cannot be true at the root'));
      }
      const found = validateSchema(schema, at(word));
      causes.push(...found.structure, ...found.words, ...validateRuleSpecs(schema, at(word), found));
    } else if (word === 'subresources') {
      causes.push(...validateSubresources(record(version[word]), at(word)));
    } else if (word === 'additionalPrinterColumns') {
      causes.push(...validateColumns(version[word], at(word)));
    } else if (word === 'selectableFields') {
      causes.push(...validateSelectableFields(version[word], hasSchema ? schema : undefined, at(word)));
    }
  }
  return causes;
}

/** Matches characters that Go does not print. */
const NOT_PRINTABLE = /(?! )[\p{C}\p{Z}]/u;

/** Returns the reasons why a deprecation warning is invalid, as `validateDeprecationWarning` in Kubernetes. */
function warningProblems(warning: string, isDeprecated: boolean): readonly string[] {
  if (!isDeprecated) return ['can only be set for deprecated versions'];
  const odd = NOT_PRINTABLE.exec(warning);
  const at = odd === null ? 0 : Buffer.byteLength(warning.slice(0, odd.index));
  return [
    ...(Buffer.byteLength(warning) > 256 ? ['must be <= 256 characters long'] : []),
    ...(warning === '' ? ['must not be an empty string'] : []),
    ...(odd === null
      ? []
      : [`must only contain printable UTF-8 characters; non-printable character found at index ${at}`]),
  ];
}

function validateVersion(version: Fields, at: number, own: readonly string[]): StatusCause[] {
  const path = `spec.versions[${at}]`;
  const name = text(version.name);
  const nameProblems = labelProblems(name);
  const causes = nameProblems.length === 0 ? [] : [invalid(`${path}.name`, name, nameProblems.join(','))];
  const warning = version.deprecationWarning;
  if (typeof warning === 'string') {
    const field = `${path}.deprecationWarning`;
    const problems = warningProblems(warning, version.deprecated === true);
    causes.push(...problems.map((problem) => invalid(field, warning, problem)));
  }
  const paths = {
    schema: `${path}.schema.openAPIV3Schema`,
    subresources: `${path}.subresources`,
    additionalPrinterColumns: `${path}.additionalPrinterColumns`,
    selectableFields: `${path}.selectableFields`,
  };
  return [...causes, ...validateContents(version, { words: own, paths, hasStatus: hasStatus(version) })];
}

/**
 * The maximum number of versions in the cache of valid versions. Clients often send a CRD again, and the compilation of
 * patterns and rules is slow.
 */
const MAX_VALID = 256;
const validVersions = new Set<string>();

/**
 * Validates the versions of a CRD. The cache contains versions that were valid in an earlier request, so these versions
 * need no second validation.
 */
function validateVersions(list: unknown): StatusCause[] {
  const hash = createHash('sha256')
    .update(stringifyJson(list ?? null))
    .digest('base64');
  if (validVersions.has(hash)) return [];
  const causes = findVersionCauses(list);
  if (causes.length === 0) {
    if (validVersions.size >= MAX_VALID) validVersions.clear();
    validVersions.add(hash);
  }
  return causes;
}

function findVersionCauses(list: unknown): StatusCause[] {
  const versions = records(list);
  const shared = new Set(SHARED.filter((word) => isShared(word, versions)));
  const own = SHARED.filter((word) => !shared.has(word));
  const causes = [
    ...versions.flatMap(({ schema }, at) =>
      isRecord(record(schema).openAPIV3Schema) ? [] : [required(`spec.versions[${at}].schema.openAPIV3Schema`)],
    ),
    ...versions.flatMap((version, at) => validateVersion(version, at, own)),
  ];
  const dump = Array.isArray(list) ? `[${versions.map((version) => dumpVersion(version, shared)).join(',')}]` : 'null';
  const addProblem = (detail: string): void => {
    causes.push({ reason: 'FieldValueInvalid', message: `Invalid value: ${dump}: ${detail}`, field: 'spec.versions' });
  };
  if (new Set(versions.map((version) => version.name)).size !== versions.length) {
    addProblem('must contain unique version names');
  }
  if (versions.filter((version) => version.storage === true).length !== 1) {
    addProblem('must have exactly one version marked as storage version');
  }
  const [first] = versions;
  if (first === undefined) return causes;
  // Early CRDs had only one version, so the internal type contains the name of the first version in the spec.
  const name = text(first.name);
  const nameProblems = name === '' ? [] : labelProblems(name);
  if (nameProblems.length > 0) causes.push(invalid('spec.version', name, nameProblems.join(',')));
  const paths = {
    schema: 'spec.validation.openAPIV3Schema',
    subresources: 'spec.subresources',
    additionalPrinterColumns: 'spec.additionalPrinterColumns',
    selectableFields: 'spec.selectableFields',
  };
  return [...causes, ...validateContents(first, { words: [...shared], paths, hasStatus: versions.some(hasStatus) })];
}

function validateStoredVersions(crd: ApiObject, versions: readonly Fields[], joins = false): StatusCause[] {
  const field = 'status.storedVersions';
  const stored = texts(record(crd.status).storedVersions);
  if (stored.length === 0) return [invalid(field, null, 'must have at least one stored version')];
  const names = versions.map((version) => text(version.name));
  const causes: StatusCause[] = [];
  const left = new Set(stored);
  for (const version of versions) {
    const name = text(version.name);
    if (version.storage === true && !left.has(name) && !(joins && !stored.includes(name))) {
      causes.push(invalid(field, stored, `must have the storage version ${name}`));
    }
    left.delete(name);
  }
  stored.forEach((name, at) => {
    if (names.includes(name)) return;
    const words = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    causes.push(invalid(`${field}[${at}]`, name, words));
  });
  return causes;
}

const isProtected = (group: string): boolean => /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group);

/** Validates the annotation about the API review of a CRD. */
function validateApproval(crd: ApiObject, group: string): StatusCause[] {
  if (!isProtected(group)) return [];
  const field = `metadata.annotations[${APPROVAL}]`;
  const value = crd.metadata.annotations?.[APPROVAL];
  if (value === undefined || value === '') {
    return [required(field, `protected groups must have approval annotation "${APPROVAL}", ${APPROVAL_DOCS}`)];
  }
  if (value.startsWith('unapproved') || (URL.canParse(value) && new URL(value).host !== '')) return [];
  const words = `protected groups must have approval annotation "${APPROVAL}" with either a URL or a reason starting with "unapproved", ${APPROVAL_DOCS}`;
  return [invalid(field, value, words)];
}

function isEstablished(crd: ApiObject): boolean {
  return records(record(crd.status).conditions).some(
    (condition) => condition.type === 'Established' && condition.status === 'True',
  );
}

/** Validates that immutable fields of a CRD are unchanged. */
function validateImmutable(spec: Fields, crd: ApiObject, old: ApiObject): StatusCause[] {
  const before = record(old.spec);
  const names = record(spec.names);
  const oldNames = record(before.names);
  const fields: [string, unknown, unknown][] = [];
  if (isEstablished(old)) {
    fields.push(['spec.scope', spec.scope, before.scope], ['spec.names.kind', names.kind, oldNames.kind]);
  }
  fields.push(['spec.group', spec.group, before.group], ['spec.names.plural', names.plural, oldNames.plural]);
  return crd === old
    ? []
    : fields.flatMap(([field, now, then]) => (now === then ? [] : [invalid(field, now, 'field is immutable')]));
}

/** Validates a write of the status of a CRD. */
export const validateCrdStatus = (crd: ApiObject): StatusCause[] =>
  validateGivenNames(record(record(crd.status).acceptedNames), 'status.acceptedNames');

/**
 * The errors have the field names and texts of kube-apiserver. @param old the CRD before an update; for a new CRD, the
 * value is undefined
 */
export function validateCrd(crd: ApiObject, old?: ApiObject): StatusCause[] {
  const spec = record(crd.spec);
  const names = record(spec.names);
  const group = text(spec.group);
  const versions = records(spec.versions);
  const causes: StatusCause[] = [];
  const wanted = `${text(names.plural)}.${group}`;
  const { name = '', generateName = '' } = crd.metadata;
  if (old === undefined && generateName !== '' && generateName !== wanted) {
    causes.push(invalid('metadata.generateName', generateName, 'must be spec.names.plural+"."+spec.group'));
  }
  if (name !== '' && name !== wanted)
    causes.push(invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group'));
  if (old !== undefined && equalJson(spec, old.spec)) return [...causes, ...validateStoredVersions(crd, versions)];
  causes.push(...validateGroup(group), ...validateScope(text(spec.scope)));
  if (spec.preserveUnknownFields === true) {
    const words =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
    causes.push(invalid('spec.preserveUnknownFields', true, words));
  }
  causes.push(
    ...validateVersions(given(spec, 'versions')),
    ...validateNames(names, 'spec.names'),
    ...validateConversion(record(spec.conversion), 'spec.conversion'),
    ...(old === undefined ? [] : validateImmutable(spec, crd, old)),
    ...validateStoredVersions(crd, versions, old !== undefined),
    ...validateApproval(crd, group),
  );
  return causes;
}
