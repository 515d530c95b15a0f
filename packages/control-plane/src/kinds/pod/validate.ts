import type { ApiObject } from '../../object.ts';
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../../registry/errors.ts';
import { labelProblems, qualifiedNameProblems, subdomainProblems } from '../../registry/names.ts';
import type { StatusCause } from '../../status.ts';
import { duplicateValue, notFoundValue, portCauses, rangeCauses } from '../causes.ts';
import { isPlain, items, labels, look, number, type Plain, text } from '../plain.ts';
import { quantityNanos } from '../quantity.ts';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const MAX_INT32 = 2_147_483_647;

/** Requests may not be above limits, and neither below zero. */
function resourceCauses(container: Plain, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const resources = look(container, 'resources');
  const limits = look(resources, 'limits');
  const requests = look(resources, 'requests');
  for (const [list, quantities] of [
    ['limits', limits],
    ['requests', requests],
  ] as const) {
    for (const [name, quantity] of Object.entries(quantities)) {
      if (quantityNanos(quantity) < 0n) {
        causes.push(invalidValue(`${path}.resources.${list}[${name}]`, quantity, 'must be greater than or equal to 0'));
      }
    }
  }
  for (const [name, request] of Object.entries(requests)) {
    const limit = limits[name];
    if (limit !== undefined && quantityNanos(request) > quantityNanos(limit)) {
      causes.push(
        invalidValue(`${path}.resources.requests`, request, `must be less than or equal to ${name} limit of ${limit}`),
      );
    }
  }
  return causes;
}

function containerPortCauses(container: Plain, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const [index, port] of items(container, 'ports').entries()) {
    const at = `${path}.ports[${index}]`;
    causes.push(...portCauses(`${at}.containerPort`, number(port, 'containerPort') ?? 0));
    const hostPort = number(port, 'hostPort') ?? 0;
    if (hostPort !== 0) causes.push(...portCauses(`${at}.hostPort`, hostPort));
    const protocol = text(port, 'protocol');
    if (!PROTOCOLS.includes(protocol)) causes.push(unsupportedValue(`${at}.protocol`, protocol, PROTOCOLS));
  }
  return causes;
}

function mountCauses(container: Plain, path: string, volumes: ReadonlySet<string>): StatusCause[] {
  const causes: StatusCause[] = [];
  const paths = new Set<string>();
  for (const [index, mount] of items(container, 'volumeMounts').entries()) {
    const at = `${path}.volumeMounts[${index}]`;
    const name = text(mount, 'name');
    if (name === '') causes.push(requiredValue(`${at}.name`));
    if (!volumes.has(name)) causes.push(notFoundValue(`${at}.name`, name));
    const mountPath = text(mount, 'mountPath');
    if (mountPath === '') causes.push(requiredValue(`${at}.mountPath`));
    if (paths.has(mountPath)) causes.push(invalidValue(`${at}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
  }
  return causes;
}

function environmentCauses(container: Plain, path: string): StatusCause[] {
  return items(container, 'env').flatMap((variable, index) =>
    text(variable, 'name') === '' ? [requiredValue(`${path}.env[${index}].name`)] : [],
  );
}

function containerCauses(
  container: Plain,
  path: string,
  names: Set<string>,
  volumes: ReadonlySet<string>,
): StatusCause[] {
  const causes: StatusCause[] = [];
  const name = text(container, 'name');
  if (name === '') causes.push(requiredValue(`${path}.name`));
  else for (const problem of labelProblems(name)) causes.push(invalidValue(`${path}.name`, name, problem));
  if (names.has(name)) causes.push(duplicateValue(`${path}.name`, name));
  names.add(name);
  const image = text(container, 'image');
  if (image === '') causes.push(requiredValue(`${path}.image`));
  else if (image.trim() !== image) {
    causes.push(invalidValue(`${path}.image`, image, 'must not have leading or trailing whitespace'));
  }
  const policy = text(container, 'imagePullPolicy');
  if (!PULL_POLICIES.includes(policy)) {
    causes.push(unsupportedValue(`${path}.imagePullPolicy`, policy, PULL_POLICIES));
  }
  causes.push(
    ...containerPortCauses(container, path),
    ...environmentCauses(container, path),
    ...mountCauses(container, path, volumes),
    ...resourceCauses(container, path),
  );
  return causes;
}

function volumeCauses(spec: Plain, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const names = new Set<string>();
  for (const [index, volume] of items(spec, 'volumes').entries()) {
    const at = `${path}.volumes[${index}]`;
    const sources = Object.keys(volume).filter((field) => field !== 'name');
    for (const extra of sources.slice(1)) {
      causes.push(forbiddenValue(`${at}.${extra}`, 'may not specify more than 1 volume type'));
    }
    const claim = volume.persistentVolumeClaim;
    if (isPlain(claim) && text(claim, 'claimName') === '') {
      causes.push(requiredValue(`${at}.persistentVolumeClaim.claimName`));
    }
    const name = text(volume, 'name');
    if (name === '') causes.push(requiredValue(`${at}.name`));
    else for (const problem of labelProblems(name)) causes.push(invalidValue(`${at}.name`, name, problem));
    if (names.has(name)) causes.push(duplicateValue(`${at}.name`, name));
    names.add(name);
  }
  return causes;
}

/** Causes that tolerations give. */
export function tolerationCauses(tolerations: readonly Plain[], path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const [index, toleration] of tolerations.entries()) {
    const at = `${path}[${index}]`;
    const key = text(toleration, 'key');
    const operator = text(toleration, 'operator');
    const effect = text(toleration, 'effect');
    for (const problem of key === '' ? [] : qualifiedNameProblems(key)) {
      causes.push(invalidValue(`${at}.key`, key, problem));
    }
    if (key === '' && operator !== 'Exists') {
      causes.push(
        invalidValue(
          `${at}.operator`,
          operator,
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
      );
    }
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
      causes.push(invalidValue(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (operator === 'Exists' && text(toleration, 'value') !== '') {
      causes.push(invalidValue(`${at}.operator`, toleration, "value must be empty when `operator` is 'Exists'"));
    }
    if (operator !== '' && operator !== 'Equal' && operator !== 'Exists') {
      causes.push(unsupportedValue(`${at}.operator`, operator, ['Equal', 'Exists']));
    }
    if (effect !== '' && !EFFECTS.includes(effect)) causes.push(unsupportedValue(`${at}.effect`, effect, EFFECTS));
  }
  return causes;
}

/** Causes that a pod's spec gives (`ValidatePodSpec`), in the order of the real server. */
export function podSpecCauses(spec: Plain, path: string): StatusCause[] {
  const causes = volumeCauses(spec, path);
  const volumes = new Set(items(spec, 'volumes').map((volume) => text(volume, 'name')));
  const names = new Set<string>();
  const containers = items(spec, 'containers');
  if (containers.length === 0) causes.push(requiredValue(`${path}.containers`));
  for (const [index, container] of containers.entries()) {
    causes.push(...containerCauses(container, `${path}.containers[${index}]`, names, volumes));
  }
  for (const [index, container] of items(spec, 'initContainers').entries()) {
    causes.push(...containerCauses(container, `${path}.initContainers[${index}]`, names, volumes));
  }
  const restartPolicy = text(spec, 'restartPolicy');
  if (!RESTART_POLICIES.includes(restartPolicy)) {
    causes.push(unsupportedValue(`${path}.restartPolicy`, restartPolicy, RESTART_POLICIES));
  }
  const dnsPolicy = text(spec, 'dnsPolicy');
  if (!DNS_POLICIES.includes(dnsPolicy)) causes.push(unsupportedValue(`${path}.dnsPolicy`, dnsPolicy, DNS_POLICIES));
  for (const key of Object.keys(labels(spec, 'nodeSelector'))) {
    for (const problem of qualifiedNameProblems(key)) causes.push(invalidValue(`${path}.nodeSelector`, key, problem));
  }
  if (dnsPolicy === 'None' && spec.dnsConfig === undefined) {
    causes.push(requiredValue(`${path}.dnsConfig`, 'must provide `dnsConfig` when `dnsPolicy` is None'));
  }
  const account = text(spec, 'serviceAccountName');
  for (const problem of account === '' ? [] : subdomainProblems(account)) {
    causes.push(invalidValue(`${path}.serviceAccountName`, account, problem));
  }
  const nodeName = text(spec, 'nodeName');
  for (const problem of nodeName === '' ? [] : subdomainProblems(nodeName)) {
    causes.push(invalidValue(`${path}.nodeName`, nodeName, problem));
  }
  const deadline = number(spec, 'activeDeadlineSeconds');
  if (deadline !== undefined) causes.push(...rangeCauses(`${path}.activeDeadlineSeconds`, deadline, 1, MAX_INT32));
  const hostname = text(spec, 'hostname');
  for (const problem of hostname === '' ? [] : labelProblems(hostname)) {
    causes.push(invalidValue(`${path}.hostname`, hostname, problem));
  }
  const subdomain = text(spec, 'subdomain');
  for (const problem of subdomain === '' ? [] : labelProblems(subdomain)) {
    causes.push(invalidValue(`${path}.subdomain`, subdomain, problem));
  }
  causes.push(...tolerationCauses(items(spec, 'tolerations'), `${path}.tolerations`));
  return causes;
}

export const podCauses = (pod: ApiObject): StatusCause[] => podSpecCauses(look(pod, 'spec'), 'spec');
