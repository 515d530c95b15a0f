import type { Findings } from '../../../apimachinery/errors/findings.ts';
import { subdomainProblems } from '../../../apimachinery/errors/names.ts';
import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import { items, look, type Plain, text } from '../../../apimachinery/objects/plain.ts';

const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const;

function* containersOf(spec: Plain, path: string): Generator<readonly [container: Plain, at: string]> {
  for (const list of CONTAINER_LISTS) {
    for (const [index, container] of items(spec, list).entries()) yield [container, `${path}.${list}[${index}]`];
  }
}

const MAX_CREDENTIAL_BYTES = 64 * 1024;
const MAX_DOMAIN = 255;
const MAX_USER = 104;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are invalid in the name of a user.
const CONTROL = /[\u0000-\u001f\u007f]/;
const NET_BIOS = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const DNS_LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const DNS_DOMAIN = new RegExp(`^${DNS_LABEL}(?:\\.${DNS_LABEL})*$`);
const NOT_IN_USER = /["/\\:;|=,+*?<>@[\]]/;
const ONLY_DOTS = /^[. ]+$/;

function userNameProblems(name: string): string[] {
  if (name === '') return ['runAsUserName cannot be an empty string'];
  if (CONTROL.test(name)) return ['runAsUserName cannot contain control characters'];
  const parts = name.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const user = parts.at(-1) ?? '';
  const domain = parts.length === 2 ? parts[0] : undefined;
  const problems: string[] = [];
  if (Buffer.byteLength(domain ?? '') > MAX_DOMAIN) {
    problems.push(`runAsUserName's Domain length must be under ${MAX_DOMAIN + 1} characters`);
  }
  if (domain !== undefined && !NET_BIOS.test(domain) && !DNS_DOMAIN.test(domain)) {
    problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  }
  if (user === '') problems.push("runAsUserName's User cannot be empty");
  else if (Buffer.byteLength(user) > MAX_USER) {
    problems.push(`runAsUserName's User length must not be longer than ${MAX_USER} characters`);
  }
  if (ONLY_DOTS.test(user)) problems.push("runAsUserName's User cannot contain only periods or spaces");
  if (NOT_IN_USER.test(user)) {
    problems.push(`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`);
  }
  return problems;
}

/** Validates the Windows options of a security context (`validateWindowsSecurityContextOptions`). */
export function windowsOptionsFindings(findings: Findings, options: unknown, at: string): void {
  if (!isRecord(options)) return;
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: credential, runAsUserName: user } = options;
  if (typeof name === 'string') findings.problems(`${at}.gmsaCredentialSpecName`, name, subdomainProblems(name));
  if (credential === '') {
    findings.invalid(`${at}.gmsaCredentialSpec`, credential, 'gmsaCredentialSpec cannot be an empty string');
  } else if (typeof credential === 'string' && Buffer.byteLength(credential) > MAX_CREDENTIAL_BYTES) {
    findings.invalid(`${at}.gmsaCredentialSpec`, credential, 'gmsaCredentialSpec size must be under 64 KiB');
  }
  if (typeof user === 'string') findings.problems(`${at}.runAsUserName`, user, userNameProblems(user));
}

const hostProcessOf = (owner: Plain): boolean | undefined => {
  const { hostProcess } = look(owner, 'securityContext', 'windowsOptions');
  return typeof hostProcess === 'boolean' ? hostProcess : undefined;
};

/**
 * If one container of a pod is a host process, validates that all its containers are host processes
 * (`validateWindowsHostProcessPod`).
 */
export function hostProcessFindings(findings: Findings, spec: Plain, path: string): void {
  const ofPod = hostProcessOf(spec);
  let all = 0;
  let onHost = 0;
  for (const [container, at] of containersOf(spec, path)) {
    const own = hostProcessOf(container);
    if (own !== undefined && ofPod !== undefined && own !== ofPod) {
      const why = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      findings.invalid(`${at}.securityContext.windowsOptions.hostProcess`, own, why);
    }
    all += 1;
    if (own ?? ofPod === true) onHost += 1;
  }
  if (onHost === 0) return;
  if (onHost !== all) {
    const why = 'If pod contains any hostProcess containers then all containers must be HostProcess containers';
    findings.invalid(path, '', why);
  }
  if (spec.hostNetwork === true) return;
  const why = 'hostNetwork must be true if pod contains any hostProcess containers';
  findings.invalid(`${path}.hostNetwork`, false, why);
}

export function hostUsersFindings(findings: Findings, spec: Plain, path: string): void {
  if (spec.hostUsers !== false) return;
  const why = 'when `hostUsers` is false';
  if (spec.hostNetwork === true) findings.forbidden(`${path}.hostNetwork`, why);
  if (spec.hostPID === true) findings.forbidden(`${path}.HostPID`, why);
  if (spec.hostIPC === true) findings.forbidden(`${path}.HostIPC`, why);
  for (const [container, at] of containersOf(spec, path)) {
    if (items(container, 'volumeDevices').length > 0) findings.forbidden(`${at}.volumeDevices`, why);
  }
}

const MAX_HOSTNAME = 64;

/** Validates the field `hostnameOverride` (`validatePodHostName`). */
export function hostNameFindings(findings: Findings, spec: Plain, path: string): void {
  const { hostnameOverride: name } = spec;
  if (typeof name !== 'string') return;
  const at = `${path}.hostnameOverride`;
  if (spec.setHostnameAsFQDN === true) findings.forbidden(at, 'may not be specified when setHostnameAsFQDN is true');
  if (spec.hostNetwork === true) findings.forbidden(at, 'may not be specified when hostNetwork is true');
  if (Buffer.byteLength(name) > MAX_HOSTNAME) findings.tooLong(at, MAX_HOSTNAME);
  findings.problems(at, name, subdomainProblems(name));
}

/** Fields of the pod spec and its security context that a Windows pod must not have, in the order of kube-apiserver. */
const NOT_ON_WINDOWS = [
  'securityContext.appArmorProfile',
  'securityContext.seLinuxOptions',
  'hostUsers',
  'hostPID',
  'hostIPC',
  'securityContext.seccompProfile',
  'securityContext.fsGroup',
  'securityContext.fsGroupChangePolicy',
  'securityContext.sysctls',
  'shareProcessNamespace',
  'securityContext.runAsUser',
  'securityContext.runAsGroup',
  'securityContext.supplementalGroups',
  'securityContext.supplementalGroupsPolicy',
  'securityContext.seLinuxChangePolicy',
];
/** Fields of a container security context that a Windows pod must not have. */
const NOT_IN_CONTAINER = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
];
/** Fields that a Windows pod may have with the value false. */
const IF_TRUE = new Set(['hostPID', 'hostIPC']);

function windowsFindings(findings: Findings, spec: Plain, path: string): void {
  const why = 'cannot be set for a windows pod';
  for (const place of NOT_ON_WINDOWS) {
    const [field = '', inner] = place.split('.');
    const value = inner === undefined ? spec[field] : look(spec, field)[inner];
    if (value === undefined || (IF_TRUE.has(field) && value !== true)) continue;
    findings.forbidden(`${path}.${place}`, why);
  }
  for (const [container, at] of containersOf(spec, path)) {
    const context = look(container, 'securityContext');
    for (const field of NOT_IN_CONTAINER) {
      if (context[field] !== undefined) findings.forbidden(`${at}.securityContext.${field}`, why);
    }
  }
}

function linuxFindings(findings: Findings, spec: Plain, path: string): void {
  const why = 'windows options cannot be set for a linux pod';
  const owners: readonly (readonly [Plain, string])[] = [[spec, path], ...containersOf(spec, path)];
  for (const [owner, at] of owners) {
    if (look(owner, 'securityContext').windowsOptions === undefined) continue;
    findings.forbidden(`${at}.securityContext.windowsOptions`, why);
  }
}

/** Reports fields that the operating system of the pod does not support. */
export function systemFindings(findings: Findings, spec: Plain, path: string): void {
  if (!isRecord(spec.os)) return;
  const os = text(spec.os, 'name');
  if (os === '') findings.required(`${path}.os.name`);
  else findings.oneOf(`${path}.os`, os, ['linux', 'windows']);
  if (os === 'linux') linuxFindings(findings, spec, path);
  if (os === 'windows') windowsFindings(findings, spec, path);
}
