import { tooLong } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { isNumber, isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { roundAmounts } from '../../apimachinery/objects/quantity.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { ipProblems, parseAddress } from '../base/addresses.ts';
import { userIdProblems } from '../base/formats.ts';
import { canTerminatedRun } from './restarts.ts';

const SYSTEM_CONDITIONS = ['Initialized', 'PodScheduled', 'Ready'];
const HEALTH = ['Healthy', 'Unhealthy', 'Unknown'];
const LONGEST_MESSAGE = 1024;
const MOST_IPS = 2;

const LISTS = [
  ['containerStatuses', 'containers'],
  ['initContainerStatuses', 'initContainers'],
  ['ephemeralContainerStatuses', 'ephemeralContainers'],
] as const;

function notNegative(findings: Findings, holder: Plain, at: string): void {
  const { observedGeneration: value } = holder;
  if (isNumber(value) && value < 0) {
    findings.invalid(`${at}.observedGeneration`, value, 'must be a non-negative integer');
  }
}

function conditionFindings(findings: Findings, status: Plain): void {
  for (const [index, condition] of items(status, 'conditions').entries()) {
    const at = `status.conditions[${index}]`;
    notNegative(findings, condition, at);
    const type = text(condition, 'type');
    if (!SYSTEM_CONDITIONS.includes(type)) findings.qualifiedName(`${at}.Type`, type);
  }
}

function nominationFindings(findings: Findings, pod: ApiObject, old: ApiObject): void {
  const field = 'status.nominatedNodeName';
  const name = text(pod.status, 'nominatedNodeName');
  if (name === '' || name === text(old.status, 'nominatedNodeName')) return;
  findings.problems(field, name, subdomainProblems(name));
  if (text(look(old, 'spec'), 'nodeName') !== '') {
    findings.forbidden(field, 'may not be set on pods that are already bound to a node');
  }
}

/** Validates the state changes of containers. After a permanent end, a container must not run again. */
function transitionFindings(findings: Findings, pod: ApiObject, old: ApiObject): void {
  const spec = look(old, 'spec');
  for (const [list, containers] of LISTS) {
    const now = items(pod.status, list);
    for (const [index, before] of items(old.status, list).entries()) {
      const { terminated } = look(before, 'state');
      if (!isRecord(terminated)) continue;
      const next = now.filter(({ name, state }) => name === before.name && !isRecord(look(state).terminated));
      if (next.length === 0 || canTerminatedRun(spec, containers, text(before, 'name'), terminated.exitCode ?? 0))
        continue;
      const why = 'may not be transitioned to non-terminated state';
      // As in kube-apiserver, each ephemeral container causes one error, and all other containers together cause one
      // error.
      const count = list === 'ephemeralContainerStatuses' ? next.length : 1;
      for (let each = 0; each < count; each += 1) findings.forbidden(`status.${list}[${index}].state`, why);
    }
  }
}

function claimFindings(findings: Findings, pod: ApiObject): void {
  const claims = items(look(pod, 'spec'), 'resourceClaims').map((claim) => text(claim, 'name'));
  const seen = new Set<string>();
  for (const [index, claim] of items(pod.status, 'resourceClaimStatuses').entries()) {
    const at = `status.resourceClaimStatuses[${index}]`;
    const name = text(claim, 'name');
    if (!claims.includes(name)) {
      findings.invalid(`${at}.name`, name, 'must match the name of an entry in `spec.resourceClaims`');
    }
    if (seen.has(name)) findings.duplicate(`${at}.name`, name);
    seen.add(name);
    const claimName = claim.resourceClaimName;
    if (typeof claimName === 'string') {
      findings.problems(`${at}.resourceClaimName`, claimName, subdomainProblems(claimName));
    }
  }
}

function extendedClaimFindings(findings: Findings, pod: ApiObject): void {
  const claim = look(pod.status).extendedResourceClaimStatus;
  if (!isRecord(claim)) return;
  const at = 'status.extendedResourceClaimStatus';
  const spec = look(pod, 'spec');
  const containers = new Map(
    [...items(spec, 'initContainers'), ...items(spec, 'containers')].map((each) => [text(each, 'name'), each]),
  );
  const mappings = items(claim, 'requestMappings');
  if (mappings.length === 0) findings.required(`${at}.requestMappings`, 'at least one request mapping is required');
  const lists = 'spec.initContainers.resources.requests or spec.containers.resources.requests';
  const seen = new Set<string>();
  for (const [index, mapping] of mappings.entries()) {
    const here = `${at}.requestMappings[${index}]`;
    const [container, resource, request] = ['containerName', 'resourceName', 'requestName'].map((field) =>
      text(mapping, field),
    ) as [string, string, string];
    const found = containers.get(container);
    if (found === undefined) {
      const why = 'must match the name of an entry in spec.initContainers.name or spec.containers.name';
      findings.invalid(`${here}.containerName`, container, why);
    } else if (!Object.hasOwn(look(found, 'resources', 'requests'), resource)) {
      findings.invalid(
        `${here}.resourceName`,
        resource,
        `must match the extended resource name of an entry in ${lists}`,
      );
    }
    findings.problems(`${at}.requestName`, request, labelProblems(request));
    const id = JSON.stringify([container, resource, request]);
    if (seen.has(id)) {
      findings.duplicate(`${here}.containerName`, container);
      findings.duplicate(`${here}.resourceName`, resource);
      findings.duplicate(`${here}.requestName`, request);
    }
    seen.add(id);
  }
  const name = text(claim, 'resourceClaimName');
  if (name === '') findings.required(`${at}.resourceClaimName`);
  else findings.problems(`${at}.resourceClaimName`, name, subdomainProblems(name));
}

const isSix = (address: string): boolean => (parseAddress(address)?.bytes.length ?? 0) > 4;

/** Validates the addresses of a pod. */
function addressFindings(findings: Findings, pod: ApiObject, old: ApiObject, list: 'podIPs' | 'hostIPs'): void {
  const field = `status.${list}`;
  const entries = items(pod.status, list);
  const addresses = entries.map((entry) => text(entry, 'ip'));
  const [first] = addresses;
  if (first === undefined) return;
  if (list === 'hostIPs' && text(pod.status, 'hostIP') !== first) {
    findings.invalid(`${field}[0].ip`, first, 'must be equal to `hostIP`');
  }
  const known = items(old.status, list).map((entry) => text(entry, 'ip'));
  for (const [index, address] of addresses.entries()) {
    if (!known.includes(address)) findings.problems(`${field}[${index}]`, address, ipProblems(address));
  }
  if (addresses.length < MOST_IPS) return;
  const broken = addresses.findIndex((address) => parseAddress(address) === undefined);
  if (broken >= 0) {
    const why = `failed to check for dual stack with error:invalid IP[${broken}]: ${addresses[broken]}`;
    findings.add([{ reason: 'InternalError', message: `Internal error: ${why}`, field }]);
  }
  const isPair = addresses.some(isSix) && !addresses.every(isSix) && broken < 0;
  if (!isPair || addresses.length > MOST_IPS) {
    const shown = entries.map((entry) => ({ IP: text(entry, 'ip') }));
    findings.invalid(field, shown, 'may specify no more than one IP for each IP family');
  }
}

function userFindings(findings: Findings, pod: ApiObject): void {
  const system = look(look(pod, 'spec'), 'os').name ?? 'linux';
  for (const [list] of LISTS) {
    for (const [index, container] of items(pod.status, list).entries()) {
      const at = `status.${list}[${index}].user.linux`;
      const { linux } = look(container, 'user');
      if (!isRecord(linux)) continue;
      if (system === 'windows') findings.forbidden(at, 'cannot be set for a windows pod');
      if (system !== 'linux') continue;
      for (const id of ['uid', 'gid']) findings.problems(`${at}.${id}`, linux[id] ?? 0, userIdProblems(linux[id] ?? 0));
      const groups = Array.isArray(linux.supplementalGroups) ? linux.supplementalGroups : [];
      for (const [at_, group] of groups.entries()) {
        findings.problems(`${at}.supplementalGroups[${at_}]`, group, userIdProblems(group));
      }
    }
  }
}

function nameFindings(findings: Findings, resource: Plain, container: Plain, at: string): void {
  const name = text(resource, 'name');
  const resources = look(container, 'resources');
  if (name.startsWith('claim:')) {
    const claims = items(resources, 'claims').map((claim) => {
      const request = text(claim, 'request');
      return `claim:${text(claim, 'name')}${request === '' ? '' : `/${request}`}`;
    });
    const form = "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
    const why = `must match one of the container's resource claims in a format ${form}`;
    if (!claims.includes(name)) findings.invalid(`${at}.name`, name, why);
  } else if (!Object.hasOwn(look(resources, 'requests'), name)) {
    findings.invalid(`${at}.name`, name, "must match one of the container's resource requests");
  }
}

function healthFindings(findings: Findings, resource: Plain, at: string): void {
  const seen = new Set<string>();
  for (const [index, one] of items(resource, 'resources').entries()) {
    const here = `${at}.resources[${index}]`;
    findings.oneOf(`${here}.health`, text(one, 'health'), HEALTH);
    const { message } = one;
    if (message === '') findings.required(`${here}.message`, 'must be non-empty if specified');
    else if (typeof message === 'string' && Buffer.byteLength(message) > LONGEST_MESSAGE) {
      findings.add([tooLong(`${here}.message`, LONGEST_MESSAGE)]);
    }
    const id = text(one, 'resourceID');
    if (seen.has(id)) findings.duplicate(`${here}.resourceID`, id);
    seen.add(id);
  }
}

function allocatedFindings(findings: Findings, pod: ApiObject): void {
  const spec = look(pod, 'spec');
  for (const [list, containers] of LISTS) {
    for (const [index, status] of items(pod.status, list).entries()) {
      const at = `status.${list}[${index}].allocatedResourcesStatus`;
      const resources = items(status, 'allocatedResourcesStatus');
      if (list === 'ephemeralContainerStatuses') {
        if (resources.length > 0) findings.forbidden(at, 'must not be specified in container status');
        continue;
      }
      const container = items(spec, containers).find(({ name }) => name === status.name);
      for (const [each, resource] of resources.entries()) {
        if (container !== undefined) nameFindings(findings, resource, container, `${at}[${each}]`);
        healthFindings(findings, resource, `${at}[${each}]`);
      }
    }
  }
}

/** Validates an update of the pod status, as `ValidatePodStatusUpdate` in Kubernetes. */
export function podStatusCauses(pod: ApiObject, old: ApiObject): StatusCause[] {
  const findings = new Findings();
  const status = look(pod, 'status');
  conditionFindings(findings, status);
  nominationFindings(findings, pod, old);
  notNegative(findings, status, 'status');
  const before = text(old.status, 'qosClass');
  if (text(status, 'qosClass') !== before)
    findings.invalid('status.qosClass', text(status, 'qosClass'), 'field is immutable');
  transitionFindings(findings, pod, old);
  claimFindings(findings, pod);
  extendedClaimFindings(findings, pod);
  addressFindings(findings, pod, old, 'podIPs');
  addressFindings(findings, pod, old, 'hostIPs');
  userFindings(findings, pod);
  allocatedFindings(findings, pod);
  return findings.causes;
}

/** Keeps the old `observedGeneration` of the pod or of a condition if an update omits it. */
export function keepGenerations(pod: ApiObject, old: ApiObject): void {
  const { status } = pod;
  if (!isRecord(status)) return;
  const before = look(old, 'status');
  if ((status.observedGeneration ?? 0) === 0 && before.observedGeneration !== undefined) {
    status.observedGeneration = before.observedGeneration;
  }
  const byType = Map.groupBy(items(before, 'conditions'), (condition) => text(condition, 'type'));
  for (const condition of items(status, 'conditions')) {
    const known = byType.get(text(condition, 'type'))?.shift()?.observedGeneration;
    if ((condition.observedGeneration ?? 0) === 0 && known !== undefined) condition.observedGeneration = known;
  }
}

/** Rounds the quantities in a pod status up to thousandths. */
export function roundStatus(status: Plain): void {
  const containers = LISTS.flatMap(([list]) => items(status, list));
  for (const holder of [status, ...containers]) {
    roundAmounts(holder.allocatedResources);
    for (const list of ['limits', 'requests']) roundAmounts(look(holder, 'resources')[list]);
  }
}

/** Sets `podIP` to the first item of `podIPs`. */
export function followAddress(status: Plain): void {
  const address = text(status, 'podIP');
  const first = text(items(status, 'podIPs')[0], 'ip');
  if (address === '' && first !== '') status.podIP = first;
  else if (address !== first) status.podIPs = [{ ip: address }];
}
