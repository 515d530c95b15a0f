import { defaultPodResources } from '../../apimachinery/objects/amounts.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { items, look, type Plain, preset, presets, text } from '../../apimachinery/objects/plain.ts';
import { roundAmounts } from '../../apimachinery/objects/quantity.ts';
import { isLatestImage } from './image.ts';

function defaultProbe(probe: unknown): void {
  if (!isRecord(probe)) return;
  for (const field of ['timeoutSeconds', 'successThreshold']) if ((probe[field] ?? 0) === 0) probe[field] = 1;
  if ((probe.periodSeconds ?? 0) === 0) probe.periodSeconds = 10;
  if ((probe.failureThreshold ?? 0) === 0) probe.failureThreshold = 3;
  defaultAction(probe);
}

function defaultAction(action: unknown): void {
  if (!isRecord(action)) return;
  const { httpGet, grpc } = action;
  if (isRecord(httpGet)) presets(httpGet, { path: '/', scheme: 'HTTP' });
  if (isRecord(grpc) && grpc.service === undefined) grpc.service = '';
}

const defaultFieldRef = (reference: unknown): void => {
  if (isRecord(reference)) preset(reference, 'apiVersion', 'v1');
};

function roundResources(holder: Plain): void {
  const resources = look(holder, 'resources');
  roundAmounts(resources.limits);
  roundAmounts(resources.requests);
}

/** Sets missing requests of a container to its limits. */
function defaultRequests(container: Plain): void {
  const resources = look(container, 'resources');
  const { limits } = resources;
  if (!isRecord(limits)) return;
  const requests = isRecord(resources.requests) ? resources.requests : {};
  for (const [resource, quantity] of Object.entries(limits)) requests[resource] ??= quantity;
  resources.requests = requests;
}

/** Sets the host ports of a pod on the host network: each container port is also a port of the node. */
function defaultHostPorts(container: Plain): void {
  for (const port of items(container, 'ports')) if ((port.hostPort ?? 0) === 0) port.hostPort = port.containerPort;
}

function defaultContainer(container: Plain): void {
  preset(container, 'imagePullPolicy', isLatestImage(text(container, 'image')) ? 'Always' : 'IfNotPresent');
  presets(container, { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' });
  for (const port of items(container, 'ports')) {
    preset(port, 'protocol', 'TCP');
  }
  for (const variable of items(container, 'env')) {
    const { fieldRef, fileKeyRef } = look(variable, 'valueFrom');
    defaultFieldRef(fieldRef);
    if (isRecord(fileKeyRef)) fileKeyRef.optional ??= false;
  }
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) defaultProbe(container[probe]);
  const lifecycle = look(container, 'lifecycle');
  defaultAction(lifecycle.postStart);
  defaultAction(lifecycle.preStop);
  roundResources(container);
}

const FILE_MODE = 0o644;

const FILE_SOURCES = ['configMap', 'secret', 'downwardAPI', 'projected'];

const VOLUME_DEFAULTS: Readonly<Record<string, Plain>> = {
  iscsi: { iscsiInterface: 'default' },
  rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false },
  scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
};

function defaultItems(source: unknown): void {
  for (const item of items(source, 'items')) defaultFieldRef(item.fieldRef);
}

export function defaultSources(volume: Plain): void {
  const { hostPath } = volume;
  if (isRecord(hostPath)) hostPath.type ??= '';
  for (const [name, defaults] of Object.entries(VOLUME_DEFAULTS)) {
    const source = volume[name];
    if (isRecord(source)) presets(source, defaults);
  }
}

function defaultVolume(volume: Plain): void {
  const sources = Object.keys(volume).filter((field) => field !== 'name');
  // A volume without a source becomes an `emptyDir`.
  if (sources.length === 0) volume.emptyDir = {};
  for (const name of FILE_SOURCES) {
    const source = volume[name];
    if (!isRecord(source)) continue;
    source.defaultMode ??= FILE_MODE;
    defaultItems(source);
    for (const projection of items(source, 'sources')) {
      defaultItems(projection.downwardAPI);
      const token = projection.serviceAccountToken;
      if (isRecord(token)) token.expirationSeconds ??= 3600;
    }
  }
  const { ephemeral, image } = volume;
  if (isRecord(image)) preset(image, 'pullPolicy', isLatestImage(text(image, 'reference')) ? 'Always' : 'IfNotPresent');
  if (isRecord(ephemeral)) {
    const spec = look(ephemeral, 'volumeClaimTemplate', 'spec');
    for (const list of ['requests', 'limits']) roundAmounts(look(spec, 'resources')[list]);
    preset(spec, 'volumeMode', 'Filesystem');
  }
  defaultSources(volume);
}

/** Sets the defaults of a pod, as `SetDefaults_Pod` in Kubernetes. */
export function defaultPod(spec: Plain): void {
  const containers = [...items(spec, 'containers'), ...items(spec, 'initContainers')];
  for (const container of containers) defaultRequests(container);
  defaultPodResources(spec);
  spec.enableServiceLinks ??= true;
  if (spec.hostNetwork === true) for (const container of containers) defaultHostPorts(container);
}

/** Sets the defaults of a pod spec, as `SetDefaults_PodSpec` in Kubernetes. */
export function defaultPodSpec(spec: Plain): void {
  for (const list of ['containers', 'initContainers', 'ephemeralContainers']) {
    for (const container of items(spec, list)) defaultContainer(container);
  }
  roundResources(spec);
  roundAmounts(spec.overhead);
  for (const volume of items(spec, 'volumes')) defaultVolume(volume);
  presets(spec, { restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', schedulerName: 'default-scheduler' });
  spec.terminationGracePeriodSeconds ??= 30;
  spec.securityContext ??= {};
  // The deprecated field `serviceAccount` is a copy of `serviceAccountName`.
  const account = text(spec, 'serviceAccountName') || text(spec, 'serviceAccount');
  if (account !== '') {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
}
