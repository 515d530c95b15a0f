import { X509Certificate } from 'node:crypto';
import { duplicateValue } from '../apimachinery/errors/causes.ts';
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../apimachinery/errors/errors.ts';
import type { KindDefinition, StrategyContext } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { formatTime, jsonEquals } from '../apimachinery/objects/object-text.ts';
import { child, items, look, type Plain, strings, text } from '../apimachinery/objects/plain.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { pemBlock, readSigningRequest } from './signing-request.ts';

const USAGES = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];

const SHORTEST_SECONDS = 600;
const FINAL = ['Approved', 'Denied', 'Failed'];
const LEGACY = 'kubernetes.io/legacy-unknown';
const SIGNER_NAME =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)+[a-z0-9]([-a-z0-9]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$/;

function requestCauses(spec: Plain): StatusCause[] {
  const request = text(spec, 'request');
  try {
    readSigningRequest(request);
    return [];
  } catch (error) {
    return [
      invalidValue(
        'spec.request',
        request === '' ? null : request,
        error instanceof Error ? error.message : String(error),
      ),
    ];
  }
}

function usageCauses(spec: Plain): StatusCause[] {
  const usages = strings(spec, 'usages');
  if (usages.length === 0) return [requiredValue('spec.usages')];
  return usages.flatMap((usage, index) => {
    if (!USAGES.includes(usage)) return [unsupportedValue(`spec.usages[${index}]`, usage, USAGES)];
    return usages.indexOf(usage) < index ? [duplicateValue(`spec.usages[${index}]`, usage)] : [];
  });
}

function signerCauses(spec: Plain): StatusCause[] {
  const name = text(spec, 'signerName');
  if (name === '') return [requiredValue('spec.signerName')];
  if (name === LEGACY) {
    return [invalidValue('spec.signerName', name, 'the legacy signerName is not allowed via this API version')];
  }
  if (SIGNER_NAME.test(name)) return [];
  const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
  return [invalidValue('spec.signerName', name, why)];
}

function expirationCauses(spec: Plain): StatusCause[] {
  const seconds = spec.expirationSeconds;
  if (typeof seconds !== 'number' || seconds >= SHORTEST_SECONDS) return [];
  const why = 'may not specify a duration less than 600 seconds (10 minutes)';
  return [invalidValue('spec.expirationSeconds', seconds, why)];
}

function certificateCauses(status: Plain): StatusCause[] {
  const data = text(status, 'certificate');
  if (data === '') return [];
  const refuse = (why: string) => [invalidValue('status.certificate', '<certificate data>', why)];
  const pem = Buffer.from(data, 'base64').toString('utf8');
  if (pemBlock(pem, 'CERTIFICATE') === undefined) return refuse('must contain at least one CERTIFICATE PEM block');
  try {
    new X509Certificate(pem);
    return [];
  } catch {
    return refuse('x509: malformed certificate');
  }
}

function conditionCauses(status: Plain): StatusCause[] {
  const causes: StatusCause[] = [];
  const seen = new Set<string>();
  for (const [index, condition] of items(status, 'conditions').entries()) {
    const type = text(condition, 'type');
    const value = text(condition, 'status');
    const at = `status.conditions[${index}]`;
    const opposite = type === 'Approved' ? 'Denied' : type === 'Denied' ? 'Approved' : undefined;
    if (opposite !== undefined && seen.has(opposite)) {
      causes.push(invalidValue('status.conditions', type, 'Approved and Denied conditions are mutually exclusive'));
    }
    if (type === '') causes.push(requiredValue(`${at}.type`));
    else if (seen.has(type)) causes.push(duplicateValue(`${at}.type`, type));
    const allowed = FINAL.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
    if (value === '') causes.push(requiredValue(`${at}.status`));
    else if (!allowed.includes(value)) causes.push(unsupportedValue(`${at}.status`, value, allowed));
    seen.add(type);
  }
  return causes;
}

const causesOf = (object: ApiObject): StatusCause[] => {
  const spec = look(object, 'spec');
  const status = look(object, 'status');
  return [
    ...requestCauses(spec),
    ...usageCauses(spec),
    ...signerCauses(spec),
    ...expirationCauses(spec),
    ...conditionCauses(status),
    ...certificateCauses(status),
  ];
};

const withType = (object: ApiObject, type: string): Plain[] =>
  items(look(object, 'status'), 'conditions').filter((condition) => condition.type === type);

/**
 * Validates changes of conditions: final conditions must remain, and only the subresource `approval` may change the
 * approval.
 */
function transitionCauses(object: ApiObject, old: ApiObject, { subresource }: StrategyContext): StatusCause[] {
  const forbid = (why: string) => [forbiddenValue('status.conditions', why)];
  const removed = FINAL.flatMap((type) =>
    withType(old, type).length > 0 && withType(object, type).length === 0
      ? forbid(`updates may not remove a condition of type ${JSON.stringify(type)}`)
      : [],
  );
  if (subresource !== 'status') return removed;
  const touched = ['Approved', 'Denied'].flatMap((type) => {
    const [before, after] = [withType(old, type), withType(object, type)];
    if (after.length === 0 || jsonEquals(before, after)) return [];
    const verb = before.length === 0 ? 'add' : 'modify';
    return forbid(`updates may not ${verb} a condition of type ${JSON.stringify(type)}`);
  });
  return [...removed, ...touched];
}

/**
 * Restores the old approval conditions if a write of the status leaves their number unchanged
 * (`preserveConditionInstances`).
 */
function keepApproval(object: ApiObject, old: ApiObject): void {
  const conditions = look(object, 'status').conditions;
  if (!Array.isArray(conditions)) return;
  for (const type of ['Approved', 'Denied']) {
    const before = withType(old, type);
    const after = withType(object, type);
    if (before.length !== after.length) continue;
    for (const [at, condition] of after.entries())
      conditions[conditions.indexOf(condition)] = structuredClone(before[at]);
  }
}

function stampConditions(object: ApiObject, old: ApiObject, now: Date): void {
  const time = formatTime(now);
  for (const condition of items(look(object, 'status'), 'conditions')) {
    condition.lastUpdateTime ??= time;
    const before = withType(old, text(condition, 'type'))[0];
    const same = before !== undefined && before.status === condition.status;
    condition.lastTransitionTime ??= same ? before.lastTransitionTime : time;
  }
}

type Strategy = Pick<KindDefinition, 'prepareForCreate' | 'prepareForUpdate' | 'validate' | 'validateUpdate'>;

/**
 * The rules of a CertificateSigningRequest: the spec is immutable. The approval and the status are separate
 * subresources.
 */
export const certificateRequestStrategy: Strategy = {
  prepareForCreate(object) {
    object.status = {};
  },
  prepareForUpdate(object, old, { subresource, now }) {
    object.spec = old.spec;
    if (subresource === '') {
      object.status = old.status;
      return;
    }
    if (subresource === 'approval') {
      const { certificate } = look(old, 'status');
      const status = child(object, 'status');
      if (certificate === undefined) delete status.certificate;
      else status.certificate = certificate;
    }
    if (subresource === 'status') keepApproval(object, old);
    stampConditions(object, old, now);
  },
  validate: causesOf,
  validateUpdate: (object, old, context) => [...causesOf(object), ...transitionCauses(object, old, context)],
};
