import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { PrinterColumn } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, strings, text } from '../../apimachinery/objects/plain.ts';
import { AGE, ageAt, column, countAt, NAME, NONE, shownFirst, shownLabels, textAt, wide } from './column.ts';
import { CONTAINERS, IMAGES, templateColumn } from './template.ts';

const ROLE_PREFIX = 'node-role.kubernetes.io/';

function nodeStatus(node: ApiObject): string {
  const ready = items(look(node, 'status'), 'conditions').find(({ type }) => type === 'Ready');
  const words = [ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'];
  if (look(node, 'spec').unschedulable === true) words.push('SchedulingDisabled');
  return words.join(',');
}

function nodeRoles(node: ApiObject): string {
  const roles = new Set<string>();
  for (const [label, value] of Object.entries(node.metadata.labels ?? {})) {
    if (label.startsWith(ROLE_PREFIX) && label.length > ROLE_PREFIX.length) roles.add(label.slice(ROLE_PREFIX.length));
    else if (label === 'kubernetes.io/role' && value !== '') roles.add(value);
  }
  return roles.size === 0 ? NONE : [...roles].sort().join(',');
}

const address =
  (kind: string) =>
  (node: ApiObject): string =>
    text(
      items(look(node, 'status'), 'addresses').find(({ type }) => type === kind),
      'address',
    ) || NONE;

const UNKNOWN = '<unknown>';

/** Returns the kernel version of a node. */
function kernelOf(node: ApiObject): string {
  const kernel = textAt(node, 'status.nodeInfo.kernelVersion', UNKNOWN);
  const architecture = textAt(node, 'status.nodeInfo.architecture');
  return architecture === '' ? kernel : `${kernel} (${architecture})`;
}

export const nodeColumns: readonly PrinterColumn[] = [
  NAME,
  column('Status', nodeStatus, { doc: 'The status of the node' }),
  column('Roles', nodeRoles, { doc: 'The roles of the node' }),
  AGE,
  column('Version', (node) => textAt(node, 'status.nodeInfo.kubeletVersion'), {
    doc: ['V1NodeSystemInfo', 'kubeletVersion'],
  }),
  wide('Internal-IP', address('InternalIP'), { doc: ['V1NodeStatus', 'addresses'] }),
  wide('External-IP', address('ExternalIP'), { doc: ['V1NodeStatus', 'addresses'] }),
  wide('OS-Image', (node) => textAt(node, 'status.nodeInfo.osImage', UNKNOWN), {
    doc: ['V1NodeSystemInfo', 'osImage'],
  }),
  wide('Kernel-Version', kernelOf, {
    doc: ['V1NodeSystemInfo', 'kernelVersion'],
  }),
  wide('Container-Runtime', (node) => textAt(node, 'status.nodeInfo.containerRuntimeVersion', UNKNOWN), {
    doc: ['V1NodeSystemInfo', 'containerRuntimeVersion'],
  }),
];

export const namespaceColumns: readonly PrinterColumn[] = [
  NAME,
  column('Status', (namespace) => textAt(namespace, 'status.phase'), { doc: 'The status of the namespace' }),
  AGE,
];

const sizeOf = (object: ApiObject, ...fields: string[]): number =>
  fields.reduce((sum, field) => sum + Object.keys(look(object, field)).length, 0);

export const configMapColumns: readonly PrinterColumn[] = [
  NAME,
  column('Data', (object) => sizeOf(object, 'data', 'binaryData'), { doc: ['V1ConfigMap', 'data'] }),
  AGE,
];

export const secretColumns: readonly PrinterColumn[] = [
  NAME,
  column('Type', (secret) => text(secret, 'type'), { doc: ['V1Secret', 'type'] }),
  column('Data', (secret) => sizeOf(secret, 'data'), { doc: ['V1Secret', 'data'] }),
  AGE,
];

export const serviceAccountColumns: readonly PrinterColumn[] = [NAME, AGE];

function servicePorts(service: ApiObject): string {
  const ports = items(look(service, 'spec'), 'ports').map((port) => {
    const nodePort = number(port, 'nodePort') ?? 0;
    return `${port.port}${nodePort > 0 ? `:${nodePort}` : ''}/${port.protocol}`;
  });
  return ports.length === 0 ? NONE : ports.join(',');
}

function externalAddress(service: ApiObject): string {
  const spec = look(service, 'spec');
  const type = text(spec, 'type');
  const given = strings(spec, 'externalIPs');
  if (type === 'ExternalName') return text(spec, 'externalName');
  if (type === '') return UNKNOWN;
  if (type !== 'LoadBalancer') return given.length === 0 ? NONE : given.join(',');
  const balanced = items(look(service, 'status', 'loadBalancer'), 'ingress').map(
    (ingress) => text(ingress, 'ip') || text(ingress, 'hostname'),
  );
  return [...balanced, ...given].join(',') || '<pending>';
}

export const serviceColumns: readonly PrinterColumn[] = [
  NAME,
  column('Type', (service) => textAt(service, 'spec.type'), { doc: ['V1ServiceSpec', 'type'] }),
  column('Cluster-IP', (service) => textAt(service, 'spec.clusterIP', NONE), {
    doc: ['V1ServiceSpec', 'clusterIP'],
  }),
  column('External-IP', externalAddress, { doc: ['V1ServiceSpec', 'externalIPs'] }),
  column('Port(s)', servicePorts, { doc: ['V1ServiceSpec', 'ports'] }),
  AGE,
  wide('Selector', (service) => shownLabels(look(service, 'spec', 'selector')), { doc: ['V1ServiceSpec', 'selector'] }),
];

const MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

const accessModes = (holder: unknown): string =>
  Object.keys(MODES)
    .filter((mode) => strings(holder, 'accessModes').includes(mode))
    .map((mode) => MODES[mode])
    .join(',');

const phaseOrTerminating = (object: ApiObject): string =>
  object.metadata.deletionTimestamp === undefined ? textAt(object, 'status.phase') : 'Terminating';

const claimOf = (volume: ApiObject): string => {
  const claim = look(volume, 'spec', 'claimRef');
  return text(claim, 'name') === '' ? '' : `${text(claim, 'namespace')}/${text(claim, 'name')}`;
};

const UNSET = '<unset>';

export const volumeColumns: readonly PrinterColumn[] = [
  NAME,
  column('Capacity', (volume) => textAt(volume, 'spec.capacity.storage', '0'), {
    doc: ['V1PersistentVolumeSpec', 'capacity'],
  }),
  column('Access Modes', (volume) => accessModes(volume.spec), { doc: ['V1PersistentVolumeSpec', 'accessModes'] }),
  column('Reclaim Policy', (volume) => textAt(volume, 'spec.persistentVolumeReclaimPolicy'), {
    doc: ['V1PersistentVolumeSpec', 'persistentVolumeReclaimPolicy'],
  }),
  column('Status', phaseOrTerminating, { doc: ['V1PersistentVolumeStatus', 'phase'] }),
  column('Claim', claimOf, {
    doc: 'claimRef is part of a bi-directional binding between PersistentVolume and PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the authoritative bind between PV and PVC. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding',
  }),
  column('StorageClass', (volume) => textAt(volume, 'spec.storageClassName'), {
    doc: 'StorageClass of the pv',
  }),
  column('VolumeAttributesClass', (volume) => textAt(volume, 'spec.volumeAttributesClassName', UNSET), {
    doc: 'VolumeAttributesClass of the pv',
  }),
  column('Reason', (volume) => textAt(volume, 'status.reason'), { doc: ['V1PersistentVolumeStatus', 'reason'] }),
  AGE,
  wide('VolumeMode', (volume) => textAt(volume, 'spec.volumeMode', UNSET), {
    doc: ['V1PersistentVolumeSpec', 'volumeMode'],
  }),
];

const bound = (claim: ApiObject): boolean => textAt(claim, 'spec.volumeName') !== '';

export const claimColumns: readonly PrinterColumn[] = [
  NAME,
  column('Status', phaseOrTerminating, { doc: ['V1PersistentVolumeClaimStatus', 'phase'] }),
  column('Volume', (claim) => textAt(claim, 'spec.volumeName'), { doc: ['V1PersistentVolumeClaimSpec', 'volumeName'] }),
  column('Capacity', (claim) => (bound(claim) ? textAt(claim, 'status.capacity.storage', '0') : ''), {
    doc: ['V1PersistentVolumeClaimStatus', 'capacity'],
  }),
  column('Access Modes', (claim) => (bound(claim) ? accessModes(claim.status) : ''), {
    doc: ['V1PersistentVolumeClaimStatus', 'accessModes'],
  }),
  column('StorageClass', (claim) => textAt(claim, 'spec.storageClassName'), { doc: 'StorageClass of the pvc' }),
  column('VolumeAttributesClass', (claim) => textAt(claim, 'spec.volumeAttributesClassName', UNSET), {
    doc: 'VolumeAttributesClass of the pvc',
  }),
  AGE,
  wide('VolumeMode', (claim) => textAt(claim, 'spec.volumeMode', UNSET), {
    doc: ['V1PersistentVolumeClaimSpec', 'volumeMode'],
  }),
];

const firstSeen = (event: ApiObject): unknown => event.firstTimestamp ?? event.eventTime;

function lastSeen(event: ApiObject): unknown {
  // If the series of an event has no time, the time of the last event is unknown.
  if (isRecord(event.series)) return event.series.lastObservedTime;
  return event.lastTimestamp ?? firstSeen(event);
}

function eventObject(event: ApiObject): string {
  const involved = look(event, 'involvedObject');
  const kind = text(involved, 'kind').toLowerCase();
  const name = text(involved, 'name');
  return name === '' ? kind : `${kind}/${name}`;
}

function eventSource(event: ApiObject): string {
  const source = look(event, 'source');
  const parts = [text(source, 'component') || text(event, 'reportingComponent')];
  const host = text(source, 'host') || (text(source, 'component') === '' ? text(event, 'reportingInstance') : '');
  if (host !== '') parts.push(host);
  return parts.join(', ');
}

const eventCount = (event: ApiObject): number =>
  number(look(event, 'series'), 'count') ?? (number(event, 'count') || 1);

export const eventColumns: readonly PrinterColumn[] = [
  column('Last Seen', (event, now) => ageAt(lastSeen(event), now), { doc: ['CoreV1Event', 'lastTimestamp'] }),
  column('Type', (event) => text(event, 'type'), { doc: ['CoreV1Event', 'type'] }),
  column('Reason', (event) => text(event, 'reason'), { doc: ['CoreV1Event', 'reason'] }),
  column('Object', eventObject, { doc: 'The object that this event is about.' }),
  wide('Subobject', (event) => textAt(event, 'involvedObject.fieldPath'), { doc: ['V1ObjectReference', 'fieldPath'] }),
  wide('Source', eventSource, {
    doc: 'The component reporting this event. Should be a short machine understandable string.',
  }),
  column('Message', (event) => text(event, 'message').trim(), { doc: ['CoreV1Event', 'message'] }),
  wide('First Seen', (event, now) => ageAt(firstSeen(event), now), { doc: ['CoreV1Event', 'firstTimestamp'] }),
  wide('Count', eventCount, { doc: ['CoreV1Event', 'count'] }),
  { ...NAME, priority: 1 },
];

/** Joins an IP address and a port. As in Go, an IPv6 address is in brackets. */
const hostPort = (ip: string, port: unknown): string => `${ip.includes(':') ? `[${ip}]` : ip}:${port}`;

export const endpointColumns: readonly PrinterColumn[] = [
  NAME,
  column(
    'Endpoints',
    (endpoints) => {
      const subsets = items(endpoints, 'subsets');
      const addresses = subsets.flatMap((subset) => {
        const ips = items(subset, 'addresses').map((one) => text(one, 'ip'));
        const ports = items(subset, 'ports');
        return ports.length === 0 ? ips : ports.flatMap(({ port }) => ips.map((ip) => hostPort(ip, port)));
      });
      // If Endpoints have no ready address, the cell is empty.
      return subsets.length === 0 ? NONE : shownFirst(addresses, 3);
    },
    { doc: ['V1Endpoints', 'subsets'] },
  ),
  AGE,
];

export const quotaColumns: readonly PrinterColumn[] = [
  NAME,
  column('Request', (quota) => shownQuota(quota, false), {
    doc: 'Request represents a minimum amount of cpu/memory that a container may consume.',
  }),
  column('Limit', (quota) => shownQuota(quota, true), {
    doc: 'Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.',
  }),
  AGE,
];

function shownQuota(quota: ApiObject, limits: boolean): string {
  const status = look(quota, 'status');
  const used = look(status, 'used');
  return Object.entries(look(status, 'hard'))
    .filter(([resource]) => resource.startsWith('limits') === limits)
    .map(([resource, hard]) => `${resource}: ${used[resource] ?? 0}/${hard}`)
    .sort()
    .join(', ');
}

const component = (field: string) => (object: ApiObject) =>
  text(
    items(object, 'conditions').find(({ type }) => type === 'Healthy'),
    field,
  );
const HEALTH: Readonly<Record<string, string>> = { True: 'Healthy', False: 'Unhealthy' };

export const componentColumns: readonly PrinterColumn[] = [
  NAME,
  column('Status', (object) => HEALTH[component('status')(object)] ?? 'Unknown', {
    doc: 'Status of the component conditions',
  }),
  column('Message', component('message'), { doc: 'Message of the component conditions' }),
  column('Error', component('error'), { doc: 'Error of the component conditions' }),
];

export const podTemplateColumns: readonly PrinterColumn[] = [
  NAME,
  templateColumn('Containers', 'name', ['template']),
  templateColumn('Images', 'image', ['template']),
  column('Pod Labels', (object) => shownLabels(look(object, 'template', 'metadata', 'labels')), {
    doc: 'The labels for the pod template.',
  }),
];

export const replicationControllerColumns: readonly PrinterColumn[] = [
  NAME,
  column('Desired', (rc) => countAt(rc, 'spec.replicas'), {
    type: 'integer',
    doc: ['V1ReplicationControllerSpec', 'replicas'],
  }),
  column('Current', (rc) => countAt(rc, 'status.replicas'), {
    type: 'integer',
    doc: ['V1ReplicationControllerStatus', 'replicas'],
  }),
  column('Ready', (rc) => countAt(rc, 'status.readyReplicas'), {
    type: 'integer',
    doc: ['V1ReplicationControllerStatus', 'readyReplicas'],
  }),
  AGE,
  CONTAINERS,
  IMAGES,
  wide('Selector', (rc) => shownLabels(look(rc, 'spec', 'selector')), {
    doc: ['V1ReplicationControllerSpec', 'selector'],
  }),
];
