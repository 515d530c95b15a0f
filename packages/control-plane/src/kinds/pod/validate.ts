import { rangeCauses } from '../../apimachinery/errors/causes.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { emptiesOf, holdsEmpties } from '../../apimachinery/objects/empties.ts';
import { isNumber, isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, labels, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { ipProblems } from '../base/addresses.ts';
import { searchDomainProblems } from '../base/formats.ts';
import { labelFindings } from '../base/selector.ts';
import {
  type ContainerContext,
  containerFindings,
  initContainerFindings,
  mainContainerFindings,
} from './rules/containers.ts';
import { fileVolumeFindings } from './rules/files.ts';
import { hostNameFindings, hostProcessFindings, hostUsersFindings, systemFindings } from './rules/host.ts';
import { podResourceFindings } from './rules/pod-resources.ts';
import { podClaimFindings, resourceFindings } from './rules/resources.ts';
import { affinityFindings, spreadFindings, tolerationFindings } from './rules/scheduling.ts';
import { podSecurityFindings } from './rules/security.ts';
import { volumeFindings } from './rules/volumes.ts';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const MAX_INT32 = 2_147_483_647;
const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_LENGTH = 2048;

export function tolerationCauses(tolerations: readonly Plain[], path: string): StatusCause[] {
  const findings = new Findings();
  tolerationFindings(findings, tolerations, path);
  return findings.causes;
}

/** Fields that an ephemeral container must not have. */
const NOT_EPHEMERAL = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
];
const COUNT_EMPTY: ReadonlySet<string> = new Set(['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle']);

function isGiven(container: Plain, field: string): boolean {
  const value = container[field] ?? undefined;
  if (value === undefined) return emptiesOf(container)[field] !== undefined;
  if (Array.isArray(value)) return value.length > 0;
  return !isRecord(value) || COUNT_EMPTY.has(field) || Object.keys(value).length > 0 || holdsEmpties(value);
}

function ephemeralFindings(findings: Findings, spec: Plain, at: string, context: ContainerContext): void {
  const others = [...items(spec, 'containers'), ...items(spec, 'initContainers')];
  const names = new Set(others.map((container) => text(container, 'name')));
  for (const [index, container] of items(spec, 'ephemeralContainers').entries()) {
    const here = `${at}[${index}]`;
    containerFindings(findings, container, here, context);
    const name = text(container, 'name');
    if (names.has(name)) findings.duplicate(`${here}.name`, name);
    names.add(name);
    const target = text(container, 'targetContainerName');
    if (target !== '' && !others.some((other) => other.name === target)) {
      findings.notFound(`${here}.targetContainerName`, target);
    }
    for (const field of NOT_EPHEMERAL) {
      if (isGiven(container, field)) findings.forbidden(`${here}.${field}`, 'cannot be set for an Ephemeral Container');
    }
    for (const [position, mount] of items(container, 'volumeMounts').entries()) {
      for (const field of ['subPath', 'subPathExpr']) {
        if (text(mount, field) !== '') {
          findings.forbidden(`${here}.volumeMounts[${position}].${field}`, 'cannot be set for an Ephemeral Container');
        }
      }
    }
  }
}

/**
 * Validates the ports of a pod with hostNetwork, which are ports of its node. A template may omit the host ports,
 * because its pods get defaults.
 */
function hostNetworkFindings(findings: Findings, spec: Plain, path: string): void {
  if (spec.hostNetwork !== true) return;
  const isPod = path === 'spec';
  for (const [index, container] of items(spec, 'containers').entries()) {
    for (const [position, port] of items(container, 'ports').entries()) {
      const hostPort = port.hostPort ?? 0;
      if (hostPort === port.containerPort || (hostPort === 0 && !isPod)) continue;
      findings.invalid(
        `${path}.containers[${index}].ports[${position}].hostPort`,
        hostPort,
        'must match `containerPort` when `hostNetwork` is true',
      );
    }
  }
}

function dnsFindings(findings: Findings, spec: Plain, path: string): void {
  const at = `${path}.dnsConfig`;
  const config = spec.dnsConfig;
  const servers = strings(config, 'nameservers');
  if (spec.dnsPolicy === 'None') {
    if (!isRecord(config)) {
      findings.required(at, 'must provide `dnsConfig` when `dnsPolicy` is None');
      return;
    }
    if (servers.length === 0) {
      const why = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
      findings.required(`${at}.nameservers`, why);
      return;
    }
  }
  if (!isRecord(config)) return;
  if (servers.length > MAX_NAMESERVERS) {
    findings.invalid(`${at}.nameservers`, servers, `must not have more than ${MAX_NAMESERVERS} nameservers`);
  }
  for (const [index, server] of servers.entries()) {
    findings.problems(`${at}.nameservers[${index}]`, server, ipProblems(server));
  }
  const searches = strings(config, 'searches');
  if (searches.length > MAX_SEARCHES) {
    findings.invalid(`${at}.searches`, searches, `must not have more than ${MAX_SEARCHES} search paths`);
  }
  if (searches.join(' ').length > MAX_SEARCH_LENGTH) {
    const why = `must not have more than ${MAX_SEARCH_LENGTH} characters (including spaces) in the search list`;
    findings.invalid(`${at}.searches`, searches, why);
  }
  for (const [index, search] of searches.entries()) {
    if (search === '.') continue;
    const bare = search.replace(/\.$/, '');
    findings.problems(`${at}.searches[${index}]`, bare, searchDomainProblems(bare));
  }
  for (const [index, option] of items(config, 'options').entries()) {
    if (text(option, 'name') === '') findings.required(`${at}.options[${index}]`, 'must not be empty');
  }
}

function gateFindings(findings: Findings, spec: Plain, path: string): void {
  for (const [index, gate] of items(spec, 'readinessGates').entries()) {
    findings.qualifiedName(`${path}.readinessGates[${index}].conditionType`, text(gate, 'conditionType'));
  }
  const seen = new Set<string>();
  for (const [index, gate] of items(spec, 'schedulingGates').entries()) {
    const at = `${path}.schedulingGates[${index}]`;
    const name = text(gate, 'name');
    findings.qualifiedName(at, name);
    if (seen.has(name)) findings.duplicate(at, name);
    seen.add(name);
  }
}

function named(findings: Findings, spec: Plain, path: string, field: string, rule: (name: string) => string[]): void {
  const value = text(spec, field);
  if (value !== '') findings.problems(`${path}.${field}`, value, rule(value));
}

/** Validates the fields of a pod that do not depend on other fields, in the order of kube-apiserver. */
function restFindings(findings: Findings, spec: Plain, path: string): void {
  named(findings, spec, path, 'serviceAccountName', subdomainProblems);
  named(findings, spec, path, 'nodeName', subdomainProblems);
  const deadline = spec.activeDeadlineSeconds;
  if (isNumber(deadline)) findings.add(rangeCauses(`${path}.activeDeadlineSeconds`, deadline, 1, MAX_INT32));
  named(findings, spec, path, 'hostname', labelProblems);
  named(findings, spec, path, 'subdomain', labelProblems);
  tolerationFindings(findings, items(spec, 'tolerations'), `${path}.tolerations`);
  for (const [index, alias] of items(spec, 'hostAliases').entries()) {
    const at = `${path}.hostAliases[${index}]`;
    findings.problems(`${at}.ip`, text(alias, 'ip'), ipProblems(text(alias, 'ip')));
    for (const [position, hostname] of strings(alias, 'hostnames').entries()) {
      findings.problems(`${at}.hostnames[${position}]`, hostname, subdomainProblems(hostname));
    }
  }
  named(findings, spec, path, 'priorityClassName', subdomainProblems);
  named(findings, spec, path, 'runtimeClassName', subdomainProblems);
  if (spec.preemptionPolicy !== undefined) {
    findings.oneOf(`${path}.preemptionPolicy`, spec.preemptionPolicy, ['PreemptLowerPriority', 'Never'], true);
  }
  resourceFindings(findings, { limits: look(spec, 'overhead') }, `${path}.overhead`);
  systemFindings(findings, spec, path);
}

/** Validates the spec of a pod, as `ValidatePodSpec` in Kubernetes. */
export function podSpecCauses(spec: Plain, path: string, podName = ''): StatusCause[] {
  const findings = new Findings();
  const grace = number(spec, 'terminationGracePeriodSeconds') ?? 30;
  const volumes = volumeFindings(findings, spec, `${path}.volumes`, podName);
  const context: ContainerContext = {
    deviceClaims: new Set(items(spec, 'resourceClaims').map((claim) => text(claim, 'name'))),
    volumes,
    claims: new Map(
      items(spec, 'volumes')
        .filter((volume) => volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined)
        .map((volume) => [text(volume, 'name'), volume]),
    ),
    restartPolicy: text(spec, 'restartPolicy'),
    hostUsers: spec.hostUsers !== false,
  };
  podClaimFindings(findings, spec, `${path}.resourceClaims`);
  const containers = items(spec, 'containers');
  mainContainerFindings(findings, containers, `${path}.containers`, context, grace);
  const init = items(spec, 'initContainers');
  initContainerFindings(findings, init, containers, `${path}.initContainers`, context, grace);
  ephemeralFindings(findings, spec, `${path}.ephemeralContainers`, context);
  podResourceFindings(findings, spec, path, context.deviceClaims);
  hostNetworkFindings(findings, spec, path);
  findings.oneOf(`${path}.restartPolicy`, spec.restartPolicy, RESTART_POLICIES, true);
  findings.oneOf(`${path}.dnsPolicy`, spec.dnsPolicy, DNS_POLICIES, true);
  labelFindings(findings, labels(spec, 'nodeSelector'), `${path}.nodeSelector`);
  podSecurityFindings(findings, spec, path);
  affinityFindings(findings, spec.affinity, `${path}.affinity`);
  dnsFindings(findings, spec, path);
  gateFindings(findings, spec, path);
  spreadFindings(findings, spec, `${path}.topologySpreadConstraints`);
  hostProcessFindings(findings, spec, path);
  hostUsersFindings(findings, spec, path);
  hostNameFindings(findings, spec, path);
  restFindings(findings, spec, path);
  fileVolumeFindings(findings, spec, path);
  return findings.causes;
}

/** Validates the images of a pod. Spaces at the start or end are invalid in a pod, but valid in a template. */
function imageCauses(spec: Plain, path: string): StatusCause[] {
  const findings = new Findings();
  for (const list of ['containers', 'initContainers']) {
    for (const [index, container] of items(spec, list).entries()) {
      const image = text(container, 'image');
      if (image.trim() !== image) {
        const why = 'must not have leading or trailing whitespace';
        findings.invalid(`${path}.${list}[${index}].image`, image, why);
      }
    }
  }
  return findings.causes;
}

/** Returns an error for each token volume of a pod without a service account, because such a pod has no token. */
export function tokenCauses(spec: Plain, path: string): StatusCause[] {
  if (text(spec, 'serviceAccountName') !== '') return [];
  const findings = new Findings();
  for (const [index, volume] of items(spec, 'volumes').entries()) {
    for (const [position, source] of items(look(volume, 'projected'), 'sources').entries()) {
      if (source.serviceAccountToken === undefined) continue;
      const at = `${path}.volumes[${index}].projected.sources[${position}].serviceAccountToken`;
      findings.forbidden(at, 'must not be specified when serviceAccountName is not set');
    }
  }
  return findings.causes;
}

export const podCauses = (pod: ApiObject): StatusCause[] => [
  ...podSpecCauses(look(pod, 'spec'), 'spec', pod.metadata.name),
  ...tokenCauses(look(pod, 'spec'), 'spec'),
  ...imageCauses(look(pod, 'spec'), 'spec'),
];

/** Returns errors for fields of a new pod that only a later write can set (`ValidatePodCreate`). */
export function podCreateCauses(pod: ApiObject): StatusCause[] {
  const spec = look(pod, 'spec');
  const findings = new Findings();
  if (items(spec, 'ephemeralContainers').length > 0)
    findings.forbidden('spec.ephemeralContainers', 'cannot be set on create');
  if (text(spec, 'nodeName') !== '' && items(spec, 'schedulingGates').length > 0)
    findings.forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared');
  return [...podCauses(pod), ...findings.causes];
}
