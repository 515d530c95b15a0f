import type { Findings } from '../../../apimachinery/errors/findings.ts';
import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import { items, type Plain, strings, text } from '../../../apimachinery/objects/plain.ts';
import { descendingPathProblems, userIdProblems } from '../../base/formats.ts';
import { internalForm } from '../../internal/form.ts';
import { windowsOptionsFindings } from './host.ts';

const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const SYSCTL = /^([a-z0-9][a-z0-9]*([-_][a-z0-9]+)*[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const SYSCTL_PATTERN = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';
const MAX_SYSCTL = 253;

function seccompFindings(findings: Findings, profile: unknown, at: string): void {
  if (!isRecord(profile)) return;
  const type = text(profile, 'type');
  if (type === '') findings.required(`${at}.type`, 'type is required when seccompProfile is set');
  else findings.oneOf(`${at}.type`, type, PROFILES);
  const local = profile.localhostProfile;
  if (type === 'Localhost') {
    if (typeof local !== 'string') {
      findings.required(`${at}.localhostProfile`, 'must be set when seccomp type is Localhost');
    } else findings.problems(`${at}.localhostProfile`, local, descendingPathProblems(local));
  } else if (local !== undefined) {
    const shown = internalForm('SeccompProfile', profile);
    findings.invalid(`${at}.localhostProfile`, shown, 'can only be set when seccomp type is Localhost');
  }
}

function armorFindings(findings: Findings, profile: unknown, at: string): void {
  if (!isRecord(profile)) return;
  const type = text(profile, 'type');
  const local = profile.localhostProfile;
  const field = `${at}.localhostProfile`;
  if (type === 'Localhost') {
    const name = typeof local === 'string' ? local : '';
    if (name.trim() !== name) findings.invalid(field, name, 'must not be padded with whitespace');
    else if (name === '') findings.required(field, 'must be set when AppArmor type is Localhost');
    if (name.length > 4095) findings.tooLong(field, 4095);
  } else if (type === 'RuntimeDefault' || type === 'Unconfined') {
    if (local !== undefined) findings.invalid(field, local, 'can only be set when AppArmor type is Localhost');
  } else if (type === '') findings.required(`${at}.type`, 'type is required when appArmorProfile is set');
  else findings.oneOf(`${at}.type`, type, PROFILES);
}

const IPC = /^(?:kernel\.(?:sem|shm|shmall|shmmax|shmmni|shm_rmid_forced|msg|msgmax|msgmnb|msgmni)$|fs\.mqueue\.)/;
const isOfIpc = (sysctl: string): boolean => IPC.test(sysctl);

/** Validates the security context of a pod, as `validatePodSpecSecurityContext` in Kubernetes. */
export function podSecurityFindings(findings: Findings, spec: Plain, path: string): void {
  const context = spec.securityContext;
  if (!isRecord(context)) return;
  const at = `${path}.securityContext`;
  for (const field of ['fsGroup', 'runAsUser', 'runAsGroup']) {
    findings.problems(`${at}.${field}`, context[field], userIdProblems(context[field]));
  }
  const groups = Array.isArray(context.supplementalGroups) ? context.supplementalGroups : [];
  for (const [index, group] of groups.entries()) {
    findings.problems(`${at}.supplementalGroups[${index}]`, group, userIdProblems(group));
  }
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const why = 'ShareProcessNamespace and HostPID cannot both be enabled';
    findings.invalid(`${at}.shareProcessNamespace`, true, why);
  }
  const names = new Set<string>();
  for (const [index, sysctl] of items(context, 'sysctls').entries()) {
    const field = `${at}.sysctls[${index}].name`;
    const name = text(sysctl, 'name');
    if (name === '') findings.required(field);
    else if (name.length > MAX_SYSCTL || !SYSCTL.test(name)) {
      findings.invalid(field, name, `must have at most ${MAX_SYSCTL} characters and match regex ${SYSCTL_PATTERN}`);
    } else if (names.has(name)) findings.duplicate(field, name);
    if (spec.hostNetwork === true && name.replaceAll('/', '.').startsWith('net.')) {
      findings.invalid(field, name, "may not be specified when 'hostNetwork' is true");
    } else if (spec.hostIPC === true && isOfIpc(name.replaceAll('/', '.'))) {
      findings.invalid(field, name, "may not be specified when 'hostIPC' is true");
    }
    names.add(name);
  }
  if (context.fsGroupChangePolicy !== undefined) {
    findings.oneOf(`${at}.fsGroupChangePolicy`, context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  }
  seccompFindings(findings, context.seccompProfile, `${at}.seccompProfile`);
  windowsOptionsFindings(findings, context.windowsOptions, `${at}.windowsOptions`);
  armorFindings(findings, context.appArmorProfile, `${at}.appArmorProfile`);
  if (context.supplementalGroupsPolicy !== undefined) {
    findings.oneOf(`${at}.supplementalGroupsPolicy`, context.supplementalGroupsPolicy, ['Merge', 'Strict']);
  }
  if (context.seLinuxChangePolicy !== undefined) {
    findings.oneOf(`${at}.seLinuxChangePolicy`, context.seLinuxChangePolicy, ['MountOption', 'Recursive']);
  }
}

/** Validates the security context of a container, as `ValidateSecurityContext` in Kubernetes. */
export function containerSecurityFindings(findings: Findings, context: unknown, at: string, hostUsers: boolean): void {
  if (!isRecord(context)) return;
  // The server allows privileged containers, like kube-apiserver with `--allow-privileged`.
  for (const field of ['runAsUser', 'runAsGroup']) {
    findings.problems(`${at}.${field}`, context[field], userIdProblems(context[field]));
  }
  const mount = context.procMount;
  if (mount !== undefined) {
    findings.oneOf(`${at}.procMount`, mount, ['Default', 'Unmasked']);
    if (hostUsers && mount === 'Unmasked') {
      findings.invalid(`${at}.procMount`, mount, '`hostUsers` must be false to use `Unmasked`');
    }
  }
  seccompFindings(findings, context.seccompProfile, `${at}.seccompProfile`);
  if (context.allowPrivilegeEscalation === false) {
    const shown = internalForm('SecurityContext', context);
    if (context.privileged === true) {
      findings.invalid(at, shown, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true');
    }
    if (strings(context.capabilities, 'add').includes('CAP_SYS_ADMIN')) {
      const why = 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN';
      findings.invalid(at, shown, why);
    }
  }
  windowsOptionsFindings(findings, context.windowsOptions, `${at}.windowsOptions`);
  armorFindings(findings, context.appArmorProfile, `${at}.appArmorProfile`);
}
