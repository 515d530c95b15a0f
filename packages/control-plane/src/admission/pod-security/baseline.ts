import { items, look, number, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import {
  containersOf,
  context,
  has,
  hasUserNamespace,
  named,
  type PodLike,
  parts,
  plural,
  quoted,
  setters,
  sorted,
  type Violation,
} from './words.ts';

export type Check = (pod: PodLike, minor: number) => Violation | undefined;

const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';

export const appArmorProfile: Check = ({ annotations, spec }) => {
  const isBad = (part: Plain | undefined): part is Plain =>
    part !== undefined && !['RuntimeDefault', 'Localhost'].includes(text(part, 'type'));
  const { pod, containers } = parts(spec, 'appArmorProfile');
  const bad = containers.filter(([, part]) => isBad(part));
  const noted = Object.entries(annotations)
    .filter(
      ([key, value]) =>
        key.startsWith(APP_ARMOR) && value !== '' && value !== 'runtime/default' && !value.startsWith('localhost/'),
    )
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const who = [
    setters(
      isBad(pod),
      bad.map(([container]) => container),
    ),
    noted.length > 0 ? plural(noted.length, 'annotation') : '',
  ].filter((one) => one !== '');
  if (who.length === 0) return undefined;
  const types = [...(isBad(pod) ? [pod] : []), ...bad.map(([, part]) => part)].map((part) => text(part, 'type'));
  const values = [...sorted(types), ...noted];
  return {
    reason: plural(values.length, 'forbidden AppArmor profile'),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  };
};

const DEFAULT_CAPABILITIES: ReadonlySet<string> = new Set(
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(
    ' ',
  ),
);

export const capabilitiesBaseline: Check = ({ spec }) => {
  const beyond = (container: Plain): string[] =>
    strings(look(context(container), 'capabilities'), 'add').filter((name) => !DEFAULT_CAPABILITIES.has(name));
  const bad = containersOf(spec).filter((container) => beyond(container).length > 0);
  if (bad.length === 0) return undefined;
  const list = quoted(sorted(bad.flatMap(beyond)));
  return {
    reason: 'non-default capabilities',
    detail: `${named(bad)} must not include ${list} in securityContext.capabilities.add`,
  };
};

export const hostNamespaces: Check = ({ spec }) => {
  const shared = ['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => spec[field] === true);
  if (shared.length === 0) return undefined;
  return { reason: 'host namespaces', detail: shared.map((field) => `${field}=true`).join(', ') };
};

export const hostPathVolumes: Check = ({ spec }) => {
  const bad = items(spec, 'volumes').filter((volume) => has(volume, 'hostPath'));
  if (bad.length === 0) return undefined;
  const names = quoted(bad.map((volume) => text(volume, 'name')));
  return { reason: 'hostPath volumes', detail: `${plural(bad.length, 'volume')} ${names}` };
};

export const hostPorts: Check = ({ spec }) => {
  const portsOf = (container: Plain): string[] =>
    items(container, 'ports').flatMap((port) => {
      const hostPort = number(port, 'hostPort') ?? 0;
      return hostPort === 0 ? [] : [String(hostPort)];
    });
  const bad = containersOf(spec).filter((container) => portsOf(container).length > 0);
  if (bad.length === 0) return undefined;
  const ports = sorted(bad.flatMap(portsOf));
  const uses = plural(bad.length, 'uses', 'use');
  return {
    reason: 'hostPort',
    detail: `${named(bad)} ${uses} ${plural(ports.length, 'hostPort')} ${ports.join(', ')}`,
  };
};

/** The function omits probes and hooks without a host, because they connect to the pod itself. */
function hostsOf(container: Plain): string[] {
  const lifecycle = look(container, 'lifecycle');
  const handlers = [
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((field) => look(container, field)),
    look(lifecycle, 'postStart'),
    look(lifecycle, 'preStop'),
  ];
  return handlers
    .flatMap((handler) => [text(look(handler, 'httpGet'), 'host'), text(look(handler, 'tcpSocket'), 'host')])
    .filter((host) => host !== '');
}

export const hostProbes: Check = ({ spec }, minor) => {
  const bad = containersOf(spec).filter((container) => hostsOf(container).length > 0);
  if (minor < 34 || bad.length === 0) return undefined;
  const names = sorted(bad.map((container) => text(container, 'name')));
  const hosts = sorted(bad.flatMap(hostsOf));
  const what = plural(hosts.length, 'probe or lifecycle host');
  return {
    reason: 'probe or lifecycle host',
    detail: `${plural(names.length, 'container')} ${quoted(names)} ${plural(names.length, 'uses', 'use')} ${what} ${quoted(hosts)}`,
  };
};

export const privileged: Check = ({ spec }) => {
  const bad = containersOf(spec).filter((container) => context(container).privileged === true);
  if (bad.length === 0) return undefined;
  return { reason: 'privileged', detail: `${named(bad)} must not set securityContext.privileged=true` };
};

export const procMountRestricted: Check = ({ spec }) => {
  const bad = containersOf(spec).filter((container) => {
    const { procMount } = context(container);
    return typeof procMount === 'string' && procMount !== 'Default';
  });
  if (bad.length === 0) return undefined;
  const kinds = quoted(sorted(bad.map((container) => text(context(container), 'procMount'))));
  return { reason: 'procMount', detail: `${named(bad)} must not set securityContext.procMount to ${kinds}` };
};

export const procMount: Check = (pod, minor) =>
  minor >= 35 && hasUserNamespace(pod.spec) ? undefined : procMountRestricted(pod, minor);

export const seLinuxOptions: Check = ({ spec }, minor) => {
  const allowed = ['', 'container_t', 'container_init_t', 'container_kvm_t'];
  if (minor >= 31) allowed.push('container_engine_t');
  const isBad = (part: Plain | undefined): part is Plain =>
    part !== undefined &&
    (!allowed.includes(text(part, 'type')) || text(part, 'user') !== '' || text(part, 'role') !== '');
  const { pod, containers } = parts(spec, 'seLinuxOptions');
  const bad = containers.filter(([, part]) => isBad(part));
  const who = setters(
    isBad(pod),
    bad.map(([container]) => container),
  );
  if (who === '') return undefined;
  const found = [...(isBad(pod) ? [pod] : []), ...bad.map(([, part]) => part)];
  const types = sorted(found.map((part) => text(part, 'type')).filter((type) => !allowed.includes(type)));
  const what = [
    ...(types.length > 0 ? [`${plural(types.length, 'type')} ${quoted(types)}`] : []),
    ...['user', 'role']
      .filter((field) => found.some((part) => text(part, field) !== ''))
      .map((field) => `${field} may not be set`),
  ];
  return {
    reason: 'seLinuxOptions',
    detail: `${who} set forbidden securityContext.seLinuxOptions: ${what.join('; ')}`,
  };
};

export const isSeccompAllowed = (part: Plain): boolean => ['Localhost', 'RuntimeDefault'].includes(text(part, 'type'));

export function badSeccomp(spec: Plain): Violation | undefined {
  const { pod, containers } = parts(spec, 'seccompProfile');
  const bad = containers.filter(([, part]) => !isSeccompAllowed(part));
  const podIsBad = pod !== undefined && !isSeccompAllowed(pod);
  const who = setters(
    podIsBad,
    bad.map(([container]) => container),
  );
  if (who === '') return undefined;
  const types = [...(podIsBad ? [pod] : []), ...bad.map(([, part]) => part)].map((part) => text(part, 'type'));
  const detail = `${who} must not set securityContext.seccompProfile.type to ${quoted(sorted(types))}`;
  return { reason: 'seccompProfile', detail };
}

const SECCOMP = 'seccomp.security.alpha.kubernetes.io/';

/** Up to version 1.18, an annotation contains the seccomp profile. */
function badSeccompNotes({ annotations, spec }: PodLike): Violation | undefined {
  const keys = [
    `${SECCOMP}pod`,
    ...containersOf(spec).map((container) => `container.${SECCOMP}${text(container, 'name')}`),
  ];
  const bad = sorted(
    keys.flatMap((key) => {
      const value = annotations[key];
      const good = value === 'runtime/default' || value === 'docker/default' || value?.startsWith('localhost/');
      return value === undefined || good === true ? [] : [`${key}=${JSON.stringify(value)}`];
    }),
  );
  if (bad.length === 0) return undefined;
  return { reason: 'seccompProfile', detail: `forbidden ${plural(bad.length, 'annotation')} ${bad.join(', ')}` };
}

export const seccompBaseline: Check = (pod, minor) => (minor < 19 ? badSeccompNotes(pod) : badSeccomp(pod.spec));

/** The first minor version that allows each safe sysctl. */
const SYSCTLS: Readonly<Record<string, number>> = {
  'kernel.shm_rmid_forced': 0,
  'net.ipv4.ip_local_port_range': 0,
  'net.ipv4.tcp_syncookies': 0,
  'net.ipv4.ping_group_range': 0,
  'net.ipv4.ip_unprivileged_port_start': 0,
  'net.ipv4.ip_local_reserved_ports': 27,
  'net.ipv4.tcp_keepalive_time': 29,
  'net.ipv4.tcp_fin_timeout': 29,
  'net.ipv4.tcp_keepalive_intvl': 29,
  'net.ipv4.tcp_keepalive_probes': 29,
  'net.ipv4.tcp_rmem': 32,
  'net.ipv4.tcp_wmem': 32,
};

export const sysctls: Check = ({ spec }, minor) => {
  const bad = items(context(spec), 'sysctls')
    .map((sysctl) => text(sysctl, 'name'))
    .filter((name) => !(Object.hasOwn(SYSCTLS, name) && minor >= (SYSCTLS[name] ?? 0)));
  return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') };
};

export const windowsHostProcess: Check = ({ spec }) => {
  const isHost = (part: Plain | undefined): boolean => part?.hostProcess === true;
  const { pod, containers } = parts(spec, 'windowsOptions');
  const who = setters(
    isHost(pod),
    containers.filter(([, part]) => isHost(part)).map(([container]) => container),
  );
  if (who === '') return undefined;
  return { reason: 'hostProcess', detail: `${who} must not set securityContext.windowsOptions.hostProcess=true` };
};
