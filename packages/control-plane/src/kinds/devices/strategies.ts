import { forbiddenValue, invalidValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import type { StrategyContext } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import type { Strategy } from '../base/strategy.ts';
import { templateMetadataFindings } from '../base/template-metadata.ts';
import { internalForm } from '../internal/form.ts';
import { configurationFindings, isTooLong, selectorsFindings } from './checks.ts';
import { claimFindings, defaultOperators, defaultRequests } from './claim.ts';
import { claimStatusCauses, dropReleasedDevices } from './claim-status.ts';
import { dropAlphaFields, sliceFindings } from './slice.ts';

const MOST_CONFIGS = 32;
const EXTENDED =
  /^(?:[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)\/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

const isExtendedName = (name: string): boolean =>
  EXTENDED.test(name) && !/^([^/]*\.)?kubernetes\.io\//.test(name) && !name.startsWith('requests.');

function classCauses(object: ApiObject, old?: ApiObject): StatusCause[] {
  const findings = new Findings();
  const [spec, before] = [look(object, 'spec'), look(old, 'spec')];
  selectorsFindings(findings, spec, 'spec.selectors');
  const configs = items(spec, 'config');
  const isStored = old !== undefined && jsonEquals(configs, items(before, 'config'));
  if (!isTooLong(findings, configs, MOST_CONFIGS, 'spec.config')) {
    for (const [index, config] of configs.entries())
      configurationFindings(findings, config, `spec.config[${index}]`, isStored);
  }
  const name = spec.extendedResourceName;
  if (typeof name === 'string' && !isExtendedName(name))
    findings.invalid('spec.extendedResourceName', name, 'must be a valid extended resource name');
  return findings.causes;
}

/** Validates a DeviceClass, as `ValidateDeviceClass` in Kubernetes. */
export const deviceClassStrategy: Strategy = {
  validate: (object) => classCauses(object),
  validateUpdate: (object, old) => classCauses(object, old),
};

const ADMIN_LABEL = 'resource.kubernetes.io/admin-access';

/**
 * If a device request has `adminAccess`, the namespace needs the label for admin access (`AuthorizedForAdmin`). As in
 * kube-apiserver, the error for a template contains the path of the field in a claim.
 */
function adminCauses(object: ApiObject, spec: Plain, { stored }: StrategyContext): StatusCause[] {
  const requests = items(look(spec, 'devices'), 'requests');
  const index = requests.findIndex((request) => look(request, 'exactly').adminAccess === true);
  if (index < 0) return [];
  const { namespace } = object.metadata;
  const found = stored?.('/namespaces').find(({ metadata }) => metadata.name === namespace);
  if (found?.metadata.labels?.[ADMIN_LABEL] === 'true') return [];
  const rule = `admin access to devices requires the \`${ADMIN_LABEL}: true\` label on the containing namespace`;
  return [forbiddenValue(`spec.devices.requests[${index}].adminAccess`, rule)];
}

const specCauses = (spec: Plain, path: string): StatusCause[] => {
  const findings = new Findings();
  claimFindings(findings, spec, path);
  return findings.causes;
};

const immutable = (structure: string, object: ApiObject, old: ApiObject): StatusCause[] =>
  jsonEquals(object.spec, old.spec)
    ? []
    : [invalidValue('spec', internalForm(structure, look(object, 'spec')), 'field is immutable')];

/** Validates a ResourceClaim, whose spec is immutable (`ValidateResourceClaim`). */
export const resourceClaimStrategy: Strategy = {
  setDefaults(object) {
    defaultRequests(look(object, 'spec'));
    for (const result of items(look(object, 'status', 'allocation', 'devices'), 'results')) defaultOperators(result);
  },
  prepareForCreate(object) {
    object.status = {};
  },
  prepareForUpdate(object, old, { subresource }) {
    if (subresource === 'status') dropReleasedDevices(object, old);
  },
  validate(object, context) {
    const spec = look(object, 'spec');
    return [...adminCauses(object, spec, context), ...specCauses(spec, 'spec')];
  },
  validateUpdate: (object, old, { subresource }) =>
    subresource === 'status' ? claimStatusCauses(object, old) : immutable('ResourceClaimSpec', object, old),
};

function templateCauses(object: ApiObject): StatusCause[] {
  const findings = new Findings();
  templateMetadataFindings(findings, look(object, 'spec', 'metadata'), 'spec.metadata');
  return [...findings.causes, ...specCauses(look(object, 'spec', 'spec'), 'spec.spec')];
}

/** Validates a ResourceClaimTemplate, whose spec is immutable (`ValidateResourceClaimTemplate`). */
export const claimTemplateStrategy: Strategy = {
  setDefaults: (object) => defaultRequests(look(object, 'spec', 'spec')),
  validate: (object, context) => [
    ...adminCauses(object, look(object, 'spec', 'spec'), context),
    ...templateCauses(object),
  ],
  validateUpdate: (object, old) => [...templateCauses(object), ...immutable('ResourceClaimTemplateSpec', object, old)],
};

function prepareSlice(object: ApiObject, { now }: StrategyContext): void {
  dropAlphaFields(look(object, 'spec'));
  const timeAdded = `${now.toISOString().slice(0, 19)}Z`;
  for (const device of items(look(object, 'spec'), 'devices'))
    for (const taint of items(device, 'taints')) if (text(taint, 'timeAdded') === '') taint.timeAdded = timeAdded;
}

function sliceCauses(object: ApiObject, old?: ApiObject): StatusCause[] {
  const findings = new Findings();
  sliceFindings(findings, look(object, 'spec'), old === undefined ? undefined : look(old, 'spec'));
  return findings.causes;
}

/** Validates a ResourceSlice, a list of devices in a pool (`ValidateResourceSlice`). */
export const resourceSliceStrategy: Strategy = {
  prepareForCreate: prepareSlice,
  prepareForUpdate: (object, _old, context) => prepareSlice(object, context),
  validate: (object) => sliceCauses(object),
  validateUpdate: (object, old) => sliceCauses(object, old),
};
