import type { Findings } from '../../../apimachinery/errors/findings.ts';
import { labelProblems, subdomainProblems } from '../../../apimachinery/errors/names.ts';
import { isNumber, isRecord } from '../../../apimachinery/objects/json-value.ts';
import { items, look, number, type Plain, strings, text } from '../../../apimachinery/objects/plain.ts';
import {
  descendingPathProblems,
  environmentNameProblems,
  headerNameProblems,
  portNameProblems,
} from '../../base/formats.ts';
import { fileRefFindings } from './files.ts';
import { ENVIRONMENT_FIELDS, fieldRefFindings, resourceRefFindings } from './references.ts';
import { deviceClaimFindings, resourceFindings } from './resources.ts';
import { initRestartFindings, restartFindings } from './restart.ts';
import { containerSecurityFindings } from './security.ts';

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];
const TERMINATION_POLICIES = ['File', 'FallbackToLogsOnError'];
const PROPAGATIONS = ['Bidirectional', 'HostToContainer', 'None'];
const RECURSIVE_MODES = ['Disabled', 'Enabled', 'IfPossible'];

export interface ContainerContext {
  readonly volumes: ReadonlySet<string>;
  readonly claims: ReadonlyMap<string, Plain>;
  readonly deviceClaims: ReadonlySet<string>;
  readonly restartPolicy: string;
  readonly hostUsers: boolean;
}

function portFindings(findings: Findings, container: Plain, at: string): void {
  const names = new Set<string>();
  for (const [index, port] of items(container, 'ports').entries()) {
    const here = `${at}.ports[${index}]`;
    const name = text(port, 'name');
    if (name !== '') {
      const problems = portNameProblems(name);
      if (problems.length > 0) findings.problems(`${here}.name`, name, problems);
      else if (names.has(name)) findings.duplicate(`${here}.name`, name);
      names.add(name);
    }
    const containerPort = number(port, 'containerPort') ?? 0;
    if (containerPort === 0) findings.required(`${here}.containerPort`);
    else findings.port(`${here}.containerPort`, containerPort);
    const hostPort = number(port, 'hostPort') ?? 0;
    if (hostPort !== 0) findings.port(`${here}.hostPort`, hostPort);
    findings.oneOf(`${here}.protocol`, text(port, 'protocol'), PROTOCOLS, true);
  }
}

function environmentFindings(findings: Findings, container: Plain, at: string): void {
  for (const [index, variable] of items(container, 'env').entries()) {
    const here = `${at}.env[${index}]`;
    const name = text(variable, 'name');
    if (name === '') findings.required(`${here}.name`);
    else findings.problems(`${here}.name`, name, environmentNameProblems(name));
    const from = variable.valueFrom;
    if (!isRecord(from)) continue;
    const source = `${here}.valueFrom`;
    if (isRecord(from.fieldRef)) {
      fieldRefFindings(findings, from.fieldRef, `${source}.fieldRef`, ENVIRONMENT_FIELDS);
    }
    if (isRecord(from.resourceFieldRef)) {
      resourceRefFindings(findings, from.resourceFieldRef, `${source}.resourceFieldRef`, false);
    }
    for (const kind of ['configMapKeyRef', 'secretKeyRef']) keyRefFindings(findings, from[kind], `${source}.${kind}`);
    fileRefFindings(findings, from.fileKeyRef, `${source}.fileKeyRef`);
    const count = Object.keys(from).length;
    if (count === 0) {
      findings.invalid(
        source,
        '',
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      );
    } else if (text(variable, 'value') !== '') {
      findings.invalid(source, '', 'may not be specified when `value` is not empty');
    } else if (count > 1) findings.invalid(source, '', 'may not have more than one field specified at a time');
  }
}

const KEY = /^[-._a-zA-Z0-9]+$/;
const KEY_RULE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

function keyRefFindings(findings: Findings, ref: unknown, at: string): void {
  if (!isRecord(ref)) return;
  const name = text(ref, 'name');
  findings.problems(`${at}.name`, name, subdomainProblems(name));
  const key = text(ref, 'key');
  if (key === '') {
    findings.required(`${at}.key`);
    return;
  }
  if (key.length > 253) findings.invalid(`${at}.key`, key, 'must be no more than 253 characters');
  if (!KEY.test(key)) findings.invalid(`${at}.key`, key, KEY_RULE);
  if (key === '.' || key === '..') findings.invalid(`${at}.key`, key, `must not be '${key}'`);
  else if (key.startsWith('..')) findings.invalid(`${at}.key`, key, "must not start with '..'");
}

function environmentSourceFindings(findings: Findings, container: Plain, at: string): void {
  for (const [index, source] of items(container, 'envFrom').entries()) {
    const here = `${at}.envFrom[${index}]`;
    const prefix = text(source, 'prefix');
    if (prefix !== '') findings.problems(`${here}.prefix`, prefix, environmentNameProblems(prefix));
    let count = 0;
    for (const kind of ['configMapRef', 'secretRef']) {
      const ref = source[kind];
      if (!isRecord(ref)) continue;
      count++;
      const name = text(ref, 'name');
      if (name === '') findings.required(`${here}.${kind}.name`);
      else findings.problems(`${here}.${kind}.name`, name, subdomainProblems(name.replace(/-$/, 'x')));
    }
    if (count === 0) findings.invalid(`${at}.envFrom`, '', 'must specify one of: `configMapRef` or `secretRef`');
    else if (count > 1) {
      findings.invalid(`${at}.envFrom`, '', 'may not have more than one field specified at a time');
    }
  }
}

function mountFindings(findings: Findings, container: Plain, at: string, context: ContainerContext): void {
  const paths = new Set<string>();
  const devices = items(container, 'volumeDevices');
  for (const [index, mount] of items(container, 'volumeMounts').entries()) {
    const here = `${at}.volumeMounts[${index}]`;
    const name = text(mount, 'name');
    if (name === '') findings.required(`${here}.name`);
    if (!context.volumes.has(name)) findings.notFound(`${here}.name`, name);
    const path = text(mount, 'mountPath');
    if (path === '') findings.required(`${here}.mountPath`);
    if (paths.has(path)) findings.invalid(`${here}.mountPath`, path, 'must be unique');
    paths.add(path);
    if (devices.some((device) => device.name === name)) {
      findings.invalid(`${here}.name`, name, 'must not already exist in volumeDevices');
    }
    if (devices.some((device) => device.devicePath === path)) {
      findings.invalid(`${here}.mountPath`, path, 'must not already exist as a path in volumeDevices');
    }
    // As in kube-apiserver, the error contains the path of the list of mounts, without an index.
    for (const field of ['subPath', 'subPathExpr']) {
      const value = text(mount, field);
      if (value === '') continue;
      if (field === 'subPathExpr' && text(mount, 'subPath') !== '') {
        findings.invalid(`${here}.${field}`, value, 'subPathExpr and subPath are mutually exclusive');
      }
      findings.problems(`${at}.volumeMounts.${field}`, value, descendingPathProblems(value));
    }
    propagationFindings(findings, container, mount, `${at}.volumeMounts`);
  }
}

function propagationFindings(findings: Findings, container: Plain, mount: Plain, at: string): void {
  const { mountPropagation, recursiveReadOnly } = mount;
  const field = `${at}.mountPropagation`;
  if (mountPropagation !== undefined) findings.oneOf(field, mountPropagation, PROPAGATIONS);
  if (mountPropagation === 'Bidirectional' && look(container, 'securityContext').privileged !== true) {
    findings.forbidden(field, 'Bidirectional mount propagation is available only to privileged containers');
  }
  if (recursiveReadOnly === undefined || recursiveReadOnly === 'Disabled') return;
  const recursive = `${at}.recursiveReadOnly`;
  if (recursiveReadOnly !== 'Enabled' && recursiveReadOnly !== 'IfPossible') {
    findings.oneOf(recursive, recursiveReadOnly, RECURSIVE_MODES);
    return;
  }
  if (mount.readOnly !== true) findings.forbidden(recursive, 'may only be specified when readOnly is true');
  if (mountPropagation !== undefined && mountPropagation !== 'None') {
    findings.forbidden(recursive, 'may only be specified when mountPropagation is None or not specified');
  }
}

function deviceFindings(findings: Findings, container: Plain, at: string, context: ContainerContext): void {
  const paths = new Set<string>();
  const names = new Set<string>();
  for (const [index, device] of items(container, 'volumeDevices').entries()) {
    const here = `${at}.volumeDevices[${index}]`;
    const name = text(device, 'name');
    const path = text(device, 'devicePath');
    if (name === '') findings.required(`${here}.name`);
    if (names.has(name)) findings.invalid(`${here}.name`, name, 'must be unique');
    if (context.volumes.has(name) && !context.claims.has(name)) {
      findings.invalid(
        `${here}.name`,
        name,
        'can only use volume source type of PersistentVolumeClaim, Ephemeral, or a supported CSI for block mode',
      );
    }
    if (!context.volumes.has(name)) findings.notFound(`${here}.name`, name);
    if (path === '') findings.required(`${here}.devicePath`);
    if (paths.has(path)) findings.invalid(`${here}.devicePath`, path, 'must be unique');
    if (path !== '')
      findings.problems(`${here}.devicePath`, path, path.split('/').includes('..') ? ["must not contain '..'"] : []);
    names.add(name);
    paths.add(path);
  }
}

function namedPort(findings: Findings, port: unknown, at: string): void {
  if (typeof port === 'string') findings.problems(at, port, portNameProblems(port));
  else findings.port(at, typeof port === 'number' ? port : 0);
}

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'];

function handlerFindings(findings: Findings, holder: Plain, at: string, grace: number): void {
  let found = 0;
  for (const name of HANDLERS) {
    const handler = holder[name];
    if (!isRecord(handler)) continue;
    const here = `${at}.${name}`;
    if (found++ > 0) {
      findings.forbidden(here, 'may not specify more than 1 handler type');
      continue;
    }
    if (name === 'exec' && strings(handler, 'command').length === 0) findings.required(`${here}.command`);
    if (name === 'httpGet') {
      if (text(handler, 'path') === '') findings.required(`${here}.path`);
      namedPort(findings, handler.port, `${here}.port`);
      findings.oneOf(`${here}.scheme`, handler.scheme, ['HTTP', 'HTTPS']);
      for (const header of items(handler, 'httpHeaders')) {
        const value = text(header, 'name');
        findings.problems(`${here}.httpHeaders`, value, headerNameProblems(value));
      }
    }
    if (name === 'tcpSocket' || name === 'grpc') namedPort(findings, handler.port, `${here}.port`);
    if (name === 'sleep') {
      const seconds = number(handler, 'seconds') ?? 0;
      if (seconds < 0 || seconds > grace) {
        findings.invalid(
          here,
          seconds,
          `must be non-negative and less than terminationGracePeriodSeconds (${grace}). Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep.`,
        );
      }
    }
  }
  if (found === 0) findings.required(at, 'must specify a handler type');
}

const PROBE_NUMBERS = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
];

function probeFindings(findings: Findings, container: Plain, at: string, grace: number): void {
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = container[name];
    if (!isRecord(probe)) continue;
    const here = `${at}.${name}`;
    handlerFindings(findings, probe, here, grace);
    for (const field of PROBE_NUMBERS) findings.notNegative(`${here}.${field}`, probe[field]);
    const seconds = probe.terminationGracePeriodSeconds;
    if (isNumber(seconds) && seconds <= 0) {
      findings.invalid(`${here}.terminationGracePeriodSeconds`, seconds, 'must be greater than 0');
    }
    if (name === 'readinessProbe') {
      if (seconds !== undefined) {
        findings.invalid(`${here}.terminationGracePeriodSeconds`, seconds, 'must not be set for readinessProbes');
      }
    } else if (probe.successThreshold !== 1) {
      findings.invalid(`${here}.successThreshold`, probe.successThreshold ?? 0, 'must be 1');
    }
  }
}

function resizeFindings(findings: Findings, container: Plain, at: string, restartPolicy: string): void {
  const seen = new Set<unknown>();
  const here = `${at}.resizePolicy`;
  for (const [index, { resourceName, restartPolicy: policy }] of items(container, 'resizePolicy').entries()) {
    if (seen.has(resourceName)) findings.duplicate(`${here}[${index}]`, resourceName);
    seen.add(resourceName);
    findings.oneOf(here, resourceName, ['cpu', 'memory'], true);
    findings.oneOf(here, policy, ['NotRequired', 'RestartContainer'], true);
    if (restartPolicy === 'Never' && policy !== 'NotRequired') {
      findings.invalid(here, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
  }
}

/** Validates the fields that all types of containers have (`validateContainerCommon`). */
export function containerFindings(findings: Findings, container: Plain, at: string, context: ContainerContext): void {
  const name = text(container, 'name');
  if (name === '') findings.required(`${at}.name`);
  else findings.problems(`${at}.name`, name, labelProblems(name));
  if (text(container, 'image') === '') findings.required(`${at}.image`);
  findings.oneOf(`${at}.terminationMessagePolicy`, container.terminationMessagePolicy, TERMINATION_POLICIES, true);
  portFindings(findings, container, at);
  environmentFindings(findings, container, at);
  environmentSourceFindings(findings, container, at);
  mountFindings(findings, container, at, context);
  deviceFindings(findings, container, at, context);
  findings.oneOf(`${at}.imagePullPolicy`, container.imagePullPolicy, PULL_POLICIES, true);
  const resources = look(container, 'resources');
  resourceFindings(findings, resources, `${at}.resources`);
  deviceClaimFindings(findings, resources, `${at}.resources`, context.deviceClaims);
  resizeFindings(findings, container, at, context.restartPolicy);
  containerSecurityFindings(findings, container.securityContext, `${at}.securityContext`, context.hostUsers);
}

function lifecycleFindings(findings: Findings, container: Plain, at: string, grace: number): void {
  const lifecycle = container.lifecycle;
  if (!isRecord(lifecycle)) return;
  for (const hook of ['postStart', 'preStop']) {
    const handler = lifecycle[hook];
    if (isRecord(handler)) handlerFindings(findings, handler, `${at}.lifecycle.${hook}`, grace);
  }
}

/** Returns an error if two containers request the same host port. */
function hostPortFindings(findings: Findings, containers: readonly Plain[], at: string, first = 0): void {
  const taken = new Set<string>();
  for (const [index, container] of containers.entries()) {
    for (const [position, port] of items(container, 'ports').entries()) {
      const hostPort = number(port, 'hostPort') ?? 0;
      if (hostPort === 0) continue;
      const id = `${text(port, 'protocol')}/${text(port, 'hostIP')}/${hostPort}`;
      if (taken.has(id)) findings.duplicate(`${at}[${index + first}].ports[${position}].hostPort`, id);
      taken.add(id);
    }
  }
}

export function mainContainerFindings(
  findings: Findings,
  containers: readonly Plain[],
  at: string,
  context: ContainerContext,
  grace: number,
): void {
  if (containers.length === 0) findings.required(at);
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const here = `${at}[${index}]`;
    containerFindings(findings, container, here, context);
    const name = text(container, 'name');
    if (names.has(name)) findings.duplicate(`${here}.name`, name);
    names.add(name);
    lifecycleFindings(findings, container, here, grace);
    probeFindings(findings, container, here, grace);
    restartFindings(findings, container, here);
  }
  hostPortFindings(findings, containers, at);
}

/** Validates init containers, including restartable init containers (sidecars). */
export function initContainerFindings(
  findings: Findings,
  containers: readonly Plain[],
  others: readonly Plain[],
  at: string,
  context: ContainerContext,
  grace: number,
): void {
  const names = new Set(others.map((container) => text(container, 'name')));
  for (const [index, container] of containers.entries()) {
    const here = `${at}[${index}]`;
    containerFindings(findings, container, here, context);
    initRestartFindings(findings, container, here);
    const name = text(container, 'name');
    if (names.has(name)) findings.duplicate(`${here}.name`, name);
    else if (name !== '') names.add(name);
    hostPortFindings(findings, [container], at);
    if (container.restartPolicy === 'Always') {
      lifecycleFindings(findings, container, here, grace);
      probeFindings(findings, container, here, grace);
      continue;
    }
    for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']) {
      if (container[field] !== undefined) {
        findings.forbidden(`${here}.${field}`, 'may not be set for init containers without restartPolicy=Always');
      }
    }
  }
}
