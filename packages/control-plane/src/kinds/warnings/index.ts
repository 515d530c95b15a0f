import { equalJson } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, strings, text } from '../../apimachinery/objects/plain.ts';
import { cidrWarnings, ipWarnings } from '../base/addresses.ts';
import { ingressStatusWarnings } from '../cluster/ingress.ts';
import { deprecatedLabel, labelMapWarnings, nodeSelectorWarnings, termWarnings } from './node-labels.ts';
import { nameWarnings, podTemplateWarnings } from './pod.ts';
import { fractionWarnings } from './quantities.ts';
import { persistentSourceWarnings } from './volumes.ts';

export { podWarnings, topologyWarnings } from './pod.ts';

type Warnings = (object: ApiObject, old: ApiObject | undefined) => string[];

/** Returns whether the object is new, or its spec has changed. */
const isFresh = (object: ApiObject, old: ApiObject | undefined): boolean =>
  old === undefined || object.metadata.generation !== old.metadata.generation;

export const workloadWarnings: Warnings = (object, old) =>
  isFresh(object, old) ? podTemplateWarnings(look(object, 'spec', 'template'), 'spec.template.') : [];

export const podTemplateKindWarnings: Warnings = (object, old) =>
  isFresh(object, old) ? podTemplateWarnings(look(object, 'template'), 'template.') : [];

export const statefulSetWarnings: Warnings = (object, old) => {
  const claims = items(look(object, 'spec'), 'volumeClaimTemplates').flatMap((claim, index) =>
    claimSpecWarnings(look(claim, 'spec'), `spec.volumeClaimTemplates[${index}]`),
  );
  const why = 'a negative value retains all historical revisions; a value >= 0 is recommended';
  const isNegative = (number(look(object, 'spec'), 'revisionHistoryLimit') ?? 0) < 0;
  return [...workloadWarnings(object, old), ...claims, ...(isNegative ? [`spec.revisionHistoryLimit: ${why}`] : [])];
};

const MANY_COMPLETIONS = 100_000;
const MANY_PODS = 10_000;

export const jobWarnings: Warnings = (job, old) => {
  const spec = look(job, 'spec');
  const isVast =
    (number(spec, 'completions') ?? 0) > MANY_COMPLETIONS && (number(spec, 'parallelism') ?? 0) > MANY_PODS;
  const why =
    'spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail';
  return [
    ...(old === undefined ? nameWarnings(job, 'Pod names and hostnames') : []),
    ...(spec.completionMode === 'Indexed' && isVast ? [why] : []),
    ...workloadWarnings(job, old),
  ];
};

export const cronJobWarnings: Warnings = (job, old) => [
  ...(old === undefined ? nameWarnings(job, 'Pod names and hostnames') : []),
  ...(isFresh(job, old)
    ? podTemplateWarnings(look(job, 'spec', 'jobTemplate', 'spec', 'template'), 'spec.jobTemplate.spec.template.')
    : []),
];

const OLD_HINTS = 'service.kubernetes.io/topology-aware-hints';

export const serviceWarnings: Warnings = (service) => {
  const spec = look(service, 'spec');
  const warnings: string[] = [];
  if (service.metadata.annotations?.[OLD_HINTS] !== undefined) {
    warnings.push(`annotation ${OLD_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead`);
  }
  const external = strings(spec, 'externalIPs');
  const isNameOnly = spec.type === 'ExternalName';
  const isHeadless = !isNameOnly && spec.clusterIP === 'None';
  const balancer = text(spec, 'loadBalancerIP');
  if (!isNameOnly && !isHeadless) {
    warnings.push(...strings(spec, 'clusterIPs').flatMap((ip, index) => ipWarnings(`spec.clusterIPs[${index}]`, ip)));
  }
  if (isHeadless) {
    if (balancer !== '') warnings.push('spec.loadBalancerIP is ignored for headless services');
    if (external.length > 0) warnings.push('spec.externalIPs is ignored for headless services');
    if (spec.sessionAffinity !== 'None') warnings.push('spec.SessionAffinity is ignored for headless services');
  }
  warnings.push(...external.flatMap((ip, index) => ipWarnings(`spec.externalIPs[${index}]`, ip)));
  if (external.length > 0 && !isHeadless && !isNameOnly) {
    warnings.push('spec.externalIPs is deprecated and may no longer be implemented in some clusters');
  }
  warnings.push(...ipWarnings('spec.loadBalancerIP', balancer));
  for (const [index, range] of strings(spec, 'loadBalancerSourceRanges').entries()) {
    warnings.push(...cidrWarnings(`spec.loadBalancerSourceRanges[${index}]`, range));
  }
  if (isNameOnly && external.length > 0) warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (!isNameOnly && text(spec, 'externalName') !== '') {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (spec.trafficDistribution === 'PreferClose') {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings;
};

const OLD_CLASS = 'volume.beta.kubernetes.io/storage-class';

const classWarnings = ({ metadata }: ApiObject): string[] =>
  metadata.annotations?.[OLD_CLASS] === undefined
    ? []
    : [`metadata.annotations[${OLD_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead`];

const claimSpecWarnings = (spec: unknown, at: string): string[] =>
  ['requests', 'limits'].flatMap((list) =>
    fractionWarnings(look(spec, 'resources'), list, ['storage'], `${at}.resources`),
  );

export const claimWarnings: Warnings = (claim) => [
  ...classWarnings(claim),
  ...claimSpecWarnings(look(claim, 'spec'), 'spec'),
];

export const volumeWarnings: Warnings = (volume) => {
  const spec = look(volume, 'spec');
  return [
    ...classWarnings(volume),
    ...nodeSelectorWarnings(look(spec, 'nodeAffinity').required, 'spec.nodeAffinity.required'),
    ...persistentSourceWarnings(spec, 'spec'),
  ];
};

const PEM = /-----BEGIN [^-]+-----/;

export const secretWarnings: Warnings = (secret) => {
  if (secret.type !== 'kubernetes.io/tls') return [];
  for (const [key, what] of [
    ['tls.crt', 'certificate'],
    ['tls.key', 'key'],
  ] as const) {
    const content = Buffer.from(text(look(secret, 'data'), key), 'base64').toString('latin1');
    if (!PEM.test(content)) return [`tls: failed to find any PEM data in ${what} input`];
  }
  return [];
};

const MOUNTABLE = 'kubernetes.io/enforce-mountable-secrets';

export const accountWarnings: Warnings = (account, old) => {
  const isNew = old?.metadata.annotations?.[MOUNTABLE] === undefined;
  if (account.metadata.annotations?.[MOUNTABLE] === undefined || !isNew) return [];
  const why = 'deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets';
  return [`metadata.annotations[${MOUNTABLE}]: ${why}`];
};

export const endpointsWarnings: Warnings = (endpoints) =>
  items(endpoints, 'subsets').flatMap((subset, index) =>
    ['addresses', 'notReadyAddresses'].flatMap((list) =>
      items(subset, list).flatMap((address, position) =>
        ipWarnings(`subsets[${index}].${list}[${position}].ip`, text(address, 'ip')),
      ),
    ),
  );

export const endpointSliceWarnings: Warnings = (slice, old) =>
  slice.addressType === 'FQDN'
    ? old === undefined
      ? ['spec.addressType: FQDN endpoints are deprecated']
      : []
    : items(slice, 'endpoints').flatMap((endpoint, index) =>
        strings(endpoint, 'addresses').flatMap((address, position) =>
          ipWarnings(`endpoints[${index}].addresses[${position}]`, address),
        ),
      );

export const nodeWarnings: Warnings = (node) => {
  const spec = look(node, 'spec');
  const why = 'spec.externalID: this field is deprecated, and is unused by Kubernetes';
  return [
    ...(spec.externalID === undefined ? [] : [why]),
    ...strings(spec, 'podCIDRs').flatMap((range, index) => cidrWarnings(`spec.podCIDRs[${index}]`, range)),
  ];
};

export const sliceWarnings: Warnings = (slice) => {
  const driver = text(look(slice, 'spec'), 'driver');
  if (driver === driver.toLowerCase()) return [];
  const found = `${JSON.stringify(driver)} contains uppercase characters`;
  return [`spec.driver: driver names should be lowercase; ${found}`];
};

export const csiDriverWarnings: Warnings = (driver, old) => {
  const spec = look(driver, 'spec');
  if (old !== undefined && equalJson(spec.tokenRequests, look(old, 'spec').tokenRequests)) return [];
  if (items(spec, 'tokenRequests').length === 0 || spec.serviceAccountTokenInSecrets !== undefined) return [];
  const why = 'if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';
  return [`spec.serviceAccountTokenInSecrets is unset; ${why}`];
};

export const capacityWarnings: Warnings = (capacity) => [
  ...termWarnings(look(capacity, 'nodeTopology'), 'nodeTopology'),
  ...Object.keys(look(capacity, 'nodeTopology', 'matchLabels')).flatMap((key) => {
    const why = deprecatedLabel(key);
    return why === undefined ? [] : [`nodeTopology.matchLabels.${key}: ${why}`];
  }),
];

export const runtimeClassWarnings: Warnings = (runtimeClass) =>
  labelMapWarnings(look(runtimeClass, 'scheduling'), () => 'scheduling.nodeSelector');

const INGRESS_CLASS = 'kubernetes.io/ingress.class';

export const ingressWarnings: Warnings = (ingress, old) => {
  if (old !== undefined) return ingressStatusWarnings(ingress);
  const isOld = ingress.metadata.annotations?.[INGRESS_CLASS] !== undefined;
  if (!isOld || look(ingress, 'spec').ingressClassName !== undefined) return [];
  return [`annotation "${INGRESS_CLASS}" is deprecated, please use 'spec.ingressClassName' instead`];
};
